package enginetest_test

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/enginetest"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

var id = fsm.UUID{0x5f, 0x0c, 0x3a, 0x0e, 15: 1}

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
	deals := deal.In(e)
	_, created := deals.Create(t.Context(), id, deal.Create{OwnerID: 8, PriceNano: 100}, deal.ByAdvertiser(7))
	_, offered := deals.SubmitOffer(t.Context(), id, deal.ByAdvertiser(7))
	_, taken := deals.Accept(t.Context(), id, deal.ByOwner(8))
	if err := errors.Join(created, offered, taken); err != nil {
		t.Fatal(err)
	}
}

func wants(t *testing.T, e *enginetest.Engine, state deal.State) {
	t.Helper()
	found, err := deal.In(e).Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if got := found.Record.State; got != state {
		t.Fatalf("the deal is in %s, want %s", got, state)
	}
}
