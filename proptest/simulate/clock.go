package simulate

import (
	"sync"
	"time"
)

// epoch is when every play begins.
var epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// clock is the time of a play. It moves on by a microsecond whenever somebody
// looks at it, so that what is stored has an order, and else as the seed says.
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

// peek returns the time and lets it stand still.
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

// skewed is the clock of a machine that differs from that of the database.
type skewed struct {
	*clock
	by time.Duration
}

// Now returns the time as the machine has it.
func (s skewed) Now() time.Time { return s.clock.Now().Add(s.by) }

// Local makes the engine correct it.
func (skewed) Local() {}

// wait moves the clock to a time, unless that has come.
func (c *clock) wait(until time.Time) {
	if d := until.Sub(c.peek()); d > 0 {
		c.move(d)
	}
}

// came reports whether the clock ever showed a time.
func (c *clock) came(t time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !t.After(c.latest)
}
