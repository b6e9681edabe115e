package engine_test

import (
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// TestInlineHeedsLimits: an effect that its destination has no place for is not carried
// out in the transaction, but left to a worker.
func TestInlineHeedsLimits(t *testing.T) {
	s := newStage(t)
	s.config.Limits = map[string]engine.Limit{"validate_payload": {PerSecond: 1}}
	r := newRegistered(s)
	r.inlined(s.store, map[string]func(fsm.Dispatch) (string, error){
		"validate_payload": answering(passes), "postgres.upsert_registration": answering(upserts),
	})
	for i, id := range []string{fullID("1"), fullID("2")} {
		if err := r.begins(id, []string{"n1", "n2"}[i]); err != nil {
			t.Fatal(err)
		}
	}
	s.wants("registration", fullID("1"), "registering_consul", 5)
	want := []string{"postgres.upsert_registration", "validate_payload"}
	if got := s.texts("SELECT effect FROM mine ORDER BY effect"); !slices.Equal(got, want) {
		t.Errorf("carried out were %v", got)
	}
	want = []string{"consul.register of " + fullID("1"), "validate_payload of " + fullID("2")}
	if got := s.texts("SELECT effect || ' of ' || record_id FROM fsm_outbox ORDER BY effect"); !slices.Equal(got, want) {
		t.Errorf("the outbox has %v", got)
	}
}
