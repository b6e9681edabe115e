package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// insideTransaction marks the context of a handler that runs in a transaction.
type insideTransaction struct{}

// errNested is for a handler that fires with Fire where FireTx is needed: the
// new transaction would wait for the one that it is called from.
var errNested = errors.New("engine: this handler runs inside a transaction: fire with FireTx")

func checkNested(ctx context.Context) error {
	if ctx.Value(insideTransaction{}) != nil {
		return errNested
	}
	return nil
}

// write carries out plans within a transaction. The store comes first: a
// conflict is found there, before any handler has run.
func (e *Engine[Tx]) write(ctx context.Context, tx Tx, plans ...plan[Tx]) error {
	var commits []Commit
	for _, p := range plans {
		commits = append(commits, p.commits...)
	}
	if len(commits) == 0 {
		return nil
	}
	if err := e.store.Save(ctx, tx, commits); err != nil {
		return err
	}
	ctx = context.WithValue(ctx, insideTransaction{}, true)
	for _, p := range plans {
		for _, call := range p.calls {
			if err := callTx(ctx, tx, call); err != nil {
				return err
			}
		}
	}
	return nil
}

// callTx runs a handler inside the transaction. The handler's error, or its
// panic, fails the whole event.
func callTx[Tx any](ctx context.Context, tx Tx, call txCall[Tx]) (err error) {
	d := call.dispatch
	defer func() {
		if v := recover(); v != nil {
			err = panicked(v)
		}
		if err != nil {
			err = &HandlerError{Machine: d.Machine, ID: d.Record, Effect: d.Effect, Err: err}
		}
	}()
	return call.machine.HandleTx(ctx, tx, d)
}

// panicked turns a recovered panic into an error that says where it was.
func panicked(v any) error {
	// The stack is cut because it is stored with the message that failed.
	const longest = 2000
	stack := debug.Stack()
	return fmt.Errorf("the handler panicked: %v\n%s", v, stack[:min(len(stack), longest)])
}
