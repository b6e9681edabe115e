package crashtest

import (
	"os"
	"sync"
	"time"
)

// cutter counts how often each point is hit, and ends the process where it was
// told to.
type cutter struct {
	diary    diary
	scenario string
	cut      *Cut
	record   bool // note every point that is passed

	mu     sync.Mutex
	counts map[Point]int
}

// hit counts a point and returns how often it was hit by now.
func (c *cutter) hit(p Point) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[p]++
	n := c.counts[p]
	if c.cut != nil && *c.cut == (Cut{p, n}) {
		if err := c.diary.write(entry{Entry: cutHere, Scenario: c.scenario, Point: p, N: n}); err == nil {
			die()
		}
	}
	return n
}

// pass notes what was under way when a point was hit for the n-th time.
func (c *cutter) pass(p Point, n int, machine string, k Kind, label string) error {
	if !c.record {
		return nil
	}
	return c.diary.write(entry{Entry: passed, Scenario: c.scenario, Machine: machine, Kind: k, Point: p, N: n, Label: label})
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
