package simulate

import (
	"context"
	"errors"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// part is a sequence of calls of one record in a transaction, each made for the record as
// the call before leaves it.
type part struct {
	calls []*call
	trial bool // a refused call rolls back those before it
	flush bool // the part ends with Flush
}

// transact fires events in one transaction of an engine, which may run the function
// twice.
func (run *run[Tx]) transact(ctx context.Context) {
	if len(run.records) == 0 {
		return
	}
	var parts []part
	for range 1 + run.rng.below(3) {
		parts = append(parts, run.part(ctx))
	}
	regrets, runs := run.rng.chance(150), 0
	run.log.count("a transaction of several events")
	err := oneOf(run.rng, run.workers).engine.Transact(ctx, func(ctx context.Context, u *engine.Tx[Tx]) error {
		runs++
		if err := run.takeAll(ctx, u, parts); err != nil {
			return err
		}
		if regrets {
			return errUndone
		}
		return nil
	})
	run.log.printf("a transaction of %d parts, in %d runs: %s", len(parts), runs, kind(err))
	if runs > 1 {
		run.log.count("a transaction runs again")
	}
	switch {
	case errors.Is(err, errUndone):
		run.log.count("a transaction is rolled back")
	case refuses(err):
		run.log.count("a transaction that has written can't roll back what it tried")
	}
	for _, t := range parts {
		run.conclude(t, err)
	}
}

// part makes up a part for an existing record or a new one.
func (run *run[Tx]) part(ctx context.Context) part {
	t := part{trial: run.rng.chance(400), flush: run.rng.chance(200)}
	create := run.rng.chance(300)
	at := record[Tx]{oneOf(run.rng, run.machines), run.newID()}
	if create {
		run.noteRecord(at.machine, at.id)
	} else {
		at = run.pick(ctx)
	}
	now, a := run.look(ctx, at.machine, at.id)
	for range 1 + run.rng.below(3) {
		c, after := run.inventFor(at.machine, at.id, create, now, a)
		c = run.note(c)
		c.err = errNotReached
		t.calls = append(t.calls, c)
		if after == nil {
			break // the record does not exist
		}
		var err error
		if a.record, err = known(at.machine.table, after); err != nil {
			run.log.problem("%v", err)
			break
		}
		now, create = after, false
	}
	return t
}

// takeAll makes the calls of the parts.
func (run *run[Tx]) takeAll(ctx context.Context, u *engine.Tx[Tx], parts []part) error {
	for _, t := range parts {
		for _, c := range t.calls {
			c.outcome, c.err, c.undone = engine.Outcome{}, errNotReached, false
		}
	}
	for _, t := range parts {
		if err := run.take(ctx, u, t); err != nil {
			return err
		}
	}
	return nil
}

func (run *run[Tx]) take(ctx context.Context, u *engine.Tx[Tx], t part) (err error) {
	if t.trial {
		err = run.tryPart(ctx, u, t)
	} else {
		err = fire(ctx, u, t)
	}
	if err == nil && t.flush {
		err = u.Flush(ctx)
	}
	return err
}

// tryPart makes the calls of a part inside Try: if one is refused, the part is rolled
// back.
func (run *run[Tx]) tryPart(ctx context.Context, u *engine.Tx[Tx], t part) error {
	err := u.Try(func() error { return fire(ctx, u, t) })
	if !refuses(err) {
		return err
	}
	run.log.count("a transaction rolls back what it tried")
	for _, c := range t.calls {
		c.undone = c.err == nil
	}
	return nil
}

// fire makes the calls of a part. A refused call ends the part only inside Try.
func fire[Tx any](ctx context.Context, u *engine.Tx[Tx], t part) error {
	for _, c := range t.calls {
		f := u.Fire
		if c.create {
			f = u.Create
		}
		c.outcome, c.err = f(ctx, c.machine, c.id, c.event, c.call)
		if c.err != nil && (t.trial || !refuses(c.err)) {
			return c.err
		}
	}
	return nil
}

// refuses reports whether an error leaves the transaction unchanged.
func refuses(err error) bool {
	var x *fsm.Rejection
	return errors.As(err, &x)
}

// conclude sets the outcomes of a part's calls after its transaction.
func (run *run[Tx]) conclude(t part, err error) {
	stored := 0
	for _, c := range t.calls {
		switch {
		case err == nil || c.err != nil || c.undone:
		case errors.Is(err, errUndone):
			c.undone = true
		default:
			c.err = err
		}
		run.logOutcome(c)
		if c.undone {
			run.log.printf("%s is rolled back", c.call.Correlation)
		}
		if c.accepted() {
			stored++
		}
	}
	if stored > 1 {
		run.log.count("a transaction has several events of a record")
	}
}

// errNotReached is the outcome of a call that its transaction did not make.
var errNotReached = errors.New("not reached")
