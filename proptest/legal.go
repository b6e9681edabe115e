package proptest

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Legal compares what the package says of what an actor may do with what the
// interpreter says, in each state, for each actor and event, and both with what
// becomes of the event: none that is not legal is accepted, and one that carries
// nothing is accepted exactly where it is legal.
func (p Package[I, R, E, P, C, S, T, F]) Legal(t *testing.T, spec *Spec, legal func(*R, C) []fsm.Verdict) {
	t.Helper()
	m := spec.Machine
	asked, may := 0, 0
	for _, s := range situations(m, now) {
		for _, c := range callers(m) {
			limit, _ := s.limit(c)
			judged := map[string]interp.Verdict{} // by record and actor
			for tc := range s.cases(c, limit, 1) {
				call := tc.call(m)
				key := fmt.Sprintf("%s %s", call.Record, call.ActorID)
				want, known := judged[key]
				if !known {
					want = verdictOn(m, tc)
					judged[key] = want
					asked++
					if want.Legal {
						may++
					}
					if err := p.compare(call, want, legal); err != nil {
						t.Errorf("%s: %s: %v", m, tc.describe(m), err)
					}
				}
				if err := truthful(m, tc, want); err != nil {
					t.Errorf("%s: %s: %v", m, tc.describe(m), err)
				}
				if t.Failed() {
					return
				}
			}
		}
	}
	Count(t, "%s: %s verdicts, %s legal", m, thousands(asked), thousands(may))
	if may == 0 || may == asked {
		t.Errorf("%s: %d of %d verdicts are legal: nothing was compared", m, may, asked)
	}
}

// verdictOn is the interpreter's verdict on the event of a case.
func verdictOn(m *ir.Machine, tc testCase) interp.Verdict {
	return interp.Explain(m, tc.record, tc.input)[tc.input.Event.Index]
}

// truthful compares a verdict with what becomes of the event.
func truthful(m *ir.Machine, tc testCase, v interp.Verdict) error {
	result, rej := tc.decide(m)
	accepted := rej == nil && !result.AlreadyThere()
	switch {
	case accepted && !v.Legal:
		return fmt.Errorf("it is accepted and not legal: %w", v.Why)
	case !accepted && v.Legal && len(interp.Payload(v.Event)) == 0:
		return fmt.Errorf("it carries nothing, is legal, and is not accepted: %w", rej)
	}
	return nil
}

// compare compares the verdict of the package on the event of a call.
func (p Package[I, R, E, P, C, S, T, F]) compare(call Call, want interp.Verdict, legal func(*R, C) []fsm.Verdict) error {
	var r R
	if call.Record != nil {
		if err := json.Unmarshal(call.Record, &r); err != nil {
			return fmt.Errorf("decode record: %w", err)
		}
	}
	c, err := p.Call(call.Role, call.ActorID, call.Now, call.Params)
	if err != nil {
		return fmt.Errorf("call: %w", err)
	}
	verdicts := legal(&r, c)
	i := slices.IndexFunc(verdicts, func(v fsm.Verdict) bool { return v.Event == call.Event })
	if i < 0 {
		return fmt.Errorf("generated Go has no verdict on it")
	}
	if got, want := generatedVerdict(verdicts[i]), interpreted(want); got != want {
		return fmt.Errorf("interpreter says %s, generated Go %s", want, got)
	}
	return nil
}

// interpreted is a verdict as text, in the words that both use.
func interpreted(v interp.Verdict) string {
	out := fmt.Sprintf("legal %v, rows %v", v.Legal, v.Rows)
	for _, c := range v.Needs {
		out += fmt.Sprintf(", needs %s", c.Text)
	}
	if v.Why == nil {
		return out
	}
	out += fmt.Sprintf(", %s", v.Why.Reason)
	if v.Why.Failure != nil {
		out += " as " + v.Why.Failure.Text
	}
	for _, c := range v.Why.Clauses {
		out += fmt.Sprintf(", %s is false", c.Clause.Text)
	}
	return out
}

func generatedVerdict(v fsm.Verdict) string {
	out := fmt.Sprintf("legal %v, rows %v", v.Legal, v.Rows)
	for _, n := range v.Needs {
		out += fmt.Sprintf(", needs %s", n.Clause)
	}
	if v.Why == nil {
		return out
	}
	out += fmt.Sprintf(", %s", string(v.Why.Reason))
	if v.Why.Failure != "" {
		out += " as " + v.Why.Failure
	}
	for _, c := range v.Why.Rows {
		out += fmt.Sprintf(", %s is false", c.Clause)
	}
	return out
}
