package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Create makes a record by one of the machine's creation events. If the id exists, it returns
// ErrExists, unless an earlier call with the same key made the record.
func (e *Engine[T]) Create(ctx context.Context, machine, id string, event fsm.Payload, call Call) (Outcome, error) {
	return e.fireOne(ctx, Firing{Machine: machine, ID: id, Event: event, Call: call, Create: true})
}

// Fire applies an event to a record in its own transaction. If it returns nil, the event is stored
// and its effects will be carried out. If it returns a *fsm.Rejection, nothing has changed. A
// *ConflictError means that another writer was first; the caller decides whether the event still
// makes sense. With Call.IfVersion that is a *VersionError. After ErrStore the outcome may be
// unknown; with a key it is safe to fire again.
func (e *Engine[T]) Fire(ctx context.Context, machine, id string, event fsm.Payload, call Call) (Outcome, error) {
	return e.fireOne(ctx, Firing{Machine: machine, ID: id, Event: event, Call: call})
}

// CreateTx is Create inside the caller's transaction: see FireTx.
func (e *Engine[T]) CreateTx(ctx context.Context, tx T, machine, id string, event fsm.Payload, call Call) (Outcome, error) {
	return e.fireTx(ctx, tx, Firing{Machine: machine, ID: id, Event: event, Call: call, Create: true})
}

// FireTx applies an event inside the caller's transaction, so that it commits together with the
// caller's own writes or not at all. It neither commits nor rolls back. After an error that is not
// a *fsm.Rejection the caller must roll back.
//
// After the commit the caller passes the outcome to Committed, which emits log lines and metrics.
func (e *Engine[T]) FireTx(ctx context.Context, tx T, machine, id string, event fsm.Payload, call Call) (Outcome, error) {
	return e.fireTx(ctx, tx, Firing{Machine: machine, ID: id, Event: event, Call: call})
}

// Committed emits the log lines and metrics of events that FireTx or CreateTx applied, and wakes
// the workers of this process for their effects. Call it after the commit. Without it log lines
// and metrics are lost, and nothing else.
func (e *Engine[T]) Committed(ctx context.Context, outcomes ...Outcome) {
	for _, o := range outcomes {
		p := pendingOf(&o)
		for _, tell := range p.tells {
			tell(ctx)
		}
		if p.wakes {
			e.workers.wake()
		}
	}
}

func (e *Engine[T]) fireOne(ctx context.Context, f Firing) (o Outcome, err error) {
	if err := e.synchronise(ctx); err != nil {
		return Outcome{}, describe(f, err)
	}
	r, err := e.request(f)
	if err != nil {
		return Outcome{}, describe(f, err)
	}
	ctx, end := e.config.Trace(ctx, r.operation())
	defer func() { end(err) }()
	o, err = e.fire(ctx, r)
	return o, describe(f, err)
}

func (e *Engine[T]) fireTx(ctx context.Context, tx T, f Firing) (o Outcome, err error) {
	r, err := e.request(f)
	if err != nil {
		return Outcome{}, describe(f, err)
	}
	ctx, end := e.config.Trace(ctx, r.operation())
	defer func() { end(err) }()
	p, err := e.consider(ctx, tx, r)
	if err == nil {
		err = demands{p.demand}.explain(e.write(ctx, tx, p))
	}
	if err != nil {
		e.countRefusal(r, err)
		return Outcome{}, describe(f, err)
	}
	pendingOf(&p.outcome).wakes = slices.ContainsFunc(p.writes, func(w pendingWrite) bool { return w.needsWakeup() })
	return p.outcome, nil
}

// describe names the record that an error is about, unless the error does.
func describe(f Firing, err error) error {
	record := f.Machine + " " + f.ID + ": "
	if err == nil || strings.HasPrefix(err.Error(), record) {
		return err
	}
	return fmt.Errorf("%s%w", record, err)
}

// fire applies r in a transaction of its own.
func (e *Engine[T]) fire(ctx context.Context, r request[T]) (Outcome, error) {
	if err := checkNested(ctx); err != nil {
		return Outcome{}, err
	}
	o, err := e.apply(ctx, r)
	if err == nil {
		return o, nil
	}
	e.countRefusal(r, err)
	if o, ok := e.replayed(ctx, r, err); ok {
		return o, nil
	}
	return Outcome{}, e.fatal(ctx, r, err)
}

// apply applies r in a transaction of its own.
func (e *Engine[T]) apply(ctx context.Context, r request[T]) (o Outcome, err error) {
	err = e.inTxn(ctx, func(t *txn[T]) error {
		p, err := t.consider(ctx, r)
		if err != nil {
			return err
		}
		o = p.outcome
		t.addNew(p)
		return nil
	})
	return o, err
}

// consider loads and decides. Nothing is written before the machine has decided, and no handler
// runs before the record's row is locked.
func (e *Engine[T]) consider(ctx context.Context, tx T, r request[T]) (plan[T], error) {
	rows, err := e.load(ctx, tx, r)
	if err != nil {
		return plan[T]{}, err
	}
	return e.decide(r, rows[0])
}

// replayed looks for the outcome of the same call with the same key, sent twice, if the other one
// was accepted first.
func (e *Engine[T]) replayed(ctx context.Context, r request[T], cause error) (o Outcome, ok bool) {
	lost := errors.Is(cause, ErrConflict) || errors.Is(cause, ErrVersion)
	if !lost && !errors.Is(cause, ErrExists) && !errors.Is(cause, ErrKeyUsed) {
		return Outcome{}, false
	}
	if len(r.keys(nil)) == 0 {
		return Outcome{}, false
	}
	err := e.store.InTx(ctx, func(tx T) error {
		rows, err := e.load(ctx, tx, r)
		if err != nil {
			return err
		}
		o, ok, err = r.replay(rows[0])
		return err
	})
	return o, ok && err == nil
}

// countRefusal measures why an event was not accepted.
func (e *Engine[T]) countRefusal(r request[T], err error) {
	var x *fsm.Rejection
	switch {
	case errors.As(err, &x):
		e.count(r.machine.Name(), MetricRejections, "event", r.event.Name, "reason", string(x.Reason))
	case errors.Is(err, ErrConflict), errors.Is(err, ErrVersion):
		e.count(r.machine.Name(), MetricConflicts, "event", r.event.Name)
	}
}
