package enginetest_test

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/enginetest"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

const id = "5f0c3a0e-0000-4000-8000-000000000001"

// TestADealThatNobodyPaysExpires is the one to copy: an effect answers, time passes,
// and a deadline fires.
func TestADealThatNobodyPaysExpires(t *testing.T) {
	t.Parallel()
	deals := enginetest.NewFake(t, deal.Define[*sql.Tx](nil, deal.DefaultParams()))
	deals.On("generate_deposit_address", enginetest.Answer(deal.AddressReady{DepositAddress: "EQ-1"}))
	e := enginetest.New(t, deals)
	accepted(t, e)

	enginetest.Drain(t, e)
	wants(t, e, deal.AwaitingPayment)

	e.Clock.Advance(deal.DefaultParams().PaymentTimeout)
	enginetest.Drain(t, e)
	wants(t, e, deal.Expired)
	if asked := deals.Calls("generate_deposit_address"); len(asked) != 1 {
		t.Errorf("the address was generated %d times", len(asked))
	}
}

// TestAnEffectThatFailsIsRepeated moves the clock to the repeat.
func TestAnEffectThatFailsIsRepeated(t *testing.T) {
	t.Parallel()
	deals := enginetest.NewFake(t, deal.Define[*sql.Tx](nil, deal.DefaultParams()))
	deals.On("generate_deposit_address", enginetest.Fail(errors.New("no route to host")))
	e := enginetest.New(t, deals)
	accepted(t, e)
	enginetest.Drain(t, e)
	wants(t, e, deal.Accepted)

	deals.On("generate_deposit_address", func(d fsm.Dispatch) (fsm.Payload, error) {
		return deal.AddressReady{DepositAddress: "EQ-" + d.Record}, nil
	})
	e.Clock.Advance(time.Minute)
	enginetest.Drain(t, e)
	wants(t, e, deal.AwaitingPayment)
	if asked := deals.Calls("generate_deposit_address"); len(asked) != 2 || asked[1].Attempt != 2 {
		t.Errorf("the attempts were %v", asked)
	}
}

// accepted makes a deal that is agreed on and not paid.
func accepted(t *testing.T, e *enginetest.Engine) {
	t.Helper()
	advertiser, owner := engine.Call{By: deal.ByAdvertiser(7).Caller()}, engine.Call{By: deal.ByOwner(8).Caller()}
	_, created := e.Create(t.Context(), "deal", id, deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	_, offered := e.Fire(t.Context(), "deal", id, deal.SubmitOffer{}, advertiser)
	_, taken := e.Fire(t.Context(), "deal", id, deal.Accept{}, owner)
	if err := errors.Join(created, offered, taken); err != nil {
		t.Fatal(err)
	}
}

func wants(t *testing.T, e *enginetest.Engine, state deal.State) {
	t.Helper()
	found, err := e.Get(t.Context(), "deal", id)
	if err != nil {
		t.Fatal(err)
	}
	if got := found.Record.StateName(); got != state.String() {
		t.Fatalf("the deal is in %s, want %s", got, state)
	}
}
