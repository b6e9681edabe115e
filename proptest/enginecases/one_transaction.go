package enginecases

import (
	"context"
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/proptest/storetest"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func oneTransaction[Tx any]() []testCase[Tx] {
	return []testCase[Tx]{
		{"EverythingOfAStepIsThere", everythingIsThere[Tx]},
		{"AFailingTransactionEffectRollsBackItsStep", failingTransactionEffect[Tx]},
		{"AChainIsTwoStepsAndAllOrNothing", chainAllOrNothing[Tx]},
		{"TwoStepIsACheckpoint", twoStepCheckpoint[Tx]},
		{"ABrokenTransactionIsTheStoresFailure", brokenTransaction[Tx]},
		{"ABatchCreatesAndMovesOn", batchCreates[Tx]},
	}
}

func everythingIsThere[Tx any](f *fixture[Tx]) {
	id := f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, storetest.Advertiser)
	f.WantCount("fsm_outbox", 1)
	o := f.mustFire("deal", id, deal.SubmitOffer{}, storetest.Advertiser)
	if o.Version != 2 || len(o.Steps) != 1 || o.Correlation == "" {
		f.Fatalf("the outcome is %s", storetest.Text(o))
	}
	f.wantState("deal", id, "OFFER_PENDING", 2)
	f.WantCount("fsm_outbox WHERE effect = 'notify_owner' AND version = 2", 1)
	f.WantCount("fsm_outbox WHERE effect = 'deal.events'", 2)
	f.WantCount("fsm_deadlines WHERE event = 'EXPIRE'", 1)
}

func failingTransactionEffect[Tx any](f *fixture[Tx]) {
	id := f.offered()
	f.mustFire("deal", id, deal.Accept{}, storetest.Owner)
	f.mustFire("deal", id, deal.AddressReady{DepositAddress: "a"}, fsm.System())
	before := f.Count(f.T, "fsm_outbox")
	broken := errors.New("the ledger is closed")
	f.handlers.inTx = func(context.Context, Tx, fsm.Dispatch) error { return broken }
	_, err := f.engine.Fire(f.Context(), "deal", id, deposit("1", 100), engine.Call{By: fsm.System()})
	if !errors.Is(err, broken) {
		f.Fatalf("the error is %v", err)
	}
	f.wantState("deal", id, "AWAITING_PAYMENT", 4)
	f.WantCount("fsm_outbox", before)
	f.WantCount("fsm_keys", 0)
	f.WantCount("fsm_deadlines", 1)
	f.handlers.inTx = nil
	f.mustFire("deal", id, deposit("1", 100), fsm.System())
	f.wantState("deal", id, "FUNDED", 5)
}

// brokenTransaction breaks the transaction inside a handler. The store has failed, not
// the event, and the event can be fired again. An error of the handler itself is a
// failure of the event.
func brokenTransaction[Tx any](f *fixture[Tx]) {
	id := f.offered()
	f.mustFire("deal", id, deal.Accept{}, storetest.Owner)
	f.mustFire("deal", id, deal.AddressReady{DepositAddress: "addr"}, fsm.System())
	fire := func() error {
		_, err := f.engine.Fire(f.Context(), "deal", id, deposit(id, 100), engine.Call{By: fsm.System()})
		return err
	}
	f.handlers.inTx = func(ctx context.Context, tx Tx, _ fsm.Dispatch) error {
		return fmt.Errorf("insert into the ledger: %w", f.Break(ctx, tx))
	}
	err := fire()
	f.WantError(err, store.ErrStore)
	if h := storetest.As[*engine.HandlerError](f, err); h.Effect != "ledger_deposit" || f.counted(engine.MetricFatal) != 0 {
		f.Fatalf("the error is %v, and %d events count as unrecordable", err, f.counted(engine.MetricFatal))
	}
	f.handlers.inTx = func(context.Context, Tx, fsm.Dispatch) error {
		return fmt.Errorf("insert into the ledger: deadlock: %w", store.ErrConflict)
	}
	if err := fire(); !errors.Is(err, store.ErrConflict) || f.counted(engine.MetricFatal) != 0 {
		f.Fatalf("the error is %v, and %d events count as unrecordable", err, f.counted(engine.MetricFatal))
	}
	f.handlers.inTx = func(context.Context, Tx, fsm.Dispatch) error { return errors.New("the ledger is closed") }
	if err := fire(); errors.Is(err, store.ErrStore) || f.counted(engine.MetricFatal) != 1 {
		f.Fatalf("the error is %v, and %d events count as unrecordable", err, f.counted(engine.MetricFatal))
	}
	f.wantState("deal", id, "AWAITING_PAYMENT", 4)
	f.handlers.inTx = nil
	f.Must(fire())
	f.wantState("deal", id, "FUNDED", 5)
}

// validating creates a download whose file waits for validation.
func (f *fixture[Tx]) validating(image string) string {
	f.Helper()
	id := f.mustCreate("download", download.Start{ImageID: image, S3Key: "k", Bucket: "b"}, fsm.System())
	f.mustFire("download", id, download.Checked{}, fsm.System())
	f.mustFire("download", id, download.Downloaded{LocalPath: "/x", Checksum: "c", SizeBytes: 3}, fsm.System())
	return id
}

var valid = download.Validated{ChecksumOk: true, StructureOk: true, SecurityOk: true}

// chainAllOrNothing has the second step of a chain start a run that can't start, since
// another run of its image has not ended.
func chainAllOrNothing[Tx any](f *fixture[Tx]) {
	other := f.mustCreate("unpack", unpack.Start{ImageID: "img", LocalPath: "/x", Checksum: "c", PoolName: "p"}, fsm.System())
	id := f.validating("img")
	_, err := f.engine.Fire(f.Context(), "download", id, valid, engine.Call{By: fsm.System()})
	f.WantError(err, store.ErrExists)
	f.wantState("download", id, "validate", 3)
	f.WantImages("img", "completed", 0)

	f.mustFire("unpack", other, unpack.CheckFailed{Cause: "x"}, fsm.System())
	o := f.mustFire("download", id, valid, fsm.System())
	if len(o.Steps) != 2 || o.Steps[0].To != "store-metadata" || o.Steps[1].To != "COMPLETE" {
		f.Fatalf("the steps are %s", storetest.Text(o.Steps))
	}
	f.wantState("download", id, "COMPLETE", 5)
	f.WantImages("img", "completed", 1)
	f.WantCount("unpack_records WHERE state = 'check-unpacked'", 1)
}

func twoStepCheckpoint[Tx any](f *fixture[Tx]) {
	id := f.validating("img")
	f.config.TwoStep = true
	f.restart()
	o := f.mustFire("download", id, valid, fsm.System())
	if len(o.Steps) != 1 {
		f.Fatalf("the steps are %s", storetest.Text(o.Steps))
	}
	f.wantState("download", id, "store-metadata", 4)
	f.WantImages("img", "completed", 0)
	f.restart() // the process dies at the checkpoint
	f.stepAll()
	f.wantState("download", id, "COMPLETE", 5)
	f.WantImages("img", "completed", 1)
}

// batchCreates creates more records than one statement inserts. One of them exists
// already.
func batchCreates[Tx any](f *fixture[Tx]) {
	there := f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, storetest.Advertiser)
	firings := []engine.Firing{{Machine: "deal", ID: there, Event: deal.Create{OwnerID: 8, PriceNano: 100}, Create: true}}
	for range 12 {
		id := f.NewID()
		firings = append(firings, engine.Firing{Machine: "deal", ID: id, Event: deal.Create{OwnerID: 8, PriceNano: 100}, Create: true},
			engine.Firing{Machine: "deal", ID: id, Event: deal.SubmitOffer{}})
	}
	for i := range firings {
		firings[i].Call = engine.Call{By: storetest.Advertiser}
	}
	outcomes, err := f.engine.FireBatch(f.Context(), firings)
	f.Must(err)
	f.WantError(outcomes[0].Err, store.ErrExists)
	for i := 1; i < len(firings); i += 2 {
		f.Must(errors.Join(outcomes[i].Err, outcomes[i+1].Err))
		f.wantState("deal", firings[i].ID, "OFFER_PENDING", 2)
	}
	f.wantState("deal", there, "DRAFT", 1)
}
