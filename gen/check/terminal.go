package check

const (
	codeLeavesTerminal  = "FSM025"
	codeTerminalTimeout = "FSM045"
)

// terminal reports rows that leave a terminal state, and deadlines where
// nothing is left to wait for.
func (s *subject) terminal() {
	for _, st := range s.m.States {
		if !st.Terminal {
			continue
		}
		for _, r := range s.leaving[st] {
			if r.To != nil {
				s.report(codeLeavesTerminal, r.Span, "remove the row, drop its `to` so that it acts without leaving, or make the state not terminal",
					"row %q leaves terminal state %q", r.Text, st.Text)
			}
		}
		if st.Timeout != nil {
			s.report(codeTerminalTimeout, st.Timeout.Span, "remove the timeout, or make the state not terminal",
				"terminal state %q has a timeout", st.Text)
		}
	}
}
