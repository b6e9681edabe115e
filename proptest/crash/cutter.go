package crash

import (
	"os"
	"sync"
	"time"
)

// cutter counts how often each point is hit, and ends the process where it was
// told to.
type cutter struct {
	record bool  // note every point that is passed
	trap   *trap // of a process that is one of several; nil: it is alone
	cut    *Cut

	mu     sync.Mutex
	play   *play
	counts map[Point]int
}

// begin tells where the next life is to be cut.
func (c *cutter) begin(p *play, cut *Cut) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.play, c.cut, c.counts = p, cut, map[Point]int{}
}

// hit counts a point and returns how often it was hit by now.
func (c *cutter) hit(p Point) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		return 0
	}
	c.counts[p]++
	n := c.counts[p]
	if c.cut != nil && *c.cut == (Cut{p, n}) {
		if err := c.play.write(entry{Entry: cutHere, Point: p, N: n}); err == nil {
			die()
		}
	}
	return n
}

// pass notes what was under way when a point was hit for the n-th time.
func (c *cutter) pass(p Point, n int, x subject) error {
	if !c.record {
		return nil
	}
	return c.play.write(entry{Entry: passed, Machine: x.machine, Kind: x.kind, Point: p, N: n, Label: x.label})
}

// commitsApart reports whether a commit is to be a round trip of its own, so
// that there is a moment between writing and committing.
func (c *cutter) commitsApart() bool {
	if c.trap != nil {
		return true
	}
	return c.cut != nil && (c.cut.Point == SaveAfter || c.cut.Point == CommitBefore)
}

// die kills this process with a signal that nothing can catch. It does not
// return.
func die() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill() // there is nobody left to tell
	}
	for {
		time.Sleep(time.Hour)
	}
}
