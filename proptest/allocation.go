package proptest

import (
	"encoding/json"
	"testing"

	"github.com/fsmgen/fsmgen/gen/interp"
)

// NoAllocation fires one accepted case of every row that leaves a state and
// demands that deciding it allocates nothing.
func (p Package[I, R, E, P, C, S, T, F]) NoAllocation(t *testing.T, spec *Spec) {
	t.Helper()
	seen := map[int]bool{}
	for _, s := range situations(spec.Machine, now) {
		for _, c := range callers(spec.Machine) {
			limit, _ := s.limit(c)
			for tc := range s.cases(c, limit, 1) {
				if result, rej := tc.decide(spec.Machine); rej == nil && tc.record != nil && fresh(seen, result) {
					p.allocatesNothing(t, tc.call(spec.Machine), result)
				}
			}
		}
	}
	Count(t, "%s: %d rows decided without an allocation", spec.Machine, len(seen))
}

func fresh(seen map[int]bool, result interp.Result) bool {
	if result.AlreadyThere() || seen[result.Steps[0].Row.Index] {
		return false
	}
	seen[result.Steps[0].Row.Index] = true
	return true
}

func (p Package[I, R, E, P, C, S, T, F]) allocatesNothing(t *testing.T, call Call, result interp.Result) {
	t.Helper()
	var before, r R
	if err := json.Unmarshal(call.Record, &before); err != nil {
		t.Fatalf("decode record: %v", err)
	}
	e, err := p.DecodeEvent(call.Event, call.Payload)
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Call(call.Role, call.ActorID, call.Now, call.Params)
	if err != nil {
		t.Fatal(err)
	}
	allocations := testing.AllocsPerRun(20, func() {
		r = before
		_, err = p.Fire(&r, e, c)
	})
	if err != nil || allocations != 0 {
		t.Errorf("%v from %s: %v allocations, error %v", rowNames(result), result.Steps[0].Before.State, allocations, err)
	}
}
