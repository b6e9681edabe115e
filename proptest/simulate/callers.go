package simulate

import (
	"context"
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// call is a call of the engine and its outcome.
type call struct {
	machine, id string
	create      bool
	event       fsm.Event
	call        engine.Call // its correlation is used once
	outcome     engine.Outcome
	err         error
	undone      bool // a transaction of the caller's own was rolled back
}

// accepted reports whether the caller was told that this call changed something.
func (c *call) accepted() bool {
	return c.err == nil && !c.undone && !c.outcome.AlreadyThere && !c.outcome.Replayed
}

// unclear reports whether the caller can't know what the call has changed.
func (c *call) unclear() bool { return errors.Is(c.err, store.ErrStore) || errors.Is(c.err, errDead) }

// create creates a new record, or one that may exist.
func (run *run[Tx]) create(ctx context.Context) {
	r := oneOf(run.rng, run.machines)
	id := run.newID()
	if len(run.records) > 0 && run.rng.chance(100) {
		again := oneOf(run.rng, run.records)
		r, id = again.machine, again.id
	}
	run.noteRecord(r, id)
	c := run.invent(ctx, r, id, true)
	run.send(ctx, c)
}

// newID returns the id of no record.
func (run *run[Tx]) newID() string {
	return fmt.Sprintf("00000000-0000-4000-9000-%012x", len(run.records)+1)
}

// fire fires an event of a record.
func (run *run[Tx]) fire(ctx context.Context) {
	if len(run.records) == 0 {
		run.create(ctx)
		return
	}
	r := run.pick(ctx)
	c := run.invent(ctx, r.machine, r.id, false)
	run.setIfVersion(ctx, r, c)
	run.send(ctx, c)
}

// setIfVersion makes every fourth call name the present version, and every sixteenth call
// another one. It uses no random number, so the runs of the seeds stay the same.
func (run *run[Tx]) setIfVersion(ctx context.Context, r record[Tx], c *call) {
	n := len(run.calls)
	if n%4 != 0 {
		return
	}
	row, err := run.read(ctx, r.machine, r.id)
	if err != nil || row.Record == nil {
		return
	}
	c.call.IfVersion = row.Version
	if n%16 == 0 {
		c.call.IfVersion++
	}
}

// pick chooses a record, mostly one that exists and has not ended. It often chooses one
// of the first two, so that some histories become long.
func (run *run[Tx]) pick(ctx context.Context) record[Tx] {
	const tries, favourites = 6, 2
	var r record[Tx]
	for range tries {
		among := run.records
		if run.rng.chance(500) {
			among = among[:min(favourites, len(among))]
		}
		r = oneOf(run.rng, among)
		row, err := run.read(ctx, r.machine, r.id)
		if err == nil && row.Record != nil && (!r.machine.ended(row.Record) || run.rng.chance(150)) {
			break
		}
	}
	return r
}

// invent makes up a call, mostly one that the record accepts in its present state.
func (run *run[Tx]) invent(ctx context.Context, r machine[Tx], id string, create bool) *call {
	record, a := run.look(ctx, r, id)
	c, _ := run.inventFor(r, id, create, record, a)
	return c
}

// inventFor makes up a call of a record as its generator knows it, and returns the record
// after it.
func (run *run[Tx]) inventFor(r machine[Tx], id string, create bool, record fsm.Record, a generator) (*call, fsm.Record) {
	c := &call{machine: r.Name(), id: id, create: create}
	tries, after := 1, record
	if run.rng.chance(850) {
		tries = 60
	}
	for range tries {
		c.event, c.call.By = a.event(oneOf(run.rng, r.table.Events)), a.caller()
		decision, err := decide(r, record, c, a)
		if err == nil && !run.tooShort(decision) {
			after = decision.Record
			break
		}
	}
	if run.rng.chance(450) {
		c.call.IdempotencyKey = fmt.Sprint("key-", len(run.calls))
	}
	if run.rng.chance(40) {
		c.call.IdempotencyKey = "shared"
	}
	return c, after
}

// decide returns the decision of the machine about a call.
func decide[Tx any](r machine[Tx], record fsm.Record, c *call, a generator) (fsm.Decision, error) {
	in := fsm.Input{By: c.call.By, Now: a.now}
	switch {
	case c.create:
		return r.Create(c.id, c.event, in)
	case record == nil:
		return fsm.Decision{}, engine.ErrNotFound
	}
	return r.Fire(record, c.event, in)
}

// tooShort reports whether a decision would end one record too many early.
func (run *run[Tx]) tooShort(d fsm.Decision) bool {
	return len(d.Steps) > 0 && d.Steps[len(d.Steps)-1].Terminal && run.rng.chance(850)
}

// send makes a call, and repeats it while its outcome is unknown, as a careful caller
// with a key does.
func (run *run[Tx]) send(ctx context.Context, c *call) {
	const tries = 4
	for range tries {
		c = run.note(c)
		w := oneOf(run.rng, run.workers)
		f := w.engine.Fire
		if c.create {
			f = w.engine.Create
		}
		c.outcome, c.err = f(ctx, c.machine, c.id, c.event, c.call)
		run.logOutcome(c)
		if !c.unclear() || c.call.IdempotencyKey == "" {
			return
		}
		run.replaceDead()
	}
}

// note records a copy of a call with a correlation id of its own.
func (run *run[Tx]) note(c *call) *call {
	again := &call{machine: c.machine, id: c.id, create: c.create, event: c.event, call: c.call}
	again.call.Correlation = fmt.Sprint("call-", len(run.calls))
	run.calls = append(run.calls, again)
	return again
}

// logOutcome logs what a caller was told.
func (run *run[Tx]) logOutcome(c *call) {
	told := kind(c.err)
	switch {
	case c.err != nil:
	case c.outcome.Replayed:
		told = fmt.Sprint("replayed v", c.outcome.Version)
		run.log.count("replayed")
	case c.outcome.AlreadyThere:
		told = "already there"
		run.log.count("already there")
	default:
		told = fmt.Sprintf("v%d %s", c.outcome.Version, c.outcome.Record.StateName())
		run.log.count("accepted")
		if before := c.outcome.Version - int64(len(c.outcome.Steps)); c.call.IfVersion != 0 && before != c.call.IfVersion {
			run.log.problem("%s is for version %d and was applied to version %d", c.call.Correlation, c.call.IfVersion, before)
		}
	}
	if c.err != nil {
		run.log.count("told: " + told)
	}
	run.log.printf("%s: %s %s %s%s by %s%s key %q for v%d: %s", c.call.Correlation, c.machine, alias(c.id), c.event.Name, c.event.Payload,
		c.call.By.Role, c.call.By.ID, c.call.IdempotencyKey, c.call.IfVersion, told)
}

// repeat makes an earlier call with a key again, mostly unchanged.
func (run *run[Tx]) repeat(ctx context.Context) {
	var keyed []*call
	for _, c := range run.calls {
		if c.call.IdempotencyKey != "" && (c.unclear() || c.accepted()) {
			keyed = append(keyed, c)
		}
	}
	if len(keyed) == 0 {
		return
	}
	c := *oneOf(run.rng, keyed)
	if run.rng.chance(200) {
		r := oneOf(run.rng, run.records)
		c.machine, c.id = r.machine.Name(), r.id
	}
	run.send(ctx, &c)
}

// batch fires several events in one call, of existing records or to create several.
func (run *run[Tx]) batch(ctx context.Context) {
	if len(run.records) == 0 {
		return
	}
	creates, r := run.rng.chance(400), oneOf(run.rng, run.machines)
	var calls []*call
	var firings []engine.Firing
	for range 2 + run.rng.below(4) {
		at := record[Tx]{r, run.newID()}
		if creates {
			run.noteRecord(at.machine, at.id)
		} else {
			at = run.pick(ctx)
		}
		c := run.note(run.invent(ctx, at.machine, at.id, creates))
		calls = append(calls, c)
		firings = append(firings, engine.Firing{Machine: c.machine, ID: c.id, Event: c.event, Call: c.call, Create: creates})
	}
	run.log.count("a batch")
	outcomes, err := oneOf(run.rng, run.workers).engine.FireBatch(ctx, firings)
	if err != nil {
		run.log.problem("a batch fails: %v", err)
	}
	for i, c := range calls {
		c.outcome, c.err = outcomes[i], outcomes[i].Err
		run.logOutcome(c)
	}
}

// fireTx fires events of a record in the caller's own transaction, which may be rolled
// back.
func (run *run[Tx]) fireTx(ctx context.Context) {
	if len(run.records) == 0 {
		return
	}
	t, regrets := run.part(ctx), run.rng.chance(300)
	w := oneOf(run.rng, run.workers)
	var outcomes []engine.Outcome
	err := w.store.InTx(ctx, func(tx Tx) error {
		for _, c := range t.calls {
			f := w.engine.FireTx
			if c.create {
				f = w.engine.CreateTx
			}
			if c.outcome, c.err = f(ctx, tx, c.machine, c.id, c.event, c.call); c.err != nil {
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
	run.log.count("a caller's own transaction")
	run.conclude(t, err)
}

var errUndone = errors.New("the caller changed their mind")

// kind names an error in words that do not depend on the store.
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
