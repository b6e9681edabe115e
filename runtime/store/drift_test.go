package store_test

import (
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// TestDifferences: each difference is named. What others have made beside a machine's tables is none,
// even if its name begins like the machine's.
func TestDifferences(t *testing.T) {
	t.Parallel()
	trigger := func(table, name string) store.SchemaObject {
		return store.SchemaObject{Kind: store.TriggerObject, Table: table, Name: name}
	}
	got := store.Differences("deal", map[store.SchemaObject]string{
		trigger("deals", "deal_step"): "a", trigger("deals", "deal_new"): "b", trigger("deals", "deal_gone"): "c", trigger("deals", "deal_off"): "d",
		{Kind: store.IndexObject, Name: "deal_events_at"}: "",
	}, map[store.SchemaObject]string{
		trigger("deals", "deal_step"): "a", trigger("deals", "deal_new"): "other", trigger("deals", "deal_off"): "",
		trigger("deals", "deal_earlier"): "e", trigger("deals", "audit"): "f",
		trigger("deal_ledger", "deal_ledger_update"):      "g",
		{Kind: store.IndexObject, Name: "deal_events_at"}: "", {Kind: store.IndexObject, Name: "deal_events_of"}: "",
	})
	want := []string{
		"trigger deal_earlier of deals is of another version", "trigger deal_gone of deals is not there",
		"trigger deal_new of deals is another", "trigger deal_off of deals is disabled",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
