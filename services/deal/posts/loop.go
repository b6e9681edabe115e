package posts

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Store runs a function in a transaction, and commits if it returns nil. The stores of the engine do.
type Store[T any] interface {
	InTx(ctx context.Context, f func(T) error) error
}

// loop does what is due at posts.
type loop[T any] struct {
	Config
	store Store[T]
	table *Table[T]
}

func newLoop[T any](store Store[T], table *Table[T], c Config) (loop[T], error) {
	c = c.withDefaults()
	return loop[T]{c, store, table}, c.validate()
}

func (l loop[T]) now() time.Time { return fsm.Instant(l.Clock.Now()) }

// move is Table.move in a transaction of its own.
func (l loop[T]) move(ctx context.Context, p Post, c change) (moved bool, err error) {
	err = l.store.InTx(ctx, func(tx T) error {
		moved, err = l.table.move(ctx, tx, p.Deal, p.State, c)
		return err
	})
	return moved, err
}

// read reads a post in a transaction of its own. Without one the error is permanent.
func (l loop[T]) read(ctx context.Context, deal fsm.UUID) (p Post, err error) {
	err = l.store.InTx(ctx, func(tx T) error {
		found := false
		if p, found, err = l.table.Post(ctx, tx, deal); err == nil && !found {
			err = errNoPost(deal)
		}
		return err
	})
	return p, err
}

// round claims posts that are due and calls do for each, at the same time. What fails is due again
// after Retry. round reports how many posts it has claimed.
func (l loop[T]) round(ctx context.Context, of worker, do func(context.Context, Post) error) (claimed int, err error) {
	var due []Post
	now := l.now()
	err = l.store.InTx(ctx, func(tx T) error {
		due, err = l.table.claim(ctx, tx, of, now, now.Add(l.Lease), l.Batch)
		return err
	})
	if err != nil {
		return 0, err
	}
	failed := make([]error, len(due))
	var all sync.WaitGroup
	for n, p := range due {
		all.Go(func() { failed[n] = l.attempt(ctx, p, do) })
	}
	all.Wait()
	return len(due), errors.Join(failed...)
}

func (l loop[T]) attempt(ctx context.Context, p Post, do func(context.Context, Post) error) error {
	leased, cancel := context.WithTimeout(ctx, l.Lease)
	defer cancel()
	err := do(leased, p)
	if err == nil {
		return nil
	}
	later := l.store.InTx(ctx, func(tx T) error { return l.table.postpone(ctx, tx, p, l.now().Add(l.Retry)) })
	return errors.Join(err, later)
}

// run calls round until ctx ends. It rests while nothing is due, and after an error.
func (l loop[T]) run(ctx context.Context, name string, round func(context.Context) (int, error)) {
	for ctx.Err() == nil {
		claimed, err := round(ctx)
		if err != nil && ctx.Err() == nil {
			l.Logger.WarnContext(ctx, "a round failed; what is due comes again", "of", name, "error", err)
		}
		if claimed == 0 || err != nil {
			rest(ctx, l.Poll)
		}
	}
}

// rest waits, or until ctx ends.
func rest(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
