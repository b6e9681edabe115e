package check

import "github.com/fsmgen/fsmgen/gen/diag"

const codeUndecided = "FSM035"

// undecided reports that a rule could neither find a case nor prove that there
// is none. Silence would read as a proof.
func (s *subject) undecided(at diag.Span, help, format string, args ...any) {
	s.report(codeUndecided, at, help, format+": there are too many cases, and none of a sample shows it", args...)
}
