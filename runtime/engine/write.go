package engine

import (
	"context"
	"errors"
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

// write carries out plans within a transaction, which ends with them where last
// says so. The store comes first: a conflict is found there, before any handler
// has run.
func (e *Engine[Tx]) write(ctx context.Context, tx Tx, last bool, plans ...plan[Tx]) error {
	var commits []Commit
	calls := 0
	for _, p := range plans {
		commits = append(commits, p.commits...)
		calls += len(p.calls)
	}
	if len(commits) == 0 {
		return nil
	}
	commits[len(commits)-1].Last = last && calls == 0
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
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
		if err != nil {
			err = &HandlerError{Machine: d.Machine, ID: d.Record, Effect: d.Effect, Err: err}
		}
	}()
	return call.machine.HandleTx(ctx, tx, d)
}
