package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// WithoutLock is what a worker does with an effect while Locker fails.
type WithoutLock string

// What a worker does while the Locker fails.
const (
	Proceed WithoutLock = "proceed" // it carries out the effect without the lock
	Wait    WithoutLock = "wait"    // it asks again until the Locker answers
)

// lockPause is the pause before a Locker that failed is asked again.
const lockPause = time.Second

// lock takes the lock that the spec declares around an effect, and extends it until release is
// called. Without a lock in the spec it does nothing. Its only error is that of ctx.
func (e *Engine[T]) lock(ctx context.Context, declared fsm.Lock, d fsm.Dispatch) (release func(), err error) {
	none := func() {}
	if declared.Key == "" {
		return none, nil
	}
	key, err := declared.KeyOf(d.Payload)
	if err != nil {
		e.tellLock(ctx, d, "no_key", "an effect has no key for its lock: it is carried out without", "error", err)
		return none, nil
	}
	for {
		held, err := e.config.Locker.Lock(ctx, key, declared.TTL)
		switch {
		case err == nil:
			e.count(d.Machine, MetricLocks, "effect", d.Effect, "outcome", "taken")
			e.config.Logger.DebugContext(ctx, "lock taken", "key", key, "token", held.Token(), "effect", d.Effect, "message", d.ID, "correlation", d.Correlation)
			return e.keepLock(ctx, held, declared.TTL, key, d), nil
		case ctx.Err() != nil:
			return none, ctx.Err()
		case e.config.WithoutLock == Proceed:
			e.tellLock(ctx, d, "unreachable", "the locks can't be reached: the effect is carried out without", "key", key, "error", err)
			return none, nil
		}
		e.tellLock(ctx, d, "waited", "the locks can't be reached: the effect waits", "key", key, "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(lockPause):
		}
	}
}

// keepLock extends a lock at each third of its ttl until it is released, or lost.
func (e *Engine[T]) keepLock(ctx context.Context, held Lock, ttl time.Duration, key string, d fsm.Dispatch) (release func()) {
	ctx, stop := context.WithCancel(ctx)
	var keeper sync.WaitGroup
	keeper.Go(func() {
		due := time.NewTicker(max(ttl/3, time.Millisecond))
		defer due.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-due.C:
			}
			switch err := held.Extend(ctx, ttl); {
			case ctx.Err() != nil:
				return
			case errors.Is(err, ErrLockLost):
				e.tellLock(ctx, d, "lost", "a lock has expired while its effect was carried out", "key", key, "token", held.Token())
				return
			case err != nil:
				e.config.Logger.WarnContext(ctx, "a lock was not extended", "key", key, "error", err)
			}
		}
	})
	return func() {
		stop()
		keeper.Wait()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ttl) // after that it has expired
		defer cancel()
		if err := held.Unlock(ctx); err != nil && !errors.Is(err, ErrLockLost) {
			e.config.Logger.WarnContext(ctx, "a lock was not released: it expires", "key", key, "error", err)
		}
	}
}

// tellLock logs and counts what became of a lock that was not taken, or not kept.
func (e *Engine[T]) tellLock(ctx context.Context, d fsm.Dispatch, outcome, message string, about ...any) {
	e.count(d.Machine, MetricLocks, "effect", d.Effect, "outcome", outcome)
	about = append(about, "machine", d.Machine, "effect", d.Effect, "message", d.ID, "correlation", d.Correlation)
	e.config.Logger.WarnContext(ctx, message, about...)
}
