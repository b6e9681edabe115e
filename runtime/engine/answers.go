package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// longestPause bounds the pause between two tries to store an outcome.
const longestPause = 500 * time.Millisecond

// pause waits before try number n, which counts from 1.
func pause(ctx context.Context, n int) {
	select {
	case <-ctx.Done():
	case <-time.After(min(10*time.Millisecond<<min(n, 10), longestPause)):
	}
}

// retryStore calls f until it succeeds or returns an error that a repeat can't mend. While the
// engine is being stopped it goes on for as long as a lease lasts, since what it stores has
// already happened.
func (e *Engine[T]) retryStore(ctx context.Context, f func(context.Context) error) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.config.Lease)
	defer cancel()
	for n := 1; ; n++ {
		err = e.withStoreTimeout(ctx, f)
		if !errors.Is(err, ErrConflict) && !errors.Is(err, ErrStore) {
			return err
		}
		if pause(ctx, n); ctx.Err() != nil {
			return err
		}
	}
}

// withStoreTimeout calls f with StoreTimeout.
func (e *Engine[T]) withStoreTimeout(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, e.config.StoreTimeout)
	defer cancel()
	return f(ctx)
}

// fireTask fires the event of a task; the task ends in the same transaction.
func (e *Engine[T]) fireTask(ctx context.Context, r request[T]) (err error) {
	ctx, end := e.config.Trace(ctx, r.operation())
	defer func() { end(err) }()
	return e.retryStore(ctx, func(ctx context.Context) error {
		r.now = later(e.now(), r.notBefore)
		err := e.applyGrouped(ctx, r)
		r.known = nil // it was right, or there is something newer
		r.lock = errors.Is(err, ErrConflict)
		if err == nil {
			return nil
		}
		e.countRefusal(r, err)
		return e.fatal(ctx, r, err)
	})
}

// firing is the event of a task that is being stored, and why it was refused.
type firing[T any] struct {
	request request[T]
	refused error
}

// applyGrouped applies the event of a task. Events of tasks that arrive at the same time share a
// transaction.
func (e *Engine[T]) applyGrouped(ctx context.Context, r request[T]) error {
	if r.lock {
		_, err := e.apply(ctx, r)
		return err
	}
	mine := &firing[T]{request: r}
	err := e.firings.Do(place{r.machine.Name(), r.id}, mine, e.config.Batch, func(all []*firing[T]) error { return e.applyAll(ctx, all) })
	if errors.Is(err, ErrConflict) { // another transaction has or had the record: alone, this one may wait for it
		r.known, r.lock = nil, true
		_, err := e.apply(ctx, r)
		return err
	}
	return cmp.Or(err, mine.refused)
}

// applyAll applies events of different records in one transaction.
func (e *Engine[T]) applyAll(ctx context.Context, all []*firing[T]) error {
	// In the order in which a batch of firings locks its records.
	slices.SortFunc(all, func(a, b *firing[T]) int {
		return cmp.Or(cmp.Compare(a.request.machine.Name(), b.request.machine.Name()), cmp.Compare(a.request.id, b.request.id))
	})
	requests := make([]request[T], len(all))
	for i, f := range all {
		requests[i] = f.request
	}
	return e.inTxn(ctx, func(t *txn[T]) error {
		t.shortLockWait = true
		rows, err := e.load(ctx, t.tx, requests...)
		if err != nil {
			return err
		}
		t.expect(len(all))
		for i, f := range all {
			var p plan[T]
			if p, f.refused = e.decide(requests[i], rows[i]); f.refused == nil {
				t.addNew(p)
			}
		}
		return nil
	})
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// answer fires the event of an effect's answer and settles the message, in one transaction. If the
// state was left, or the record refuses the event, only the message is settled. note is kept with
// the message.
//
// After an unrecordable error the message is unchanged, and the caller settles it. After any other
// error another worker will: the lease is lost or will end.
func (e *Engine[T]) answer(ctx context.Context, m *definition[T], task effectTask, event fsm.Event, note string) error {
	s, err := task.delivered(note, e.now())
	if err != nil {
		return err
	}
	r, err := e.taskRequest(m, task.msg.RecordID, event, task.msg.Correlation, &s)
	if err != nil {
		return err
	}
	r.known = task.known
	err = e.checkSize(r)
	if err == nil {
		err = e.fireTask(ctx, r)
	}
	outcome := "delivered"
	var x *fsm.Rejection
	switch {
	case errors.Is(err, ErrStateLeft):
		outcome, err = "late", e.settle(ctx, s)
	case errors.Is(err, ErrNotFound), errors.As(err, &x) && !unrecordable(err):
		e.count(m.Name(), MetricRefused, "event", event.Name)
		e.config.Logger.WarnContext(ctx, "answer refused", "machine", m.Name(), "record", r.id, "effect", task.msg.Effect,
			"event", event.Name, "error", err, "correlation", r.correlation)
		outcome, err = "refused", e.settle(ctx, s)
	}
	if err == nil {
		e.count(m.Name(), MetricAttempts, "effect", task.msg.Effect, "outcome", outcome)
	}
	return err
}

// taskRequest returns the request of an event that the system fires for a task.
func (e *Engine[T]) taskRequest(m *definition[T], id string, event fsm.Event, correlation string, s *store.Settlement) (request[T], error) {
	_, key, err := e.machine(m.Name(), id)
	if err != nil {
		return request[T]{}, &CorruptError{Machine: m.Name(), ID: id, Err: err}
	}
	return request[T]{
		machine: m, id: id, idValue: key, event: event, by: fsm.System(), correlation: correlation, now: e.now(), task: s,
	}, nil
}

// unrecordable reports whether an answer can't be stored however often it is tried: it is no event
// of the machine, the database refuses it, or the record can't be read. A store that failed, or a
// conflict, is not that.
func unrecordable(err error) bool {
	var handler *HandlerError
	if errors.Is(err, ErrStore) || errors.Is(err, ErrConflict) {
		return false
	}
	return errors.Is(err, fsm.ErrInvalidEvent) || errors.Is(err, ErrRefused) || errors.Is(err, ErrCorrupt) || errors.Is(err, ErrExists) ||
		errors.Is(err, ErrKeyUsed) || errors.As(err, &handler)
}
