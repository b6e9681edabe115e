package interp

import (
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// Result is an accepted call.
type Result struct {
	// Record is the record after the last step.
	Record *Record
	// Steps are none if the record was already there (repeat: success).
	Steps []Step
}

// AlreadyThere reports whether the event had been done before.
func (r Result) AlreadyThere() bool { return len(r.Steps) == 0 }

// Step is one row taken.
type Step struct {
	Row           *ir.Row
	Input         Input   // what it was taken on; of a raised event, what the raise bound
	Before, After *Record // Before has no state on creation
	Effects       []Effect
	Deadline      Deadline
}

// Create fires a creation event. The record starts with the id and the
// defaults of its fields. An event that creates nothing is refused as such,
// whatever it carries.
func Create(m *ir.Machine, id ir.Value, in Input) (Result, *Rejection) {
	if len(rowsOf(m, nil, in.Event)) == 0 {
		return Result{}, &Rejection{Reason: InvalidTransition, Event: in.Event, Actor: in.Actor}
	}
	return run(m, Blank(m, id), in.normal())
}

// Fire applies one event to rec, which it does not change. A nil rec has no
// state and so accepts no event: see [Create].
func Fire(m *ir.Machine, rec *Record, in Input) (Result, *Rejection) {
	if rec == nil {
		return Result{}, &Rejection{Reason: InvalidTransition, Event: in.Event, Actor: in.Actor}
	}
	if rec.State == nil {
		return Result{}, &Rejection{Reason: Corrupt, Event: in.Event, Actor: in.Actor}
	}
	return run(m, rec, in.normal())
}

// run takes the step and every further one that it raises: all or nothing.
func run(m *ir.Machine, rec *Record, in Input) (Result, *Rejection) {
	result := Result{Record: rec}
	for {
		step, rej := one(m, result.Record, in)
		if rej != nil {
			return Result{}, rej
		}
		if step == nil {
			return result, nil
		}
		result.Steps = append(result.Steps, *step)
		result.Record = step.After
		raise := step.Row.Raise
		if raise == nil {
			return result, nil
		}
		in = raised(raise, step, in)
	}
}

// one decides a single step; nil without a rejection means already there.
func one(m *ir.Machine, rec *Record, in Input) (*Step, *Rejection) {
	r := &Rejection{State: rec.State, Event: in.Event, Actor: in.Actor}
	if f := invalidField(in); f != nil {
		r.Reason, r.Field = InvalidEvent, f
		return nil, r
	}
	rows := rowsOf(m, rec.State, in.Event)
	if len(rows) == 0 {
		if repeats(m, rec, in) {
			return nil, nil
		}
		r.Reason = InvalidTransition
		return nil, r
	}
	rows = slices.DeleteFunc(rows, func(row *ir.Row) bool {
		return !roleMay(row, in.Actor) || (row.From != nil && !isParty(rec, in.Actor))
	})
	if len(rows) == 0 {
		r.Reason = NotAllowed
		return nil, r
	}
	env := &scope{record: rec, event: in.Event, args: in.Args, overlay: true,
		actor: in.Actor, now: in.Now, params: in.Params, state: rec.State, from: rec.State}
	row, rival, failed := choose(rows, env)
	switch {
	case rival != nil:
		r.Reason, r.Rows = Ambiguous, []*ir.Row{row, rival}
		return nil, r
	case row == nil:
		r.Reason, r.Clauses = GuardFailed, failed
		return nil, r
	case row.Reject != nil:
		r.Reason, r.Failure, r.Clauses = Refused, row.Reject, failed
		return nil, r
	case row.StoresCaller() && in.Actor.ID == nil:
		r.Reason = NotAllowed
		return nil, r
	}
	return take(m, row, env, in, r)
}

// take computes the new record of a chosen row and judges it.
func take(m *ir.Machine, row *ir.Row, env *scope, in Input, r *Rejection) (*Step, *Rejection) {
	old := env.record
	next, reason, field := assign(m, row, env)
	if reason != "" {
		r.Reason, r.Field = reason, field
		return nil, r
	}
	if row.From == nil && !isParty(next, in.Actor) {
		r.Reason = NotAllowed
		return nil, r
	}
	next.State, next.Version = row.Target(), old.Version+1
	after := &scope{record: next, event: in.Event, args: in.Args,
		actor: in.Actor, now: in.Now, params: in.Params, state: next.State, from: old.State}
	if c := firstFalse(next.State.Holds, after); c != nil {
		r.Reason, r.Clauses = HoldsFailed, []FailedClause{failure(row, c, after)}
		return nil, r
	}
	effects, ok := emit(row, after)
	if !ok {
		r.Reason = Overflow
		return nil, r
	}
	return &Step{Row: row, Input: in, Before: old, After: next, Effects: effects, Deadline: deadline(row, after)}, nil
}

// raised is the input of the step that follows: fired by system, its payload
// read from the new record and the event before it.
func raised(f *ir.Fire, step *Step, in Input) Input {
	after := &scope{record: step.After, event: in.Event, args: in.Args,
		actor: in.Actor, now: in.Now, params: in.Params, state: step.After.State, from: step.Before.State}
	next := Input{Event: f.Event, Actor: System(), Now: in.Now, Params: in.Params}
	next.Args = bind(f, after)
	return next
}

// bind evaluates what a fire form binds, in payload order.
func bind(f *ir.Fire, s *scope) []ir.Value {
	payload := Payload(f.Event)
	args := make([]ir.Value, len(payload))
	for _, a := range f.Args {
		for i := range payload {
			own := i < len(f.Event.Fields) && f.Event.Fields[i] == a.Target
			written := i >= len(f.Event.Fields) && f.Event.Writes[i-len(f.Event.Fields)].Field == a.Target
			if own || written {
				args[i], _ = domain.EvalExpr(&a.Value, s.read)
			}
		}
	}
	return args
}

// Deadline is what a step does to the record's timer.
type Deadline struct {
	// Kept: an internal row leaves the timer as it is.
	Kept bool
	// At is when Fire happens; nil: there is no timer.
	At   *time.Time
	Fire *ir.Fire
	Args []ir.Value // the payload of Fire.Event
}

func deadline(row *ir.Row, after *scope) Deadline {
	t := after.state.Timeout
	switch {
	case t == nil:
		return Deadline{}
	case t.At == nil && row.To == nil:
		return Deadline{Kept: true}
	}
	var at ir.Value
	if t.At != nil {
		at = after.record.Get(t.At)
	} else if d, ok := after.read(t.After).(time.Duration); ok {
		at = microseconds(after.now.Add(d))
	}
	when, ok := at.(time.Time)
	if !ok {
		return Deadline{}
	}
	return Deadline{At: &when, Fire: t.Fire, Args: bind(t.Fire, after)}
}
