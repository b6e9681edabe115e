package simulate

import (
	"context"
	"errors"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// part is what a unit does in a row: calls at one record, each as the former leaves
// it.
type part struct {
	calls []*call
	trial bool // a call that is refused takes those before it along
	flush bool // what is decided is written then
}

// unit fires events in one transaction of an engine, which may run it twice.
func (p *play[Tx]) unit(ctx context.Context) {
	if len(p.records) == 0 {
		return
	}
	var parts []part
	for range 1 + p.dice.below(3) {
		parts = append(parts, p.part(ctx))
	}
	regrets, runs := p.dice.chance(150), 0
	p.journal.count("a unit")
	err := oneOf(p.dice, p.workers).engine.Transact(ctx, func(ctx context.Context, u *engine.Tx[Tx]) error {
		runs++
		if err := p.takeAll(ctx, u, parts); err != nil {
			return err
		}
		if regrets {
			return errUndone
		}
		return nil
	})
	p.journal.say("a unit of %d parts, in %d runs: %s", len(parts), runs, kind(err))
	if runs > 1 {
		p.journal.count("a unit runs again")
	}
	switch {
	case errors.Is(err, errUndone):
		p.journal.count("a unit is rolled back")
	case refuses(err):
		p.journal.count("a unit that has written can't forget")
	}
	for _, t := range parts {
		p.conclude(t, err)
	}
}

// part makes up a part, at a record that is there or a new one.
func (p *play[Tx]) part(ctx context.Context) part {
	t := part{trial: p.dice.chance(400), flush: p.dice.chance(200)}
	create := p.dice.chance(300)
	at := record[Tx]{oneOf(p.dice, p.roles), p.newID()}
	if create {
		p.meet(at.role, at.id)
	} else {
		at = p.pick(ctx)
	}
	now, a := p.look(ctx, at.role, at.id)
	for range 1 + p.dice.below(3) {
		c, after := p.inventFor(at.role, at.id, create, now, a)
		c = p.note(c)
		c.err = errNotReached
		t.calls = append(t.calls, c)
		if after == nil {
			break // there is nothing to fire at
		}
		var err error
		if a.record, err = known(at.role.table, after); err != nil {
			p.journal.problem("%v", err)
			break
		}
		now, create = after, false
	}
	return t
}

// takeAll takes the parts of a unit, from the beginning.
func (p *play[Tx]) takeAll(ctx context.Context, u *engine.Tx[Tx], parts []part) error {
	for _, t := range parts {
		for _, c := range t.calls {
			c.outcome, c.err, c.undone = engine.Outcome{}, errNotReached, false
		}
	}
	for _, t := range parts {
		if err := p.take(ctx, u, t); err != nil {
			return err
		}
	}
	return nil
}

func (p *play[Tx]) take(ctx context.Context, u *engine.Tx[Tx], t part) (err error) {
	if t.trial {
		err = p.tryPart(ctx, u, t)
	} else {
		err = fire(ctx, u, t)
	}
	if err == nil && t.flush {
		err = u.Flush(ctx)
	}
	return err
}

// tryPart takes a part that is forgotten where one of its calls is refused.
func (p *play[Tx]) tryPart(ctx context.Context, u *engine.Tx[Tx], t part) error {
	err := u.Try(func() error { return fire(ctx, u, t) })
	if !refuses(err) {
		return err
	}
	p.journal.count("a unit forgets what it tried")
	for _, c := range t.calls {
		c.undone = c.err == nil
	}
	return nil
}

// fire makes the calls of a part. One that is refused ends a trial, and nothing else.
func fire[Tx any](ctx context.Context, u *engine.Tx[Tx], t part) error {
	for _, c := range t.calls {
		f := u.Fire
		if c.create {
			f = u.Create
		}
		c.outcome, c.err = f(ctx, c.machine, c.id, payload{c.event}, c.call)
		if c.err != nil && (t.trial || !refuses(c.err)) {
			return c.err
		}
	}
	return nil
}

// refuses reports whether an error leaves a unit as it was.
func refuses(err error) bool {
	var x *fsm.Rejection
	return errors.As(err, &x)
}

// conclude tells the callers of a part what became of it with its unit.
func (p *play[Tx]) conclude(t part, err error) {
	stored := 0
	for _, c := range t.calls {
		switch {
		case err == nil || c.err != nil || c.undone:
		case errors.Is(err, errUndone):
			c.undone = true
		default:
			c.err = err
		}
		p.tell(c)
		if c.undone {
			p.journal.say("%s is rolled back", c.call.Correlation)
		}
		if c.accepted() {
			stored++
		}
	}
	if stored > 1 {
		p.journal.count("a unit leads a record on more than once")
	}
}

// errNotReached is what a call is told that its unit never made.
var errNotReached = errors.New("not reached")
