package check

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/gen/ir"
)

const (
	codeNoAnswerRow   = "FSM055"
	codeAnswerRefused = "FSM056"
	codeFatalRefused  = "FSM059"
)

// answers reports answers of work that its state does not take. Work belongs
// to the state that is current after the row that starts it.
func (s *subject) answers() {
	where := map[*ir.Effect][]*ir.State{}
	for _, r := range s.m.Rows {
		for _, a := range r.Actions {
			if a.Effect != nil && a.Effect.IsWork() && !slices.Contains(where[a.Effect], r.Target()) {
				where[a.Effect] = append(where[a.Effect], r.Target())
			}
		}
	}
	for _, e := range s.m.Effects {
		for _, st := range where[e] {
			for _, f := range e.Returns {
				s.answer(e, st, f)
			}
			for _, f := range []*ir.Fire{e.Fails, e.Lost} {
				if f != nil {
					s.answer(e, st, f)
				}
			}
		}
	}
}

func (s *subject) answer(e *ir.Effect, st *ir.State, f *ir.Fire) {
	rows := s.acceptedBySystem(st, f.Event)
	v := verdict{never: len(rows) == 0}
	if !v.never && completely(f) {
		v = s.verdict(st, f, nil)
	}
	switch {
	case v.never:
		s.report(codeNoAnswerRow, f.Span, fmt.Sprintf("write a row {from: %s, on: %s}", st.Text, f.Event.Text),
			"effect %q can answer %s in state %q, which never takes it", e.Text, f.Event.Text, st.Text)
	case v.undecided:
		s.undecided(f.Span, "let a row with `otherwise: true` take it", "it is not decided whether state %q takes %s, which effect %q can answer, in every case", st.Text, f.Event.Text, e.Text)
	case v.refused:
		s.report(codeAnswerRefused, f.Span, "write a row for these values, or one with `otherwise: true`: a refused answer is lost",
			"effect %q can answer %s in state %q, which refuses it%s", e.Text, f.Event.Text, st.Text, v.when)
	}
}

// completely reports whether f leaves nothing of its payload to the handler.
func completely(f *ir.Fire) bool {
	return len(f.Args) == len(f.Event.Fields)+len(f.Event.Writes)
}

// fatal: the event of last resort must be taken wherever a step can fail, and
// no row binds its payload.
func (s *subject) fatal() {
	e := s.m.Fatal
	if e == nil {
		return
	}
	f := &ir.Fire{Event: e, Span: e.Span}
	s.fire(f, true)
	for _, st := range s.m.States {
		if st.Terminal {
			continue
		}
		v := s.verdict(st, f, nil)
		if v.undecided {
			s.undecided(e.Span, "let a row with `otherwise: true` take it", "it is not decided whether state %q takes %s, the fatal event, in every case", st.Text, e.Text)
		}
		if v.never || v.refused {
			s.report(codeFatalRefused, e.Span, fmt.Sprintf("write a row {from: \"*\", on: %s}", e.Text),
				"state %q refuses %s, the fatal event%s", st.Text, e.Text, v.when)
		}
	}
}
