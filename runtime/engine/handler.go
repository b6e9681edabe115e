package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// PermanentError marks the failure of a handler as one that a repeat would meet
// again: what the effect's policy has left is not used.
type PermanentError struct{ Err error }

func (e *PermanentError) Error() string { return e.Err.Error() }

// Unwrap returns the failure.
func (e *PermanentError) Unwrap() error { return e.Err }

// PanicError is a panic, of a handler or on the way to it.
type PanicError struct {
	Value any
	Stack []byte // where it was
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// reply is what came of calling a handler.
type reply struct {
	answer *fsm.Event
	done   bool // of a query: it has happened
	err    error
}

// The reasons why the outcome of an attempt is not known.
var (
	errCutShort  = errors.New("the worker that attempted it did not report")
	errNoReturn  = errors.New("the handler did not return")
	errSpentLost = errors.New("its attempts are spent, and the worker of the last one did not report")
)

// call runs a handler and waits for it, but no longer than HandlerTimeout. A
// panic is an error. A handler that heeds its context may still report within
// the grace that follows; one that does not is left alone, and what it returns
// later reaches nobody: the lease token of its attempt is spent by then.
func (e *Engine[Tx]) call(ctx context.Context, d fsm.Dispatch, f func(context.Context) reply) (r reply) {
	const grace = 100 * time.Millisecond
	ctx, end := e.config.Trace(ctx, Operation{
		Kind: OpHandle, Machine: d.Machine, Record: d.Record, Name: d.Effect, Correlation: d.Correlation, Attempt: d.Attempt,
	})
	defer func() { end(r.err) }()
	ctx, cancel := context.WithTimeout(ctx, e.config.HandlerTimeout)
	defer cancel()
	replies := make(chan reply, 1) // buffered: an abandoned handler does not block
	go func() {
		defer func() {
			if v := recover(); v != nil {
				replies <- reply{err: &HandlerError{Unknown: true, Err: &PanicError{Value: v, Stack: debug.Stack()}}}
			}
		}()
		replies <- f(ctx)
	}()
	select {
	case r = <-replies:
	case <-ctx.Done():
		select {
		case r = <-replies:
		case <-time.After(grace):
			r.err = &HandlerError{Unknown: true, Err: fmt.Errorf("%w: %w", errNoReturn, context.Cause(ctx))}
		}
	}
	if r.err == nil {
		return r
	}
	var known *HandlerError
	if !errors.As(r.err, &known) {
		known = &HandlerError{Err: r.err}
	}
	known.Machine, known.ID, known.Effect = d.Machine, d.Record, d.Effect
	r.err = known
	return r
}

func (e *Engine[Tx]) handle(ctx context.Context, m *definition[Tx], d fsm.Dispatch) reply {
	return e.call(ctx, d, func(ctx context.Context) reply {
		answer, err := m.Handle(ctx, d)
		return reply{answer: answer, err: err}
	})
}

func (e *Engine[Tx]) query(ctx context.Context, m *definition[Tx], d fsm.Dispatch) reply {
	return e.call(ctx, d, func(ctx context.Context) reply {
		answer, done, err := m.Query(ctx, d)
		return reply{answer: answer, done: done, err: err}
	})
}
