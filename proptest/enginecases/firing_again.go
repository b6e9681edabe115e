package enginecases

import (
	"time"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/proptest/storetest"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func firingAgain[Tx any]() []testCase[Tx] {
	return []testCase[Tx]{
		{"TheSameKeyIsReplayed", sameKey[Tx]},
		{"AKeyBelongsToOneEventOfOneRecord", foreignKey[Tx]},
		{"ARefusedEventConsumesNoKey", refusedKey[Tx]},
		{"AnEventHasAKeyOfItsOwn", ownKey[Tx]},
		{"AlreadyThereIsASuccessThatChangesNothing", alreadyThere[Tx]},
		{"CreatingAgainIsExistsUnlessTheKeySaysOtherwise", createAgain[Tx]},
	}
}

func sameKey[Tx any](f *fixture[Tx]) {
	id := f.offered()
	counter := func() engine.Outcome {
		o, err := f.engine.Fire(f.Context(), "deal", id, deal.CounterOffer{PriceNano: 90}, engine.Call{By: storetest.Owner, IdempotencyKey: "k"})
		f.Must(err)
		return o
	}
	first := counter()
	if first.Replayed || first.Version != 3 {
		f.Fatalf("the outcome is %s", storetest.Text(first))
	}
	f.mustFire("deal", id, deal.Agree{}, storetest.Advertiser)
	f.restart()
	f.advance(100 * 24 * time.Hour)
	if again := counter(); !again.Replayed || again.Version != 3 || len(again.Steps) != 0 {
		f.Fatalf("the outcome is %s", storetest.Text(again))
	}
	f.wantState("deal", id, "ACCEPTED", 4)
}

func foreignKey[Tx any](f *fixture[Tx]) {
	id, other := f.offered(), f.offered()
	key := engine.Call{By: storetest.Owner, IdempotencyKey: "k"}
	_, err := f.engine.Fire(f.Context(), "deal", id, deal.CounterOffer{PriceNano: 90}, key)
	f.Must(err)
	_, err = f.engine.Fire(f.Context(), "deal", other, deal.CounterOffer{PriceNano: 90}, key)
	if e := storetest.As[*store.KeyError](f, err); e.RecordID != id || e.Event != "COUNTER_OFFER" {
		f.Fatalf("the error says %+v", e)
	}
	_, err = f.engine.Fire(f.Context(), "deal", id, deal.Agree{}, key)
	f.WantError(err, store.ErrKeyUsed)
	f.wantState("deal", other, "OFFER_PENDING", 2)
	f.wantState("deal", id, "NEGOTIATING", 3)
}

func refusedKey[Tx any](f *fixture[Tx]) {
	id := f.offered()
	key := engine.Call{By: storetest.Owner, IdempotencyKey: "k"}
	_, err := f.engine.Fire(f.Context(), "deal", id, deal.Agree{}, key)
	if x := storetest.As[*fsm.Rejection](f, err); x.State != "OFFER_PENDING" {
		f.Fatalf("the refusal says %s", storetest.Text(x))
	}
	f.wantState("deal", id, "OFFER_PENDING", 2)
	f.mustFire("deal", id, deal.CounterOffer{PriceNano: 90}, storetest.Owner)
	o, err := f.engine.Fire(f.Context(), "deal", id, deal.Agree{}, key)
	f.Must(err)
	if o.Replayed || o.Version != 4 {
		f.Fatalf("the outcome is %s", storetest.Text(o))
	}
}

// ownKey confirms one deposit twice, and a second one once.
func ownKey[Tx any](f *fixture[Tx]) {
	id := f.paid()
	if o := f.mustFire("deal", id, deposit(id, 100), fsm.System()); !o.Replayed {
		f.Fatalf("the outcome is %s", storetest.Text(o))
	}
	f.wantState("deal", id, "FUNDED", 5)
	if o := f.mustFire("deal", id, deposit("other", 100), fsm.System()); o.Replayed || len(o.Steps) != 1 {
		f.Fatalf("the outcome is %s", storetest.Text(o))
	}
	f.wantState("deal", id, "FUNDED", 6)
	f.stepAll()
	f.wantCalls("refund_deposit", 1)
	f.wantCalls("ledger_deposit", 1)
}

func alreadyThere[Tx any](f *fixture[Tx]) {
	id := f.offered()
	rows := f.Count(f.T, "fsm_outbox")
	if o := f.mustFire("deal", id, deal.SubmitOffer{}, storetest.Advertiser); !o.AlreadyThere || len(o.Steps) != 0 || o.Version != 2 {
		f.Fatalf("the outcome is %s", storetest.Text(o))
	}
	f.wantState("deal", id, "OFFER_PENDING", 2)
	f.WantCount("fsm_outbox", rows)
}

func createAgain[Tx any](f *fixture[Tx]) {
	id := f.NewID()
	create := func(key string) (engine.Outcome, error) {
		return f.engine.Create(f.Context(), "deal", id, deal.Create{OwnerID: 8, PriceNano: 100}, engine.Call{By: storetest.Advertiser, IdempotencyKey: key})
	}
	_, err := create("k")
	f.Must(err)
	_, err = create("")
	f.WantError(err, store.ErrExists)
	again, err := create("k")
	f.Must(err)
	if !again.Replayed || again.Version != 1 {
		f.Fatalf("the outcome is %s", storetest.Text(again))
	}
	f.wantState("deal", id, "DRAFT", 1)
}
