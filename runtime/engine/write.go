package engine

import (
	"context"
	"runtime/debug"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// write carries out a plan inside a transaction. It writes first, so that a conflict is found
// before any handler runs.
func (e *Engine[T]) write(ctx context.Context, tx T, p plan[T]) error {
	if len(p.writes) == 0 {
		return nil
	}
	commits := make([]store.Commit, len(p.writes))
	for i := range p.writes {
		commits[i] = p.writes[i].Commit
	}
	if err := e.store.Save(ctx, tx, commits); err != nil {
		return err
	}
	return runCalls(ctx, tx, p.calls)
}

// runCalls runs handlers inside the transaction.
func runCalls[T any](ctx context.Context, tx T, calls []txCall[T]) error {
	ctx = inside(ctx)
	for _, call := range calls {
		if err := callTx(ctx, tx, call); err != nil {
			return err
		}
	}
	return nil
}

// callTx runs a handler inside the transaction. An error or a panic of the handler fails the whole
// event.
func callTx[T any](ctx context.Context, tx T, call txCall[T]) (err error) {
	d := call.dispatch
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
		if err != nil {
			err = &HandlerError{Machine: d.Machine, ID: d.Record, Effect: d.Effect, Err: err}
		}
	}()
	return call.machine.HandleTx(ctx, tx, d)
}
