package check

import "github.com/fsmgen/fsmgen/gen/ir"

// The eight rules of document 001, section Contract-Level Validation, name
// the states of one machine. For any machine they are:
//
//  1. initial state exists: codeNoInitial
//  2. success states exist: codeNoSuccess, unless records end in a terminal
//     state that is no error
//  3. terminal states exist: codeNoTerminal
//  4. error states exist: codeNoError, where an effect can fail
//  5. no orphan states: codeOrphan
//  6. no transitions from terminal states: codeLeavesTerminal
//  7. unique transition names: FSM004, at lowering
//  8. valid from and to states: FSM003, at lowering
const (
	codeNoInitial  = "FSM020"
	codeNoSuccess  = "FSM021"
	codeNoTerminal = "FSM022"
	codeNoError    = "FSM023"
	codeOrphan     = "FSM024"
)

func (s *subject) contract() {
	s.initialState()
	if !s.anyState(func(st *ir.State) bool { return st.Kind == ir.Success || st.Terminal && st.Kind != ir.Failed }) {
		s.report(codeNoSuccess, s.m.Span, "give the state that every caller hopes for `kind: success`",
			"machine %q has no success state, and every end is an error", s.m.Text)
	}
	if !s.anyState(func(st *ir.State) bool { return st.Terminal }) {
		s.report(codeNoTerminal, s.m.Span, "mark the state in which a record ends with `terminal: true`; keep the warning if records live for ever",
			"machine %q has no terminal state: its records never end", s.m.Text)
	}
	for _, e := range s.m.Effects {
		if e.Fails == nil && e.Lost == nil {
			continue
		}
		if !s.anyState(func(st *ir.State) bool { return st.Kind == ir.Failed }) {
			s.report(codeNoError, e.Span, "give the state that a failure leads to `kind: error`",
				"effect %q can fail, but machine %q has no error state", e.Text, s.m.Text)
		}
		break
	}
	s.orphans()
}

func (s *subject) anyState(is func(*ir.State) bool) bool {
	for _, st := range s.m.States {
		if is(st) {
			return true
		}
	}
	return false
}

// initialState demands a row that creates records, and that a state of kind
// initial is where they are created.
func (s *subject) initialState() {
	if len(s.leaving[nil]) == 0 {
		s.report(codeNoInitial, s.m.Span, "give one state `kind: initial`, or write a row `from: none`",
			"machine %q has no initial state: no record can be created", s.m.Text)
		return
	}
	created := map[*ir.State]bool{}
	for _, r := range s.leaving[nil] {
		created[r.To] = true
	}
	for _, st := range s.m.States {
		if st.Kind == ir.Initial && !created[st] {
			s.report(codeNoInitial, st.Span, "let a row `from: none` lead to it, or give it another kind",
				"state %q is of kind initial, but no record is created in it", st.Text)
		}
	}
}

// orphans reports states that no row enters or leaves.
func (s *subject) orphans() {
	touched := map[*ir.State]bool{}
	for _, r := range s.m.Rows {
		touched[r.To] = true
		if r.From != nil {
			touched[r.From] = true
		}
	}
	for _, st := range s.m.States {
		if !touched[st] {
			s.report(codeOrphan, st.Span, "write a row that leads to it, or remove it", "no row enters or leaves state %q", st.Text)
		}
	}
}
