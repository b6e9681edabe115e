package check

import (
	"fmt"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

const (
	codeDeadlineNever   = "FSM040"
	codeDeadlineRefused = "FSM041"
	codeUnbound         = "FSM042"
	codeNotSystem       = "FSM043"
	codeNoDeadline      = "FSM044"
)

// deadlines reports deadlines whose event the state does not take: it would be
// consumed, logged and forgotten.
func (s *subject) deadlines() {
	for _, st := range s.m.States {
		t := st.Timeout
		if t == nil || st.Terminal {
			continue
		}
		s.mayLackDeadline(st)
		v := s.verdict(st, t.Fire, deadlinePassed(t))
		switch {
		case v.never:
			s.report(codeDeadlineNever, t.Fire.Span, fmt.Sprintf("write a row {from: %s, on: %s}, or fire an event that the state takes", st.Text, t.Fire.Event.Text),
				"the timeout of state %q fires %s, which the state never takes", st.Text, t.Fire.Event.Text)
		case v.undecided:
			s.undecided(t.Fire.Span, "let a row with `otherwise: true` take it", "it is not decided whether state %q takes %s, which its timeout fires, in every case", st.Text, t.Fire.Event.Text)
		case v.refused:
			s.report(codeDeadlineRefused, t.Fire.Span, "write a row for these values, or one with `otherwise: true`: a refused deadline is consumed, and the record stays",
				"the timeout of state %q fires %s, which is refused%s", st.Text, t.Fire.Event.Text, v.when)
		}
	}
}

// deadlinePassed is what a deadline that follows a field says of the record.
func deadlinePassed(t *ir.Timeout) []*ir.Clause {
	if t.At == nil {
		return nil
	}
	when := ir.Type{Base: ir.Time}
	return []*ir.Clause{{
		Left: ir.Operand{Field: t.At, Type: when}, Op: ir.Le,
		Right: ir.Operand{Special: ir.Now, Type: when},
	}}
}

// mayLackDeadline reports a deadline that is absent for some records.
func (s *subject) mayLackDeadline(st *ir.State) {
	f := st.Timeout.At
	if f == nil && st.Timeout.After != nil {
		f = st.Timeout.After.Field
	}
	if f != nil && s.facts.in(st, f)&maybeAbsent != 0 && s.facts[st] != nil {
		s.report(codeNoDeadline, st.Timeout.Span, fmt.Sprintf("add \"%s exists true\" to the holds of the state", f.Text),
			"field %q may be absent in state %q: such a record has no deadline", f.Text, st.Text)
	}
}

// verdict says how a state takes an event that the machine itself fires.
type verdict struct {
	never     bool   // no record of the state takes it
	refused   bool   // some record refuses it
	undecided bool   // neither is known
	when      string // the values of that record, with a leading blank
}

// verdict fires f at the records of st that satisfy assume.
func (s *subject) verdict(st *ir.State, f *ir.Fire, assume []*ir.Clause) verdict {
	rows := s.acceptedBySystem(st, f.Event)
	if len(rows) == 0 {
		return verdict{never: true}
	}
	if alwaysAccepts(rows) && !refusable(f) {
		return verdict{}
	}
	sp := s.space(scene{from: st, assume: assume, system: true,
		views: []domain.View{{Clauses: bound(f, clausesOf(rows)), Assigns: f.Args}}})
	takes := func(read reader) bool {
		read = payload(f, read)
		r := choose(rows, read)
		return r != nil && r.Reject == nil && stores(f.Event, f.Args, read)
	}
	refused := sp.find(func(read reader) bool { return !takes(read) })
	return verdict{
		never:     refused.found && sp.exhaustive && !sp.find(takes).found,
		refused:   refused.found,
		undecided: refused.undecided,
		when:      refused.when,
	}
}

// alwaysAccepts reports whether some row takes every case and none rejects.
func alwaysAccepts(rows []*ir.Row) bool {
	for _, r := range rows {
		if r.Reject != nil {
			return false
		}
	}
	return covered(rows)
}

// fires reports events fired by the machine without what they need.
func (s *subject) fires() {
	for _, st := range s.m.States {
		if st.Timeout != nil {
			s.fire(st.Timeout.Fire, true)
		}
	}
	for _, r := range s.m.Rows {
		s.fire(r.Raise, true)
	}
	for _, e := range s.m.Effects {
		for _, f := range e.Returns {
			s.fire(f, false)
		}
		s.fire(e.Fails, true)
		s.fire(e.Lost, true)
	}
}

// fire checks one fired event. Complete: no caller can add to its payload.
func (s *subject) fire(f *ir.Fire, complete bool) {
	if f == nil {
		return
	}
	if complete {
		s.boundWhole(f)
	}
	if !systemMay(f.Event.By) {
		s.report(codeNotSystem, f.Span, fmt.Sprintf("add system to the `by` of event %q", f.Event.Text),
			"the machine fires %s as `system`, which may not fire it", f.Event.Text)
	}
}

func (s *subject) boundWhole(f *ir.Fire) {
	missing := func(field *ir.Field) {
		for _, a := range f.Args {
			if a.Target == field {
				return
			}
		}
		s.report(codeUnbound, f.Span, fmt.Sprintf("write {%s: {%s: …}}", f.Event.Text, field.Text),
			"event %s is fired without %q, which it needs", f.Event.Text, field.Text)
	}
	for _, field := range f.Event.Fields {
		if !field.Type.Optional && !field.HasDefault {
			missing(field)
		}
	}
	for _, w := range f.Event.Writes {
		if !w.Optional {
			missing(w.Field)
		}
	}
}
