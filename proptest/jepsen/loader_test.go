//go:build unix

package jepsen_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/proptest/jepsen/generated/payment"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// callers is how many payments a loader has under way at once.
const callers = 8

// loader opens payments and fires events at them, and writes down what it is told.
type loader[Tx any] struct {
	engine  *engine.Engine[Tx]
	journal *journal
	name    string
	seed    uint64
}

func newLoader[Tx any](e *engine.Engine[Tx], j *journal, o order) *loader[Tx] {
	return &loader[Tx]{engine: e, journal: j, name: o.Name, seed: o.Seed}
}

// run goes on until ctx ends. A payment that was begun then gets no further events.
func (l *loader[Tx]) run(ctx context.Context) error {
	failures := make([]error, callers)
	var all sync.WaitGroup
	for n := range callers {
		all.Go(func() {
			c := caller[Tx]{loader: l, n: n, random: rand.New(rand.NewPCG(l.seed, uint64(n)))}
			for ctx.Err() == nil && failures[n] == nil {
				failures[n] = c.pay(ctx)
			}
		})
	}
	all.Wait()
	return errors.Join(failures...)
}

// caller fires one event after the other.
type caller[Tx any] struct {
	*loader[Tx]
	n      int
	fired  int
	random *rand.Rand
}

// pay takes one payment through a few events.
func (c *caller[Tx]) pay(ctx context.Context) error {
	id := c.newID()
	instant := c.random.IntN(3) == 0
	err := c.fire(ctx, id, "open", func(ref string) payment.Payload {
		return payment.Open{Ref: ref, Amount: 1 + c.random.Int64N(100), Instant: instant}
	})
	for range c.random.IntN(8) {
		if err != nil || ctx.Err() != nil {
			return err
		}
		c.pause(ctx)
		err = c.fireAny(ctx, id)
	}
	return err
}

// fireAny fires an event that the payment may or may not accept.
func (c *caller[Tx]) fireAny(ctx context.Context, id string) error {
	switch n := c.random.IntN(10); {
	case n < 5:
		return c.fire(ctx, id, "annotate", func(ref string) payment.Payload { return payment.Annotate{Ref: ref} })
	case n < 9:
		return c.fire(ctx, id, "confirm", func(ref string) payment.Payload { return payment.Confirm{Ref: ref} })
	}
	return c.fire(ctx, id, "cancel", func(ref string) payment.Payload { return payment.Cancel{Ref: ref} })
}

// fire fires an event until it is answered, a few times at most. Its key makes
// that one event.
func (c *caller[Tx]) fire(ctx context.Context, id, event string, payload func(ref string) payment.Payload) error {
	const tries = 6
	c.fired++
	f := fired{Ref: fmt.Sprintf("%s-%d-%d", c.name, c.n, c.fired), Record: id, Event: event, Verdict: meant}
	if err := c.journal.add(entry{Fired: &f}); err != nil {
		return err
	}
	p := payload(f.Ref)
	for range tries {
		outcome, err := c.attempt(ctx, f, p)
		var rejected *fsm.Rejection
		switch {
		case err == nil:
			f.Verdict, f.Version = accepted, outcome.Version
		case errors.As(err, &rejected), errors.Is(err, engine.ErrNotFound):
			f.Verdict = refused
		case ctx.Err() != nil:
			return nil
		default:
			c.pause(ctx)
			continue
		}
		return c.journal.add(entry{Fired: &f})
	}
	return nil
}

func (c *caller[Tx]) attempt(ctx context.Context, f fired, p payment.Payload) (engine.Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*storeTimeout)
	defer cancel()
	call := engine.Call{IdempotencyKey: f.Ref, By: fsm.Caller{ID: c.name}}
	if f.Event == "open" {
		return c.engine.Create(ctx, payment.MachineName, f.Record, p, call)
	}
	return c.engine.Fire(ctx, payment.MachineName, f.Record, p, call)
}

// pause lets some time pass, as a caller does between two events.
func (c *caller[Tx]) pause(ctx context.Context) {
	const least, spread = 20 * time.Millisecond, 150 * time.Millisecond
	select {
	case <-ctx.Done():
	case <-time.After(least + time.Duration(c.random.Int64N(int64(spread)))):
	}
}

func (c *caller[Tx]) newID() string {
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", c.random.Uint32(), c.random.Int64N(1<<48))
}
