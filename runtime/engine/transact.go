package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Tx is a transaction that the engine commits, for events that belong together with each other or
// with the caller's own writes.
type Tx[T any] struct {
	// Tx is the transaction of the driver. It may not have all writes of the events yet: see
	// Flush.
	Tx  T
	txn *txn[T]
}

// Transact runs f in one transaction and commits if f returns nil. It is like FireTx, but the
// engine owns the transaction: effects start right after the commit. Inside f the records of the
// transaction must be changed through Tx alone. Transact returns the error of f unchanged; else
// that of an event that could not be written, or an error of the commit, as Fire does.
//
// Writes of events are held back until something must see them, so an error of the database may be
// returned by Transact itself. f may run twice, in another transaction, if an inline effect
// failed: see Inline.
//
// f must use the context that it is given. With that context, a call that would open another
// transaction (Fire, Create, FireBatch, Transact) returns ErrNested. With the caller's context it
// would block for ever on SQLite, and commit separately on PostgreSQL.
func (e *Engine[T]) Transact(ctx context.Context, f func(context.Context, *Tx[T]) error) error {
	if err := checkNested(ctx); err != nil {
		return err
	}
	if err := e.synchronise(ctx); err != nil {
		return err
	}
	return e.inTxn(ctx, func(t *txn[T]) error { return f(inside(ctx), &Tx[T]{t.tx, t}) })
}

// Flush writes the records as the events have left them, for the caller's own statements that must
// see them.
func (u *Tx[T]) Flush(ctx context.Context) error { return u.txn.flush(ctx) }

// Create makes a record in the transaction. If it returns an error that is not a *fsm.Rejection,
// the function given to Transact must return that error.
func (u *Tx[T]) Create(ctx context.Context, machine, id string, event fsm.Payload, call Call) (Outcome, error) {
	return u.fire(ctx, Firing{Machine: machine, ID: id, Event: event, Call: call, Create: true})
}

// Fire applies an event to a record in the transaction. If it returns an error that is not a
// *fsm.Rejection, the function given to Transact must return that error.
func (u *Tx[T]) Fire(ctx context.Context, machine, id string, event fsm.Payload, call Call) (Outcome, error) {
	return u.fire(ctx, Firing{Machine: machine, ID: id, Event: event, Call: call})
}

// Try calls f and keeps its events if f returns nil. Else it discards them, and other events of
// the transaction stay. It returns the error of f. Writes before f failed, by Flush or for a
// handler inside the transaction, can't be discarded: then the whole transaction fails.
func (u *Tx[T]) Try(f func() error) error {
	t := u.txn
	queued, writes, outcomes, demands, saves := len(t.queued), slices.Clone(t.pending), len(t.outcomes), len(t.demands), t.saves
	err := f()
	switch {
	case err == nil:
	case t.saves == saves:
		t.queued, t.pending, t.outcomes, t.demands = t.queued[:queued], writes, t.outcomes[:outcomes], t.demands[:demands]
	case t.failed == nil:
		t.failed = err
	}
	return err
}

// Write inserts a row of the caller's own for a record of the transaction, after its steps so far,
// like an effect on a table.
func (u *Tx[T]) Write(machine, id string, w fsm.TableWrite) error {
	m, key, err := u.txn.engine.machine(machine, id)
	if err != nil {
		return err
	}
	at := place{m.Name(), fsm.Text(key)}
	pending := u.txn.find(at)
	if pending == nil {
		return fmt.Errorf("engine: %s %s: %w in this transaction", machine, id, ErrNotFound)
	}
	pending.Writes = append(pending.Writes, w)
	return nil
}

func (u *Tx[T]) fire(ctx context.Context, f Firing) (o Outcome, err error) {
	e := u.txn.engine
	r, err := e.request(f)
	if err != nil {
		return Outcome{}, describe(f, err)
	}
	ctx, end := e.config.Trace(ctx, r.operation())
	defer func() { end(err) }()
	if o, err = u.txn.fire(ctx, r); err != nil {
		u.txn.refusals = append(u.txn.refusals, func() { e.countRefusal(r, err) })
		return Outcome{}, describe(f, err)
	}
	return o, nil
}
