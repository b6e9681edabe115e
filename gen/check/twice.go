package check

import (
	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/ir"
)

const codeTwice = "FSM046"

// twice reports an effect or a metric that one step lists more than once, in
// its row, in the states that it leaves and enters, or for every row.
func (s *subject) twice() {
	reported := map[diag.Span]bool{}
	for _, r := range s.m.Rows {
		seen := map[ir.Action]diag.Span{}
		for _, a := range r.Actions {
			at := a.Span
			a.Span = diag.Span{}
			first, again := seen[a]
			seen[a] = at
			if !again || reported[at] {
				continue
			}
			reported[at] = true
			s.report(codeTwice, at, "name it in one place only",
				"%q runs twice in row %q: it also stands at %d:%d", actionName(a), r.Text, first.Start.Line, first.Start.Col)
		}
	}
}

func actionName(a ir.Action) string {
	if a.Metric != nil {
		return a.Metric.Text
	}
	return a.Effect.Text
}
