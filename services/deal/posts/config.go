package posts

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/fsmgen/fsmgen/runtime/engine"
)

// Config configures a Scheduler and a Verifier.
type Config struct {
	Terms Terms
	// Every is the time between two looks at a post; 0: 10 min. With Lease and Retry it must be at
	// most Terms.Gap, so that a process that dies at a look leaves no gap if another takes over.
	Every time.Duration
	Poll  time.Duration // how long Run rests when nothing is due; 0: 1 s
	// Lease is how long an attempt at a post may take, and how long no other process works at it; 0: 1 min.
	Lease time.Duration
	Retry time.Duration // after an attempt that failed; 0: 30 s
	Batch int           // how many posts are worked at together; 0: 16

	// Clock tells when posts and looks are due, and the times of both; nil: engine.SystemClock. By as
	// much as the clocks of two processes differ, a retention may be shorter or longer.
	Clock  engine.Clock
	Logger *slog.Logger // nil: slog.Default()
}

func (c Config) withDefaults() Config {
	c.Terms = c.Terms.withDefaults()
	for d, value := range map[*time.Duration]time.Duration{&c.Every: 10 * time.Minute, &c.Poll: time.Second, &c.Lease: time.Minute, &c.Retry: 30 * time.Second} {
		if *d == 0 {
			*d = value
		}
	}
	if c.Batch == 0 {
		c.Batch = 16
	}
	if c.Clock == nil {
		c.Clock = engine.SystemClock{}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

func (c Config) validate() error {
	switch least := min(c.Every, c.Poll, c.Lease, c.Retry, c.Terms.Retention, c.Terms.Gap, c.Terms.Confirm); {
	case least < 0 || c.Batch < 0:
		return fmt.Errorf("posts: a duration or a batch is negative: %+v", c)
	case c.Every+c.Lease+c.Retry > c.Terms.Gap:
		return fmt.Errorf("posts: looks every %s, with a lease of %s and a retry after %s, may lie further apart than the gap of %s", c.Every, c.Lease, c.Retry, c.Terms.Gap)
	case c.Terms.Confirm > c.Every:
		return fmt.Errorf("posts: a look is confirmed after %s, later than the next look after %s", c.Terms.Confirm, c.Every)
	}
	return nil
}
