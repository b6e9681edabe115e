package engine_test

import (
	"context"
	"database/sql"
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// asked is a machine that notes when it is asked whether an effect has happened. It
// has not.
type asked struct {
	handling
	order *[]string
}

func (a asked) Query(context.Context, fsm.Dispatch) (*fsm.Event, bool, error) {
	*a.order = append(*a.order, "query")
	return nil, false, nil
}

// TestAQueryableEffectIsAskedForBeforeItsFirstClaim: a message that was claimed after
// it was stored may have been attempted, whatever its columns say.
func TestAQueryableEffectIsAskedForBeforeItsFirstClaim(t *testing.T) {
	s := newStage(t)
	var order []string
	handle := func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		if d.Effect == "refund_deposit" {
			order = append(order, "handle")
		}
		return nil, nil
	}
	var err error
	s.engine, err = engine.New[*sql.Tx](s.store, s.config, asked{handling{deal.Define[*sql.Tx](nil, deal.DefaultParams()), handle}, &order})
	if err != nil {
		t.Fatal(err)
	}
	id := fullID("1")
	_, err = s.engine.Create(t.Context(), "deal", id, deal.Create{OwnerID: 2, PriceNano: 100}, advertiser)
	if err == nil {
		_, err = s.engine.Fire(t.Context(), "deal", id, deal.Cancel{}, advertiser)
	}
	if err == nil { // too late, so it is sent back
		_, err = s.engine.Fire(t.Context(), "deal", id, deal.DepositConfirmed{TxHash: "tx", AmountNano: 100}, engine.Call{By: fsm.System()})
	}
	for n := 1; err == nil && n > 0; {
		n, err = s.engine.Step(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"query", "handle"}; !slices.Equal(order, want) {
		t.Errorf("it was called by %v, want %v", order, want)
	}
}
