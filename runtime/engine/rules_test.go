package engine_test

import (
	"database/sql"
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/generated/activate"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func TestRowRulesOf(t *testing.T) {
	t.Parallel()
	rules := store.RowRulesOf(deal.Define[*sql.Tx](nil, deal.DefaultParams()))
	var payout *store.MessageRule
	for i, rule := range rules.Messages {
		switch rule.Effect.Name {
		case "execute_payout":
			payout = &rules.Messages[i]
		case "release_escrow":
			t.Error("an effect within the transaction is a message")
		}
	}
	if payout == nil || payout.Effect.Destination != "ton_escrow" || !slices.Equal(payout.Effect.RecordIDs, []string{"deal_id"}) {
		t.Fatalf("the rule of a payout is %+v", payout)
	}
	if want := (store.MessageSource{Transition: "verified", From: "DELIVERY_VERIFYING", Event: "VERIFICATION_PASSED", Seq: 2}); !slices.Contains(payout.Sources, want) || len(payout.Sources) != 3 {
		t.Errorf("a payout is asked for by %+v", payout.Sources)
	}
	if want := (store.TimeoutRule{State: "DELIVERY_VERIFYING", Event: "AUTO_APPROVE"}); !slices.Contains(rules.Timeouts, want) {
		t.Errorf("the timeouts are %+v", rules.Timeouts)
	}
	if len(rules.Raises) > 0 {
		t.Errorf("a deal raises %v", rules.Raises)
	}
	if raises := store.RowRulesOf(activate.Define[*sql.Tx](nil)).Raises; !slices.Equal(raises, []string{"STORE"}) {
		t.Errorf("an activation raises %v", raises)
	}
}

// TestRulesOfALaterVersionStay: a process that starts again with the earlier table
// leaves them as they are.
func TestRulesOfALaterVersionStay(t *testing.T) {
	t.Parallel()
	text := func(version string) string { return "CREATE " + store.RowRules{Version: version}.Heading() + "BEGIN" }
	for _, tt := range []struct {
		there, mine string
		replaced    bool
	}{
		{"1.0.0", "1.0.0", false},
		{"1.0.0", "1.0.1", true},
		{"1.2.0", "1.10.0", true},
		{"1.10.0", "1.2.0", false},
		{"2.0.0", "1.9.9", false},
	} {
		if got := (store.RowRules{Version: tt.mine}).Replace(text(tt.there), text(tt.mine)); got != tt.replaced {
			t.Errorf("rules of %s are replaced by those of %s: %t", tt.there, tt.mine, got)
		}
	}
	if !(store.RowRules{Version: "1.0.0"}).Replace(text("1.0.0")+" other", text("1.0.0")) {
		t.Error("rules of the same version that differ stay")
	}
}
