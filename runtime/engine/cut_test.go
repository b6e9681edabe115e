package engine_test

import (
	"context"
	"database/sql"
	"slices"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// TestTheFirstAttemptsThatAreCutShortDoNotCount: another message may have ended the
// process, twice. So a message gets two attempts more than its policy allows.
func TestTheFirstAttemptsThatAreCutShortDoNotCount(t *testing.T) {
	t.Parallel()
	effects := deal.Define[*sql.Tx](nil, deal.DefaultParams()).Effects()
	repeats := effects[slices.IndexFunc(effects, func(e fsm.EffectInfo) bool { return e.Name == "notify_owner" })].Retry.Attempts
	for deaths, want := range map[int]int{repeats + 2: 1, repeats + 3: 0} {
		s := newStage(t)
		s.offered("1")
		calls := 0
		s.handle(s.store, func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
			if d.Effect == "notify_owner" {
				calls++
			}
			return nil, nil
		})
		for n := range deaths {
			now := s.clock.Now()
			tasks, err := s.store.Claim(t.Context(), store.Claim{
				Worker: "dead", Token: fsm.UUID{6: 0x40, 8: 0x80, 15: byte(n)}, Now: now, Until: now.Add(time.Minute), Effects: 1, Suspects: 1,
				Destinations: []store.Destination{{Machine: "deal", Name: "owner_notifications", Effects: []string{"notify_owner"}, States: deal.Define[*sql.Tx](nil, deal.DefaultParams()).States(), Most: 1}},
			})
			if err != nil || len(tasks) != 1 {
				t.Fatalf("%d tasks, %v", len(tasks), err)
			}
			s.clock.tick(time.Hour)
		}
		if _, err := s.engine.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		if calls != want {
			t.Errorf("after %d deaths it is carried out %d times, want %d", deaths, calls, want)
		}
	}
}
