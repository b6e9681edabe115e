package check

import "github.com/fsmgen/fsmgen/gen/ir"

const (
	codeUnreachable = "FSM026"
	codeDeadEnd     = "FSM027"
)

// reachable reports states that no path from a creation row reaches, and
// states that a record can never leave though they are not terminal.
func (s *subject) reachable() {
	entered := map[*ir.State]bool{}
	for _, r := range s.m.Rows {
		entered[r.To] = true
	}
	seen := map[*ir.State]bool{}
	work := []*ir.State{nil}
	for len(work) > 0 {
		state := work[len(work)-1]
		work = work[:len(work)-1]
		for _, r := range s.leaving[state] {
			if r.To != nil && !seen[r.To] {
				seen[r.To] = true
				work = append(work, r.To)
			}
		}
	}
	for _, st := range s.m.States {
		leaves, enters := s.leaves(st), entered[st]
		if !seen[st] && (leaves || enters) {
			s.report(codeUnreachable, st.Span, "write a row that leads here from a state that is reachable, or remove the state",
				"state %q is unreachable", st.Text)
		}
		if !leaves && !st.Terminal && enters {
			s.report(codeDeadEnd, st.Span, "add `terminal: true` if a record ends here, or write a row that leaves it",
				"no row leaves state %q, and it is not terminal", st.Text)
		}
	}
}

func (s *subject) leaves(st *ir.State) bool {
	for _, r := range s.leaving[st] {
		if r.To != nil && r.To != st {
			return true
		}
	}
	return false
}
