package engine

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// Clock tells the time. The engine uses no other clock for what it decides or stores, so a test
// can set the time.
//
// A clock that jumps back is harmless: versions order the steps, not times. Deadlines and leases
// come later by as much.
type Clock interface{ Now() time.Time }

// SystemClock is the clock of the machine, a LocalClock. If the store has its own clock, the
// engine uses that one: see store.TimeTeller.
type SystemClock struct{}

// Now returns the current time.
func (SystemClock) Now() time.Time { return time.Now() }

// LocalClock is the clock of one machine, like SystemClock. The engine corrects it by the clock of
// its store, if the store has one.
type LocalClock interface {
	Clock
	Local()
}

// Local says that this is the clock of the machine.
func (SystemClock) Local() {}

// How often the difference to the clock of the store is measured, how long an answer
// may take to be of use, and which difference is worth a warning.
const (
	measureEvery = time.Minute
	useful       = time.Second
	noteworthy   = time.Second
)

// storeClock is the clock of a store. A local clock carries it on between measurements.
type storeClock struct {
	local  Clock
	teller store.TimeTeller
	offset atomic.Int64 // of the store's clock to the local one, in nanoseconds

	mu       sync.Mutex // held while measuring
	measured atomic.Pointer[time.Time]
}

func (c *storeClock) Now() time.Time {
	return c.local.Now().Add(time.Duration(c.offset.Load()))
}

// measure measures the offset, and reports whether it did. It does not if that was done within
// measureEvery, or is being done; only the first measurement blocks concurrent calls. If the store
// does not answer, the offset stays; without an earlier measurement that is an error.
func (c *storeClock) measure(ctx context.Context) (offset time.Duration, done bool, err error) {
	last := c.measured.Load()
	switch {
	case last == nil:
		c.mu.Lock()
	case c.local.Now().Sub(*last).Abs() < measureEvery || !c.mu.TryLock():
		return 0, false, nil
	}
	defer c.mu.Unlock()
	if c.measured.Load() != last {
		return 0, false, nil
	}
	before := c.local.Now()
	there, err := c.teller.Time(ctx)
	after := c.local.Now()
	took := after.Sub(before)
	switch {
	case last == nil && err != nil:
		return 0, false, err
	case err != nil, last != nil && took > useful:
		return 0, false, nil
	}
	offset = there.Sub(before.Add(took / 2))
	c.offset.Store(int64(offset))
	c.measured.Store(&after)
	return offset, true, nil
}

// synchronise makes the engine's clock agree with the store's. It fails if the store has never
// told its time: a lease by another clock could take a message from a worker that holds it.
func (e *Engine[T]) synchronise(ctx context.Context) error {
	if e.storeClock == nil {
		return nil
	}
	offset, measured, err := e.storeClock.measure(ctx)
	if err != nil {
		return fmt.Errorf("time of the store: %w", err)
	}
	if !measured {
		return nil
	}
	e.config.Metrics(Metric{Name: MetricClockOffset, Type: "gauge", Value: offset.Seconds()})
	if offset.Abs() > noteworthy {
		e.config.Logger.WarnContext(ctx, "the clock of this machine differs from that of the database, which is used: set it",
			"offset", offset, "worker", e.config.Worker)
	}
	return nil
}
