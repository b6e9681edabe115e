package simulate

import (
	"context"
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// call is what somebody fired, and what that was told.
type call struct {
	machine, id string
	create      bool
	event       fsm.Event
	call        engine.Call // its correlation is used once
	outcome     engine.Outcome
	err         error
	undone      bool // a transaction of the caller's own was rolled back
}

// accepted reports whether the caller was told that this very call changed
// something.
func (c *call) accepted() bool {
	return c.err == nil && !c.undone && !c.outcome.AlreadyThere && !c.outcome.Replayed
}

// unclear reports whether the caller can't know what became of the call.
func (c *call) unclear() bool { return errors.Is(c.err, store.ErrStore) || errors.Is(c.err, errDead) }

// payload is an event as an engine takes it.
type payload struct{ event fsm.Event }

// EventName is the event's name.
func (p payload) EventName() string { return p.event.Name }

// MarshalJSON is the event's payload.
func (p payload) MarshalJSON() ([]byte, error) { return p.event.Payload, nil }

// create makes a record: a new one, or one that may be there.
func (p *play[Tx]) create(ctx context.Context) {
	r := oneOf(p.dice, p.roles)
	id := p.newID()
	if len(p.records) > 0 && p.dice.chance(100) {
		again := oneOf(p.dice, p.records)
		r, id = again.role, again.id
	}
	p.meet(r, id)
	c := p.invent(ctx, r, id, true)
	p.send(ctx, c)
}

// newID is the id of no record.
func (p *play[Tx]) newID() string {
	return fmt.Sprintf("00000000-0000-4000-9000-%012x", len(p.records)+1)
}

// fire fires something at a record.
func (p *play[Tx]) fire(ctx context.Context) {
	if len(p.records) == 0 {
		p.create(ctx)
		return
	}
	r := p.pick(ctx)
	c := p.invent(ctx, r.role, r.id, false)
	p.demand(ctx, r, c)
	p.send(ctx, c)
}

// demand makes every fourth call name the version that is there, and every sixteenth
// one that is not. It draws nothing: the seeds stay what they were.
func (p *play[Tx]) demand(ctx context.Context, r record[Tx], c *call) {
	n := len(p.calls)
	if n%4 != 0 {
		return
	}
	row, err := p.read(ctx, r.role, r.id)
	if err != nil || row.Record == nil {
		return
	}
	c.call.IfVersion = row.Version
	if n%16 == 0 {
		c.call.IfVersion++
	}
}

// pick draws a record, mostly one that is there and has not ended, and often one
// of the first two: some stories are to be long.
func (p *play[Tx]) pick(ctx context.Context) record[Tx] {
	const tries, heroes = 6, 2
	var r record[Tx]
	for range tries {
		among := p.records
		if p.dice.chance(500) {
			among = among[:min(heroes, len(among))]
		}
		r = oneOf(p.dice, among)
		row, err := p.read(ctx, r.role, r.id)
		if err == nil && row.Record != nil && (!r.role.ended(row.Record) || p.dice.chance(150)) {
			break
		}
	}
	return r
}

// invent makes up a call; mostly one that the record accepts as it is now.
func (p *play[Tx]) invent(ctx context.Context, r role[Tx], id string, create bool) *call {
	record, a := p.look(ctx, r, id)
	c, _ := p.inventFor(r, id, create, record, a)
	return c
}

// inventFor makes up a call at a record as its author knows it, and returns the
// record as it would be then.
func (p *play[Tx]) inventFor(r role[Tx], id string, create bool, record fsm.Record, a author) (*call, fsm.Record) {
	c := &call{machine: r.Name(), id: id, create: create}
	tries, after := 1, record
	if p.dice.chance(850) {
		tries = 60
	}
	for range tries {
		c.event, c.call.By = a.event(oneOf(p.dice, r.table.Events)), a.caller()
		decision, err := decide(r, record, c, a)
		if err == nil && !p.tooShort(decision) {
			after = decision.Record
			break
		}
	}
	if p.dice.chance(450) {
		c.call.IdempotencyKey = fmt.Sprint("key-", len(p.calls))
	}
	if p.dice.chance(40) {
		c.call.IdempotencyKey = "shared"
	}
	return c, after
}

// decide is what the machine says to a call.
func decide[Tx any](r role[Tx], record fsm.Record, c *call, a author) (fsm.Decision, error) {
	in := fsm.Input{By: c.call.By, Now: a.now}
	switch {
	case c.create:
		return r.Create(c.id, c.event, in)
	case record == nil:
		return fsm.Decision{}, engine.ErrNotFound
	}
	return r.Fire(record, c.event, in)
}

// tooShort reports whether a story that ends here would be one too many of those.
func (p *play[Tx]) tooShort(d fsm.Decision) bool {
	return len(d.Steps) > 0 && d.Steps[len(d.Steps)-1].Terminal && p.dice.chance(850)
}

// send makes a call, and again while its outcome is unknown, as a careful caller
// with a key does.
func (p *play[Tx]) send(ctx context.Context, c *call) {
	const tries = 4
	for range tries {
		c = p.note(c)
		w := oneOf(p.dice, p.workers)
		f := w.engine.Fire
		if c.create {
			f = w.engine.Create
		}
		c.outcome, c.err = f(ctx, c.machine, c.id, payload{c.event}, c.call)
		p.tell(c)
		if !c.unclear() || c.call.IdempotencyKey == "" {
			return
		}
		p.mourn()
	}
}

// note files a copy of a call, under a correlation of its own.
func (p *play[Tx]) note(c *call) *call {
	again := &call{machine: c.machine, id: c.id, create: c.create, event: c.event, call: c.call}
	again.call.Correlation = fmt.Sprint("call-", len(p.calls))
	p.calls = append(p.calls, again)
	return again
}

// tell writes down what a caller was told.
func (p *play[Tx]) tell(c *call) {
	told := kind(c.err)
	switch {
	case c.err != nil:
	case c.outcome.Replayed:
		told = fmt.Sprint("replayed v", c.outcome.Version)
		p.journal.count("replayed")
	case c.outcome.AlreadyThere:
		told = "already there"
		p.journal.count("already there")
	default:
		told = fmt.Sprintf("v%d %s", c.outcome.Version, c.outcome.Record.StateName())
		p.journal.count("accepted")
		if before := c.outcome.Version - int64(len(c.outcome.Steps)); c.call.IfVersion != 0 && before != c.call.IfVersion {
			p.journal.problem("%s is for version %d and was applied to version %d", c.call.Correlation, c.call.IfVersion, before)
		}
	}
	if c.err != nil {
		p.journal.count("told: " + told)
	}
	p.journal.say("%s: %s %s %s%s by %s%s key %q for v%d: %s", c.call.Correlation, c.machine, alias(c.id), c.event.Name, c.event.Payload,
		c.call.By.Role, c.call.By.ID, c.call.IdempotencyKey, c.call.IfVersion, told)
}

// repeat makes a former call with a key again, mostly as it was.
func (p *play[Tx]) repeat(ctx context.Context) {
	var keyed []*call
	for _, c := range p.calls {
		if c.call.IdempotencyKey != "" && (c.unclear() || c.accepted()) {
			keyed = append(keyed, c)
		}
	}
	if len(keyed) == 0 {
		return
	}
	c := *oneOf(p.dice, keyed)
	if p.dice.chance(200) {
		r := oneOf(p.dice, p.records)
		c.machine, c.id = r.role.Name(), r.id
	}
	p.send(ctx, &c)
}

// batch fires several events at once: at records that are there, or to make some of
// one kind.
func (p *play[Tx]) batch(ctx context.Context) {
	if len(p.records) == 0 {
		return
	}
	creates, r := p.dice.chance(400), oneOf(p.dice, p.roles)
	var calls []*call
	var firings []engine.Firing
	for range 2 + p.dice.below(4) {
		at := record[Tx]{r, p.newID()}
		if creates {
			p.meet(at.role, at.id)
		} else {
			at = p.pick(ctx)
		}
		c := p.note(p.invent(ctx, at.role, at.id, creates))
		calls = append(calls, c)
		firings = append(firings, engine.Firing{Machine: c.machine, ID: c.id, Event: payload{c.event}, Call: c.call, Create: creates})
	}
	p.journal.count("a batch")
	outcomes, err := oneOf(p.dice, p.workers).engine.FireBatch(ctx, firings)
	if err != nil {
		p.journal.problem("a batch fails: %v", err)
	}
	for i, c := range calls {
		c.outcome, c.err = outcomes[i], outcomes[i].Err
		p.tell(c)
	}
}

// fireTx fires events at a record in a transaction of the caller's own, which may end
// otherwise.
func (p *play[Tx]) fireTx(ctx context.Context) {
	if len(p.records) == 0 {
		return
	}
	t, regrets := p.part(ctx), p.dice.chance(300)
	w := oneOf(p.dice, p.workers)
	var outcomes []engine.Outcome
	err := w.store.InTx(ctx, func(tx Tx) error {
		for _, c := range t.calls {
			f := w.engine.FireTx
			if c.create {
				f = w.engine.CreateTx
			}
			if c.outcome, c.err = f(ctx, tx, c.machine, c.id, payload{c.event}, c.call); c.err != nil {
				return c.err
			}
			outcomes = append(outcomes, c.outcome)
		}
		if regrets {
			return errUndone
		}
		return nil
	})
	if err == nil {
		w.engine.Committed(ctx, outcomes...)
	}
	p.journal.count("a caller's own transaction")
	p.conclude(t, err)
}

var errUndone = errors.New("the caller changed their mind")

// kind says what an error means, in words that do not depend on the store.
func kind(err error) string {
	var x *fsm.Rejection
	var handler *engine.HandlerError
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, errDead):
		return "dead"
	case errors.As(err, &handler):
		return "handler failed"
	case errors.Is(err, store.ErrRefused):
		return "refused"
	case errors.As(err, &x):
		return "rejected: " + string(x.Reason)
	}
	for _, known := range []error{
		engine.ErrNotFound, store.ErrExists, store.ErrConflict, engine.ErrVersion, store.ErrKeyUsed, store.ErrCorrupt, store.ErrLeaseLost, errInjected, errNotReached,
	} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return "error: " + err.Error()
}
