package check

import "github.com/fsmgen/fsmgen/gen/ir"

// The eight rules of document 001, section Contract-Level Validation, name
// the states of one machine. For any machine they are:
//
//  1. initial state exists: FSM005, at lowering, and codeNoInitial
//  2. success states exist: codeNoSuccess, unless records end in a terminal
//     state that is no error
//  3. terminal states exist: codeNoTerminal
//  4. error states exist: codeNoError, where an effect can fail
//  5. no orphan states: codeOrphan
//  6. no transitions from terminal states: codeLeavesTerminal
//  7. unique transition names: codeDuplicateRow
//  8. valid from and to states: FSM003, at lowering
const (
	codeNoInitial  = "FSM020"
	codeNoSuccess  = "FSM021"
	codeNoTerminal = "FSM022"
	codeNoError    = "FSM023"
	codeOrphan     = "FSM024"

	codeDuplicateRow = "FSM004" // as every other duplicate name, at lowering
)

func (s *subject) contract() {
	s.initialState()
	if !s.anyState((*ir.State).Succeeds) {
		s.report(codeNoSuccess, s.m.Span, "give the state that every caller hopes for `kind: success`",
			"machine %q has no success state, and every end is an error", s.m.Text)
	}
	if !s.anyState(func(st *ir.State) bool { return st.Terminal }) {
		s.report(codeNoTerminal, s.m.Span, "mark the state in which a record ends with `terminal: true`; accept the warning if records live for ever",
			"machine %q has no terminal state: its records never end", s.m.Text)
	}
	for _, e := range s.m.Effects {
		if e.Fails == nil && e.Lost == nil {
			continue
		}
		if !s.anyState(func(st *ir.State) bool { return st.Kind.Fails() }) {
			s.report(codeNoError, e.Span, "give the state that a failure leads to `kind: error`",
				"effect %q can fail, but machine %q has no error state", e.Text, s.m.Text)
		}
		break
	}
	s.orphans()
	s.transitionNames()
}

func (s *subject) anyState(is func(*ir.State) bool) bool {
	for _, st := range s.m.States {
		if is(st) {
			return true
		}
	}
	return false
}

// initialState demands that records are created in the states of kind
// initial. That some row creates them is certain after lowering.
func (s *subject) initialState() {
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

// transitionNames reports rows of the spec that share a name.
func (s *subject) transitionNames() {
	first := map[string]*ir.Row{}
	for _, r := range s.m.Rows {
		if f := first[r.Text]; f != nil && f.Group != r.Group {
			s.report(codeDuplicateRow, r.Span, "give one of the two rows another name", "row %q is declared twice, first at %s", r.Text, f.Span)
			continue
		}
		first[r.Text] = r
	}
}
