package crash

import (
	"os"
	"sync"
	"time"
)

// failpoints counts how often each point is hit, and kills the process at the chosen hit.
type failpoints struct {
	record bool             // note every point that is passed
	shared *sharedFailpoint // of a process that is one of several; nil: it is alone
	kill   *Hit

	mu     sync.Mutex
	run    *run
	counts map[Point]int
}

// begin sets the run and the hit at which it is killed.
func (c *failpoints) begin(r *run, kill *Hit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run, c.kill, c.counts = r, kill, map[Point]int{}
}

// hit counts a point and returns how often it was hit.
func (c *failpoints) hit(p Point) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		return 0
	}
	c.counts[p]++
	n := c.counts[p]
	if c.kill != nil && *c.kill == (Hit{p, n}) {
		if err := c.run.write(entry{Entry: killedHere, Point: p, N: n}); err == nil {
			die()
		}
	}
	return n
}

// pass logs what was under way when a point was hit for the n-th time.
func (c *failpoints) pass(p Point, n int, x subject) error {
	if !c.record {
		return nil
	}
	return c.run.write(entry{Entry: passed, Machine: x.machine, Kind: x.kind, Point: p, N: n, Label: x.label})
}

// commitsApart reports whether a commit needs a round trip of its own, so that the
// process can be killed between the write and the commit.
func (c *failpoints) commitsApart() bool {
	if c.shared != nil {
		return true
	}
	return c.kill != nil && (c.kill.Point == SaveAfter || c.kill.Point == CommitBefore)
}

// die kills this process with SIGKILL. It does not return.
func die() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill() // no process is left that could report it
	}
	for {
		time.Sleep(time.Hour)
	}
}
