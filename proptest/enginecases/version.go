package enginecases

import (
	"context"
	"errors"
	"strings"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/proptest/storetest"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func onlyAtVersion[Tx any]() []testCase[Tx] {
	return []testCase[Tx]{
		{"ALateApprovalApprovesNoDraftThatItHasNotSeen", lateApproval[Tx]},
		{"ARedeliveredDraftDoesNotReviveARejectedOne", redeliveredCreation[Tx]},
		{"EveryWayToFireChecks", everyWayChecks[Tx]},
		{"WithinATransactionItsOwnEventsCount", versionsWithinTransaction[Tx]},
		{"AnAcceptedKeyAnswersAtAnyVersion", keyAtAnyVersion[Tx]},
		{"AlreadyThereIsForTheVersionToo", alreadyThereAtVersion[Tx]},
		{"OfManyWithOneVersionExactlyOneWins", oneOfAVersion[Tx]},
		{"ACreationHasNoVersion", creationHasNone[Tx]},
	}
}

// at returns a call with IfVersion.
func at(version int64, by fsm.Caller) engine.Call { return engine.Call{By: by, IfVersion: version} }

// submitted creates a deal whose first draft is submitted: version 6.
func (f *fixture[Tx]) submitted() string {
	f.Helper()
	id := f.paid()
	f.mustFire("deal", id, deal.SubmitDraft{Creative: `{"draft":1}`}, storetest.Owner)
	return id
}

// wantVersionError fails the test unless err says which version and state the record has.
func (f *fixture[Tx]) wantVersionError(err error, wanted, version int64, state string) {
	f.Helper()
	f.WantError(err, engine.ErrVersion)
	if errors.Is(err, store.ErrConflict) {
		f.Errorf("%v is a conflict, which callers may try again", err)
	}
	e := storetest.As[*engine.VersionError](f, err)
	if e.IfVersion != wanted || e.Version != version || e.State != state {
		f.Fatalf("the error says %+v", e)
	}
	if want := "read the record and decide again"; !strings.Contains(err.Error(), want) {
		f.Fatalf("the error %q does not say: %s", err, want)
	}
}

// lateApproval has the owner replace the draft while the advertiser looks at it.
func lateApproval[Tx any](f *fixture[Tx]) {
	id := f.submitted()
	seen, err := f.engine.Get(f.Context(), "deal", id)
	f.Must(err)
	f.mustFire("deal", id, deal.RequestRevision{}, storetest.Advertiser)
	f.mustFire("deal", id, deal.SubmitDraft{Creative: `{"draft":2}`}, storetest.Owner)
	_, err = f.engine.Fire(f.Context(), "deal", id, deal.Approve{}, at(seen.Version, storetest.Advertiser))
	f.wantVersionError(err, 6, 8, "CREATIVE_SUBMITTED")
	f.wantState("deal", id, "CREATIVE_SUBMITTED", 8)
	_, err = f.engine.Fire(f.Context(), "deal", id, deal.Approve{}, at(8, storetest.Advertiser))
	f.Must(err)
	f.wantState("deal", id, "CREATIVE_APPROVED", 9)
}

// redeliveredDraft delivers a draft again that was rejected meanwhile.
func redeliveredCreation[Tx any](f *fixture[Tx]) {
	id := f.paid()
	submit := func() error {
		_, err := f.engine.Fire(f.Context(), "deal", id, deal.SubmitDraft{Creative: `{"draft":1}`}, at(5, storetest.Owner))
		return err
	}
	f.Must(submit())
	f.mustFire("deal", id, deal.RequestRevision{}, storetest.Advertiser)
	f.wantVersionError(submit(), 5, 7, "FUNDED")
	f.wantState("deal", id, "FUNDED", 7)
}

// everyWayChecks fires with a version before the present one, and then with the present
// one.
func everyWayChecks[Tx any](f *fixture[Tx]) {
	for _, way := range []struct {
		name string
		fire func(id string, c engine.Call) error
	}{
		{"Fire", func(id string, c engine.Call) error {
			_, err := f.engine.Fire(f.Context(), "deal", id, deal.Accept{}, c)
			return err
		}},
		{"FireTx", func(id string, c engine.Call) error {
			return f.Store.InTx(f.Context(), func(tx Tx) error {
				_, err := f.engine.FireTx(f.Context(), tx, "deal", id, deal.Accept{}, c)
				return err
			})
		}},
		{"FireBatch", func(id string, c engine.Call) error {
			other := f.offered()
			outcomes, err := f.engine.FireBatch(f.Context(), []engine.Firing{
				{Machine: "deal", ID: id, Event: deal.Accept{}, Call: c},
				{Machine: "deal", ID: other, Event: deal.Accept{}, Call: at(2, storetest.Owner)},
			})
			f.Must(errors.Join(err, outcomes[1].Err))
			f.wantState("deal", other, "ACCEPTED", 3) // the other event of the batch is stored
			return outcomes[0].Err
		}},
		{"Transact", func(id string, c engine.Call) error {
			return f.engine.Transact(f.Context(), func(ctx context.Context, u *engine.Tx[Tx]) error {
				_, err := u.Fire(ctx, "deal", id, deal.Accept{}, c)
				return err
			})
		}},
	} {
		id := f.offered()
		f.wantVersionError(way.fire(id, at(1, storetest.Owner)), 1, 2, "OFFER_PENDING")
		f.wantState("deal", id, "OFFER_PENDING", 2)
		if err := way.fire(id, at(2, storetest.Owner)); err != nil {
			f.Fatalf("%s at the right version: %v", way.name, err)
		}
		f.wantState("deal", id, "ACCEPTED", 3)
	}
}

func versionsWithinTransaction[Tx any](f *fixture[Tx]) {
	id := f.offered()
	f.Must(f.engine.Transact(f.Context(), func(ctx context.Context, u *engine.Tx[Tx]) error {
		_, err := u.Fire(ctx, "deal", id, deal.CounterOffer{PriceNano: 90}, at(2, storetest.Owner))
		f.Must(err)
		err = u.Try(func() error {
			_, err := u.Fire(ctx, "deal", id, deal.Agree{}, at(2, storetest.Advertiser))
			return err
		})
		f.wantVersionError(err, 2, 3, "NEGOTIATING")
		_, err = u.Fire(ctx, "deal", id, deal.Agree{}, at(3, storetest.Advertiser))
		return err
	}))
	f.wantState("deal", id, "ACCEPTED", 4)
}

func keyAtAnyVersion[Tx any](f *fixture[Tx]) {
	id := f.offered()
	counter := func(version int64) (engine.Outcome, error) {
		return f.engine.Fire(f.Context(), "deal", id, deal.CounterOffer{PriceNano: 90}, engine.Call{By: storetest.Owner, IdempotencyKey: "k", IfVersion: version})
	}
	_, err := counter(1)
	f.wantVersionError(err, 1, 2, "OFFER_PENDING") // a refused call consumes no key
	_, err = counter(2)
	f.Must(err)
	f.mustFire("deal", id, deal.Agree{}, storetest.Advertiser)
	for _, version := range []int64{2, 4, 99} {
		if o, err := counter(version); err != nil || !o.Replayed || o.Version != 3 {
			f.Fatalf("again for version %d: %s, %v", version, storetest.Text(o), err)
		}
	}
	f.wantState("deal", id, "ACCEPTED", 4)
}

func alreadyThereAtVersion[Tx any](f *fixture[Tx]) {
	id := f.offered()
	_, err := f.engine.Fire(f.Context(), "deal", id, deal.SubmitOffer{}, at(1, storetest.Advertiser))
	f.wantVersionError(err, 1, 2, "OFFER_PENDING")
	o, err := f.engine.Fire(f.Context(), "deal", id, deal.SubmitOffer{}, at(2, storetest.Advertiser))
	f.Must(err)
	if !o.AlreadyThere || o.Version != 2 {
		f.Fatalf("the outcome is %s", storetest.Text(o))
	}
}

// oneOfAVersion has concurrent callers fire with the same version. Only one is accepted,
// and each of the others gets the present version and state.
func oneOfAVersion[Tx any](f *fixture[Tx]) {
	for range 4 {
		id := f.offered()
		won := f.Concurrently(func(db store.Store[Tx], i int) error {
			_, err := f.newEngine(db, f.config).Fire(f.Context(), "deal", id, deal.Accept{}, at(2, storetest.Owner))
			if e := new(engine.VersionError); errors.As(err, &e) && (e.Version != 3 || e.State != "ACCEPTED") {
				f.Errorf("it does not say what is there: %v", err)
			}
			return err
		}, engine.ErrVersion)
		if won != 1 {
			f.Fatalf("%d events for one version were accepted", won)
		}
		f.wantState("deal", id, "ACCEPTED", 3)
	}
}

func creationHasNone[Tx any](f *fixture[Tx]) {
	_, err := f.engine.Create(f.Context(), "deal", f.NewID(), deal.Create{OwnerID: 8, PriceNano: 100}, at(1, storetest.Advertiser))
	if err == nil || !strings.Contains(err.Error(), "IfVersion is for a record that exists") {
		f.Fatalf("the error is %v", err)
	}
	_, err = f.engine.Fire(f.Context(), "deal", f.NewID(), deal.Accept{}, at(1, storetest.Owner))
	f.WantError(err, engine.ErrNotFound)
}
