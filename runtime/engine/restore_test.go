package engine_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// TestIDsDoNotComeBack: after the database has lost a commit, the same step of the same
// record asks for messages of other ids: an outside that knows the lost ones must not
// take the new ones for repeats.
func TestIDsDoNotComeBack(t *testing.T) {
	s := newStage(t)
	var ids []string
	handle := func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		ids = append(ids, d.ID)
		return nil, nil
	}
	s.handle(s.store, handle)
	id := fullID("1")
	if _, err := s.engine.Create(t.Context(), "deal", id, deal.Create{OwnerID: 2, PriceNano: 100}, advertiser); err != nil {
		t.Fatal(err)
	}
	play := func() []string {
		ids = nil
		if _, err := s.engine.Fire(t.Context(), "deal", id, deal.SubmitOffer{}, advertiser); err != nil {
			t.Fatal(err)
		}
		deliver(t, s)
		return ids
	}
	deliver(t, s)
	before := filepath.Join(t.TempDir(), "before.db")
	db := s.connect()
	defer db.Close()
	if _, err := db.Exec("VACUUM INTO ?", before); err != nil {
		t.Fatal(err)
	}
	lost := play()
	s.path = before
	s.open()
	s.handle(s.store, handle)
	again := play()
	if len(lost) == 0 || len(lost) != len(again) {
		t.Fatalf("dispatched %v and then %v", lost, again)
	}
	for _, id := range again {
		if slices.Contains(lost, id) {
			t.Errorf("message %s has the id of one that was lost", id)
		}
	}
}

// deliver carries out all that is due.
func deliver(t *testing.T, s *stage) {
	t.Helper()
	for n := 1; n > 0; {
		var err error
		if n, err = s.engine.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
