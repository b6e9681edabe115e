package simulate

import (
	"sync"
	"time"
)

// startTime is when every run begins.
var startTime = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// clock is the time of a run. Each call of Now moves it by a microsecond, so that what is
// stored has an order. All other moves come from rng.
type clock struct {
	mu     sync.Mutex
	now    time.Time
	latest time.Time // that it ever showed
}

// Now returns the time.
func (c *clock) Now() time.Time {
	c.move(time.Microsecond)
	return c.peek()
}

// peek returns the time without moving the clock.
func (c *clock) peek() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	if c.latest.Before(c.now) {
		c.latest = c.now
	}
}

// skewed is the clock of a computer that differs from that of the database.
type skewed struct {
	*clock
	by time.Duration
}

// Now returns the time of the computer.
func (s skewed) Now() time.Time { return s.clock.Now().Add(s.by) }

// Local makes the engine correct the clock by the time of the database.
func (skewed) Local() {}

// wait moves the clock forward to a time. It does nothing if that time has passed.
func (c *clock) wait(until time.Time) {
	if d := until.Sub(c.peek()); d > 0 {
		c.move(d)
	}
}

// came reports whether the clock has ever reached a time.
func (c *clock) came(t time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !t.After(c.latest)
}
