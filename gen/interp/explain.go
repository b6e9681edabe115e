package interp

import (
	"slices"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// Verdict says whether an event can be accepted now.
type Verdict struct {
	Event *ir.Event
	// Legal: some row accepts the event, given a payload for which Needs
	// hold. An event without a payload is accepted exactly where it is legal.
	Legal bool
	// Rows are the ones that can still be chosen.
	Rows []*ir.Row
	// Needs are the clauses of Rows that depend on the payload.
	Needs []*ir.Clause
	// Why explains an event that is not legal.
	Why *Rejection
}

// Legal lists the events that the actor may fire now with some payload.
func Legal(m *ir.Machine, rec *Record, in Input) []*ir.Event {
	var out []*ir.Event
	for _, v := range Explain(m, rec, in) {
		if v.Legal {
			out = append(out, v.Event)
		}
	}
	return out
}

// Explain judges every event of the machine in spec order, for the actor,
// the time and the params of in; its event and payload do not count. A nil
// rec is a record before creation.
func Explain(m *ir.Machine, rec *Record, in Input) []Verdict {
	if rec == nil {
		rec = Blank(m, nil)
	}
	in.Now = microseconds(in.Now)
	in.Args = nil
	verdicts := make([]Verdict, len(m.Events))
	for i, ev := range m.Events {
		in.Event = ev
		verdicts[i] = explain(m, rec, in)
		verdicts[i].try(m, rec, in)
	}
	return verdicts
}

func explain(m *ir.Machine, rec *Record, in Input) Verdict {
	v := Verdict{Event: in.Event, Why: &Rejection{State: rec.State, Event: in.Event, Actor: in.Actor}}
	rows := rowsOf(m, rec.State, in.Event)
	if len(rows) == 0 {
		v.Why.Reason = InvalidTransition
		return v
	}
	rows = slices.DeleteFunc(rows, func(row *ir.Row) bool {
		return !roleMay(row, in.Actor) || (row.From != nil && !isParty(rec, in.Actor))
	})
	if len(rows) == 0 {
		v.Why.Reason = NotAllowed
		return v
	}
	slices.SortStableFunc(rows, byTurn)
	env := &scope{record: rec, actor: in.Actor, now: in.Now, params: in.Params, state: rec.State, from: rec.State}
	for _, row := range rows {
		known, open := split(row.When, in.Event)
		if c := firstFalse(known, env); c != nil {
			if row.Reject == nil { // that a refusal did not apply is no obstacle
				v.Why.Clauses = append(v.Why.Clauses, failure(row, c, env))
			}
			continue
		}
		v.Rows = append(v.Rows, row)
		v.Needs = append(v.Needs, open...)
		if len(open) == 0 {
			break // whatever the payload, those behind it are not reached
		}
	}
	v.judge()
	return v
}

// byTurn orders rows as they are tried: by priority, otherwise last.
func byTurn(a, b *ir.Row) int {
	if a.Otherwise != b.Otherwise {
		if a.Otherwise {
			return 1
		}
		return -1
	}
	return b.Priority - a.Priority
}

// try fires an event without a payload, so that what its row demands beside its
// guard counts too.
func (v *Verdict) try(m *ir.Machine, rec *Record, in Input) {
	if !v.Legal || len(Payload(v.Event)) > 0 {
		return
	}
	if _, rej := run(m, rec, in.normal()); rej != nil {
		v.Legal, v.Why = false, rej
	}
}

// judge decides by the rows that are left: the event is legal if one of them
// accepts.
func (v *Verdict) judge() {
	accepts := slices.IndexFunc(v.Rows, func(row *ir.Row) bool { return row.Reject == nil })
	switch {
	case accepts >= 0:
		v.Legal, v.Why = true, nil
	case len(v.Rows) > 0:
		v.Why.Reason, v.Why.Failure = Refused, v.Rows[0].Reject
	default:
		v.Why.Reason = GuardFailed
	}
}

// split tells clauses that the record decides from those that depend on the
// payload of ev.
func split(clauses []*ir.Clause, ev *ir.Event) (known, open []*ir.Clause) {
	for _, c := range clauses {
		if domain.VarOf(&c.Left, ev).Event != nil || domain.VarOf(&c.Right, ev).Event != nil {
			open = append(open, c)
		} else {
			known = append(known, c)
		}
	}
	return known, open
}
