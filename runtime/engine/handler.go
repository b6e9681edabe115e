package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// PermanentError marks the error of a handler as one that a repeat would meet again. The engine
// does not repeat the effect.
type PermanentError struct{ Err error }

func (e *PermanentError) Error() string { return e.Err.Error() }

// Unwrap returns the failure.
func (e *PermanentError) Unwrap() error { return e.Err }

// UnknownError marks the error of a handler whose effect may have happened: see Unknown.
type UnknownError struct{ Err error }

func (e *UnknownError) Error() string { return e.Err.Error() }

// Unwrap returns the failure.
func (e *UnknownError) Unwrap() error { return e.Err }

// Unknown marks the error of a handler that does not know whether its effect has happened: the
// request was sent, and no answer came. An at_most_once effect is lost then; any other is
// repeated. For an at_most_once effect the engine itself treats an error as unknown if the
// handler's context had ended, or if it is a context error, unless it is a *PermanentError.
// Unknown(nil) is nil.
func Unknown(err error) error {
	if err == nil {
		return nil
	}
	return &UnknownError{err}
}

// unknown reports whether the failure of a handler with this context leaves open
// whether its effect has happened. Only of an effect that is not repeated the end of a
// context says so: any other may have a failure for just that.
func unknown(ctx context.Context, once bool, err error) bool {
	var permanent *PermanentError
	var said *UnknownError
	var failure *HandlerError // of an engine that the handler itself has used
	switch {
	case errors.As(err, &said), errors.As(err, &failure) && failure.Unknown:
		return true
	case errors.As(err, &permanent):
		return false
	}
	return once && (ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled))
}

// PanicError is a panic of a handler, a machine, a store or a hook.
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
	errCutShort = errors.New("the worker that attempted it did not report")
	errNoReturn = errors.New("the handler did not return")
	errSpent    = errors.New("its attempts are spent")
)

// queryError says that a queryable effect could not be asked about: whether it has
// happened is not known.
type queryError struct{ err error }

func (e *queryError) Error() string {
	return fmt.Sprintf("whether it has happened is not known: %v", e.err)
}

func (e *queryError) Unwrap() error { return e.err }

// grace is how long a handler whose context has ended may still report.
const grace = 100 * time.Millisecond

// call runs a handler and waits for it, but no longer than HandlerTimeout. A
// panic is an error. A handler that returns when its context ends may still report within
// the grace that follows. call does not wait for another handler, and drops what it returns
// later: the lease token of its attempt is spent by then. A handler
// whose state was left has all of HandlerTimeout to return. once says that the effect
// is not repeated.
func (e *Engine[T]) call(ctx context.Context, d fsm.Dispatch, once bool, f func(context.Context) reply) (r reply) {
	ctx, end := e.config.Trace(ctx, Operation{
		Kind: OpHandle, Machine: d.Machine, Record: d.Record, Name: d.Effect, Correlation: d.Correlation, Attempt: d.Attempt,
	})
	defer func() { end(r.err) }()
	over := time.NewTimer(e.config.HandlerTimeout + grace)
	defer over.Stop()
	ctx, cancel := context.WithTimeout(ctx, e.config.HandlerTimeout)
	defer cancel()
	replies := make(chan reply, 1) // buffered: an abandoned handler does not block
	go func() {
		defer func() {
			if v := recover(); v != nil {
				replies <- reply{err: Unknown(&PanicError{Value: v, Stack: debug.Stack()})}
			}
		}()
		r := f(ctx)
		if r.err != nil && unknown(ctx, once, r.err) {
			r.err = Unknown(r.err)
		}
		replies <- r
	}()
	select {
	case r = <-replies:
	case <-ctx.Done():
		if !errors.Is(context.Cause(ctx), ErrStateLeft) {
			over.Reset(grace)
		}
		select {
		case r = <-replies:
		case <-over.C:
			r.err = Unknown(fmt.Errorf("%w: %w", errNoReturn, context.Cause(ctx)))
		}
	}
	if r.err != nil {
		var said *UnknownError
		r.err = &HandlerError{Machine: d.Machine, ID: d.Record, Effect: d.Effect, Unknown: errors.As(r.err, &said), Err: r.err}
	}
	return r
}

// handle calls the handler of an effect. once says that the effect is not repeated.
func (e *Engine[T]) handle(ctx context.Context, m *definition[T], d fsm.Dispatch, once bool) reply {
	return e.call(ctx, d, once, func(ctx context.Context) reply {
		answer, err := m.Handle(ctx, d)
		return reply{answer: answer, err: err}
	})
}

func (e *Engine[T]) query(ctx context.Context, m *definition[T], d fsm.Dispatch) reply {
	return e.call(ctx, d, false, func(ctx context.Context) reply {
		answer, done, err := m.Query(ctx, d)
		return reply{answer: answer, done: done, err: err}
	})
}
