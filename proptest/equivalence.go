package proptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// Equivalence runs every (state, actor, event, class of values that a guard,
// a bound or a holds can tell apart) through the interpreter and the
// generated package: same decision, same record, same effects. It logs how
// many cases there were and which situations were too large to exhaust.
func Equivalence(t testing.TB, spec *Spec, subject Subject) {
	t.Helper()
	m, seen := spec.Machine, &tally{}
	for _, s := range situations(m, now) {
		for _, c := range callers(m) {
			compareAll(t, s, c, subject, seen)
			if seen.failures >= maxFailures {
				t.Fatalf("%s: stopped after %d differences", m, seen.failures)
			}
		}
	}
	Count(t, "%s", seen.report(m))
	if seen.cases == 0 || seen.accepted == 0 {
		t.Errorf("%s: no case was accepted", m)
	}
}

// maxFailures stops a test that finds the same difference again and again.
const maxFailures = 10

// tally counts the cases of a test.
type tally struct {
	cases, accepted, failures int
	sampled                   []string // situations that were not exhausted
	sampledCases              int
}

func (t *tally) report(m *ir.Machine) string {
	kind := "exhaustive"
	if len(t.sampled) > 0 {
		kind = fmt.Sprintf("exhaustive but for %d situations", len(t.sampled))
	}
	line := fmt.Sprintf("%s: %s cases (%s), %s sampled, %s accepted", m, thousands(t.cases), kind, thousands(t.sampledCases), thousands(t.accepted))
	for _, s := range t.sampled {
		line += "\n  sampled: " + s
	}
	return line
}

func compareAll(t testing.TB, s *situation, c caller, subject Subject, seen *tally) {
	t.Helper()
	limit, sampled := s.limit(c)
	before, first := seen.cases, true
	for tc := range s.cases(c, limit, s.completions()) {
		compareOne(t, s.machine, tc, subject, seen)
		if first && c.mayFire(s.rows) {
			for bad := range spoiled(tc) {
				compareOne(t, s.machine, bad, subject, seen)
			}
		}
		first = false
		if seen.failures >= maxFailures {
			return
		}
	}
	if sampled {
		seen.sampledCases += seen.cases - before
		seen.sampled = append(seen.sampled, fmt.Sprintf("%s in %s: %d of %d assignments", s.event, stateName(s.state), limit, s.space.Size()))
	}
}

func compareOne(t testing.TB, m *ir.Machine, tc testCase, subject Subject, seen *tally) {
	t.Helper()
	seen.cases++
	result, rej := tc.decide(m)
	if rej == nil {
		seen.accepted++
	}
	if err := agrees(m, result, rej, subject(tc.call(m))); err != nil {
		seen.failures++
		t.Errorf("%s: %s: %v", m, tc.describe(m), err)
	}
}

// agrees compares the interpreter's answer with the generated package's.
func agrees(m *ir.Machine, result interp.Result, rej *interp.Rejection, got Outcome) error {
	if rej != nil {
		class := ""
		if rej.Failure != nil {
			class = rej.Failure.Text
		}
		if got.Reason != string(rej.Reason) || got.Class != class {
			return fmt.Errorf("interpreter rejects (%s), generated Go answers %q %q %v", rej.Reason, got.Reason, got.Class, got.Transitions)
		}
		return nil
	}
	if got.Reason != "" {
		return fmt.Errorf("interpreter takes %v, generated Go rejects: %s", rowNames(result), got.Reason)
	}
	if want := fmt.Sprint(rowNames(result)); want != fmt.Sprint(got.Transitions) {
		return fmt.Errorf("interpreter takes %s, generated Go takes %v", want, got.Transitions)
	}
	want := interp.MarshalRecord(m, result.Record)
	if diff := difference(want, got.Record); diff != "" {
		return fmt.Errorf("records differ: %s", diff)
	}
	if err := sameEffects(result, got.Effects); err != nil {
		return err
	}
	return sameDeadline(result, got.Deadline)
}

// sameDeadline compares the deadline that the last step sets. A deadline that it keeps was set by an
// earlier step.
func sameDeadline(result interp.Result, got *Deadline) error {
	if result.AlreadyThere() {
		return nil
	}
	want := result.Steps[len(result.Steps)-1].Deadline
	switch {
	case want.Kept, want.At == nil && got == nil:
		return nil
	case want.At == nil || got == nil:
		return fmt.Errorf("deadlines differ: interpreter %v, generated Go %v", want.At, got)
	case !want.At.Equal(got.At) || want.Fire.Event.Text != got.Event:
		return fmt.Errorf("deadlines differ: interpreter %s at %s, generated Go %s at %s", want.Fire.Event, want.At, got.Event, got.At)
	}
	if diff := difference(interp.MarshalPayload(want.Fire.Event, want.Args), got.Payload); diff != "" {
		return fmt.Errorf("payloads of the deadline differ: %s", diff)
	}
	return nil
}

func rowNames(result interp.Result) []string {
	names := []string{}
	for _, s := range result.Steps {
		names = append(names, s.Row.Text)
	}
	return names
}

func sameEffects(result interp.Result, got []json.RawMessage) error {
	var want []json.RawMessage
	for _, s := range result.Steps {
		for _, e := range s.Effects {
			want = append(want, interp.MarshalEffect(e))
		}
	}
	if len(want) != len(got) {
		return fmt.Errorf("interpreter has effects %s, generated Go %s", want, got)
	}
	for i := range want {
		if diff := difference(want[i], got[i]); diff != "" {
			return fmt.Errorf("effect %d differs: %s", i, diff)
		}
	}
	return nil
}

// difference compares two JSON texts by value; "" if they are the same. The
// order of members does not count, and a member that is null is as good as
// none.
func difference(want, got json.RawMessage) string {
	if bytes.Equal(canonical(want), canonical(got)) {
		return ""
	}
	return fmt.Sprintf("interpreter %s, generated Go %s", want, got)
}

func canonical(data json.RawMessage) []byte {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return data
	}
	out, err := json.Marshal(withoutNulls(v))
	if err != nil {
		return data
	}
	return out
}

func withoutNulls(v any) any {
	object, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for name, member := range object {
		if member == nil {
			delete(object, name)
		} else {
			object[name] = withoutNulls(member)
		}
	}
	return object
}

func stateName(s *ir.State) string {
	if s == nil {
		return "none"
	}
	return s.Text
}

// thousands writes 1234 as 1,234.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
