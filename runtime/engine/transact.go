package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Tx is a transaction that the engine commits, for events that belong together
// with each other or with the caller's own writes.
type Tx[T any] struct {
	// Tx is the transaction. What the unit has decided may not be written in it yet:
	// see Flush.
	Tx  T
	txn *txn[T]
}

// Transact runs f in one transaction, and commits when f returns nil. It is
// FireTx for who has no transaction yet: the engine knows when it is committed,
// and so begins at once what the events ask for. Within f the records of the unit
// are changed through it alone. The error of f is returned as it is; else that of an
// event which could not be written, or what a commit can fail with, as of Fire.
//
// What the events write is held back as long as nobody has to see it, so that an
// error of the database may come only from Transact. f may run twice, in another
// transaction, if an effect was to be carried out within it: see Inline.
//
// f uses the context that it is given: with that one, a call that would open another
// transaction (Fire, Create, FireBatch, Transact) is refused with ErrNested. With the
// context of the caller it would wait for ever on SQLite, and commit by itself on
// PostgreSQL.
func (e *Engine[T]) Transact(ctx context.Context, f func(context.Context, *Tx[T]) error) error {
	if err := checkNested(ctx); err != nil {
		return err
	}
	if err := e.synchronise(ctx); err != nil {
		return err
	}
	return e.inTxn(ctx, func(t *txn[T]) error { return f(inside(ctx), &Tx[T]{t.tx, t}) })
}

// Flush writes the records as the unit has left them, for statements of the caller's
// own that have to see them.
func (u *Tx[T]) Flush(ctx context.Context) error { return u.txn.flush(ctx) }

// Create makes a record within the unit. After an error that is not a
// *fsm.Rejection f is to return it.
func (u *Tx[T]) Create(ctx context.Context, machine, id string, event fsm.Payload, call Call) (Outcome, error) {
	return u.fire(ctx, Firing{Machine: machine, ID: id, Event: event, Call: call, Create: true})
}

// Fire applies an event to a record within the unit. After an error that is not a
// *fsm.Rejection f is to return it.
func (u *Tx[T]) Fire(ctx context.Context, machine, id string, event fsm.Payload, call Call) (Outcome, error) {
	return u.fire(ctx, Firing{Machine: machine, ID: id, Event: event, Call: call})
}

// Try keeps what f decides within the unit when it returns nil, and forgets it
// otherwise: other events of the unit go on. It returns the error of f. What was
// written before f failed, by Flush or for a handler inside the transaction, can't be
// forgotten: then the unit fails.
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

// Write writes a row of the caller's own beside a record of the unit, as an effect
// on a table does: after its steps so far.
func (u *Tx[T]) Write(machine, id string, w fsm.TableWrite) error {
	m, key, err := u.txn.engine.machine(machine, id)
	if err != nil {
		return err
	}
	at := place{m.Name(), fsm.Text(key)}
	pending := u.txn.find(at)
	if pending == nil {
		return fmt.Errorf("engine: %s %s: %w in this unit", machine, id, ErrNotFound)
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
