package check

import (
	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/ir"
)

const codeNoTest = "FSM039"

// Tests adds to l the invariants that name a test which does not exist. Only
// the caller can know which tests there are.
func Tests(machines []*ir.Machine, exists func(name string) bool, l *diag.List) {
	for _, m := range machines {
		for _, inv := range m.Invariants {
			if inv.Test != "" && testName.MatchString(inv.Test) && !exists(inv.Test) {
				l.Warnf(codeNoTest, inv.Span, "write `func "+inv.Test+"(t *testing.T)` in a test file of the module", "nothing enforces invariant %q: the module has no test %s", inv.Text, inv.Test)
			}
		}
	}
}
