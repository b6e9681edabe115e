package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/generated/wal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func oneTransaction[Tx any]() []engineCase[Tx] {
	return []engineCase[Tx]{
		{"EverythingOfAStepIsThere", everythingIsThere[Tx]},
		{"AFailingTransactionEffectRollsBackItsStep", failingTransactionEffect[Tx]},
		{"AChainIsTwoStepsAndAllOrNothing", chainAllOrNothing[Tx]},
		{"TwoStepIsACheckpoint", twoStepCheckpoint[Tx]},
		{"ABrokenTransactionIsTheStoresFailure", brokenTransaction[Tx]},
		{"ABatchCreatesAndMovesOn", batchCreates[Tx]},
	}
}

func everythingIsThere[Tx any](f *engineFixture[Tx]) {
	id := f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	f.wantCount("fsm_outbox", 1)
	o := f.mustFire("deal", id, deal.SubmitOffer{}, advertiser)
	if o.Version != 2 || len(o.Steps) != 1 || o.Correlation == "" {
		f.Fatalf("the outcome is %s", text(o))
	}
	f.wantState("deal", id, "OFFER_PENDING", 2)
	f.wantCount("fsm_outbox WHERE effect = 'notify_owner' AND version = 2", 1)
	f.wantCount("fsm_outbox WHERE effect = 'deal.events'", 2)
	f.wantCount("fsm_deadlines WHERE event = 'EXPIRE'", 1)
}

func failingTransactionEffect[Tx any](f *engineFixture[Tx]) {
	id := f.offered()
	f.mustFire("deal", id, deal.Accept{}, owner)
	f.mustFire("deal", id, deal.AddressReady{DepositAddress: "a"}, fsm.System())
	before := f.Count(f.T, "fsm_outbox")
	broken := errors.New("the ledger is closed")
	f.handlers.inTx = func(context.Context, Tx, fsm.Dispatch) error { return broken }
	_, err := f.engine.Fire(f.ctx, "deal", id, deposit("1", 100), engine.Call{By: fsm.System()})
	if !errors.Is(err, broken) {
		f.Fatalf("the error is %v", err)
	}
	f.wantState("deal", id, "AWAITING_PAYMENT", 4)
	f.wantCount("fsm_outbox", before)
	f.wantCount("fsm_keys", 0)
	f.wantCount("fsm_deadlines", 1)
	f.handlers.inTx = nil
	f.mustFire("deal", id, deposit("1", 100), fsm.System())
	f.wantState("deal", id, "FUNDED", 5)
}

// brokenTransaction breaks the transaction inside a handler. The store has failed, not
// the event, and the event can be fired again. An error of the handler itself is a
// failure of the event.
func brokenTransaction[Tx any](f *engineFixture[Tx]) {
	id := f.offered()
	f.mustFire("deal", id, deal.Accept{}, owner)
	f.mustFire("deal", id, deal.AddressReady{DepositAddress: "addr"}, fsm.System())
	fire := func() error {
		_, err := f.engine.Fire(f.ctx, "deal", id, deposit(id, 100), engine.Call{By: fsm.System()})
		return err
	}
	f.handlers.inTx = func(ctx context.Context, tx Tx, _ fsm.Dispatch) error {
		return fmt.Errorf("insert into the ledger: %w", f.Break(ctx, tx))
	}
	err := fire()
	f.wantError(err, store.ErrStore)
	if h := as[*engine.HandlerError](f, err); h.Effect != "ledger_deposit" || f.counted(engine.MetricFatal) != 0 {
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
	f.must(fire())
	f.wantState("deal", id, "FUNDED", 5)
}

// validating creates a download whose file waits for validation.
func (f *engineFixture[Tx]) validating(image string) string {
	f.Helper()
	id := f.mustCreate("download", download.Start{ImageID: image, S3Key: "k", Bucket: "b"}, fsm.System())
	f.mustFire("download", id, download.Checked{}, fsm.System())
	f.mustFire("download", id, download.Downloaded{LocalPath: "/x", Checksum: "c", SizeBytes: 3}, fsm.System())
	return id
}

var valid = download.Validated{ChecksumOk: true, StructureOk: true, SecurityOk: true}

// chainAllOrNothing has the second step of a chain start a run that can't start, since
// another run of its image has not ended.
func chainAllOrNothing[Tx any](f *engineFixture[Tx]) {
	other := f.mustCreate("unpack", unpack.Start{ImageID: "img", LocalPath: "/x", Checksum: "c", PoolName: "p"}, fsm.System())
	id := f.validating("img")
	_, err := f.engine.Fire(f.ctx, "download", id, valid, engine.Call{By: fsm.System()})
	f.wantError(err, store.ErrExists)
	f.wantState("download", id, "validate", 3)
	f.wantImages("img", "completed", 0)

	f.mustFire("unpack", other, unpack.CheckFailed{Cause: "x"}, fsm.System())
	o := f.mustFire("download", id, valid, fsm.System())
	if len(o.Steps) != 2 || o.Steps[0].To != "store-metadata" || o.Steps[1].To != "COMPLETE" {
		f.Fatalf("the steps are %s", text(o.Steps))
	}
	f.wantState("download", id, "COMPLETE", 5)
	f.wantImages("img", "completed", 1)
	f.wantCount("unpack_records WHERE state = 'check-unpacked'", 1)
}

func twoStepCheckpoint[Tx any](f *engineFixture[Tx]) {
	id := f.validating("img")
	f.config.TwoStep = true
	f.restart()
	o := f.mustFire("download", id, valid, fsm.System())
	if len(o.Steps) != 1 {
		f.Fatalf("the steps are %s", text(o.Steps))
	}
	f.wantState("download", id, "store-metadata", 4)
	f.wantImages("img", "completed", 0)
	f.restart() // the process dies at the checkpoint
	f.stepAll()
	f.wantState("download", id, "COMPLETE", 5)
	f.wantImages("img", "completed", 1)
}

// batchCreates creates more records than one statement inserts. One of them exists
// already.
func batchCreates[Tx any](f *engineFixture[Tx]) {
	there := f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	firings := []engine.Firing{{Machine: "deal", ID: there, Event: deal.Create{OwnerID: 8, PriceNano: 100}, Create: true}}
	for range 12 {
		id := f.newID()
		firings = append(firings, engine.Firing{Machine: "deal", ID: id, Event: deal.Create{OwnerID: 8, PriceNano: 100}, Create: true},
			engine.Firing{Machine: "deal", ID: id, Event: deal.SubmitOffer{}})
	}
	for i := range firings {
		firings[i].Call = engine.Call{By: advertiser}
	}
	outcomes, err := f.engine.FireBatch(f.ctx, firings)
	f.must(err)
	f.wantError(outcomes[0].Err, store.ErrExists)
	for i := 1; i < len(firings); i += 2 {
		f.must(errors.Join(outcomes[i].Err, outcomes[i+1].Err))
		f.wantState("deal", firings[i].ID, "OFFER_PENDING", 2)
	}
	f.wantState("deal", there, "DRAFT", 1)
}

func callersTransaction[Tx any]() []engineCase[Tx] {
	return []engineCase[Tx]{
		{"AStepJoinsIt", stepJoins[Tx]},
		{"NothingIsDeliveredBeforeItCommits", nothingBeforeCommit[Tx]},
		{"TheEngineCommitsIt", engineCommits[Tx]},
		{"AnotherInsideTransactIsRefused", nestedInTransact[Tx]},
		{"AnotherInsideAHandlerIsRefused", nestedInHandler[Tx]},
	}
}

// stepJoins writes a row of the caller in the transaction of a step. Both are committed
// or neither.
func stepJoins[Tx any](f *engineFixture[Tx]) {
	f.must(f.Store.InTx(f.ctx, func(tx Tx) error { return f.Exec(f.ctx, tx, "CREATE TABLE entries (n integer NOT NULL)") }))
	id := f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	both := func(n int, after error) error {
		return f.Store.InTx(f.ctx, func(tx Tx) error {
			if err := f.Exec(f.ctx, tx, fmt.Sprintf("INSERT INTO entries (n) VALUES (%d)", n)); err != nil {
				return err
			}
			_, err := f.engine.FireTx(f.ctx, tx, "deal", id, deal.SubmitOffer{}, engine.Call{By: advertiser})
			return errors.Join(err, after)
		})
	}
	changed := errors.New("the caller changed its mind")
	f.wantError(both(1, changed), changed)
	f.wantCount("entries", 0)
	f.wantState("deal", id, "DRAFT", 1)
	f.must(both(2, nil))
	f.wantCount("entries", 1)
	f.wantState("deal", id, "OFFER_PENDING", 2)
}

// nested makes every call that needs a transaction of its own with the context of one.
// Each is refused and changes nothing.
func (f *engineFixture[Tx]) nested(ctx context.Context, id string) {
	f.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // a call that is not refused may block for ever
	defer cancel()
	call := engine.Call{By: advertiser}
	_, fired := f.engine.Fire(ctx, "deal", id, deal.SubmitOffer{}, call)
	_, created := f.engine.Create(ctx, "deal", f.newID(), deal.Create{OwnerID: 8, PriceNano: 100}, call)
	_, batch := f.engine.FireBatch(ctx, []engine.Firing{{Machine: "deal", ID: id, Event: deal.SubmitOffer{}, Call: call}})
	_, resumed := f.engine.Resume(ctx, "deal", id, "ann", "to see")
	for name, err := range map[string]error{
		"Fire": fired, "Create": created, "FireBatch": batch, "Resume": resumed, "Migrate": f.engine.Migrate(ctx),
		"Requeue":  f.engine.Requeue(ctx, uuid(1).String(), "ann", "to see"),
		"Transact": f.engine.Transact(ctx, func(context.Context, *engine.Tx[Tx]) error { return nil }),
	} {
		if !errors.Is(err, engine.ErrNested) {
			f.Errorf("%s says %v", name, err)
		}
	}
	_, err := f.engine.Get(ctx, "deal", id) // reads what was stored before
	f.must(err)
}

func nestedInTransact[Tx any](f *engineFixture[Tx]) {
	id := f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	f.must(f.engine.Transact(f.ctx, func(ctx context.Context, u *engine.Tx[Tx]) error {
		f.nested(ctx, id)
		_, err := u.Fire(ctx, "deal", id, deal.SubmitOffer{}, engine.Call{By: advertiser})
		f.nested(ctx, id)
		return err
	}))
	f.wantState("deal", id, "OFFER_PENDING", 2)
	f.wantCount("deals", 1)
}

func nestedInHandler[Tx any](f *engineFixture[Tx]) {
	id, other := f.offered(), f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	f.mustFire("deal", id, deal.Accept{}, owner)
	f.mustFire("deal", id, deal.AddressReady{DepositAddress: "addr"}, fsm.System())
	f.handlers.inTx = func(ctx context.Context, tx Tx, _ fsm.Dispatch) error {
		f.nested(ctx, other)
		_, err := f.engine.FireTx(ctx, tx, "deal", other, deal.SubmitOffer{}, engine.Call{By: advertiser})
		return err
	}
	f.must(f.Store.InTx(f.ctx, func(tx Tx) error {
		_, err := f.engine.FireTx(f.ctx, tx, "deal", id, deposit(id, 100), engine.Call{By: fsm.System()})
		return err
	}))
	f.wantState("deal", id, "FUNDED", 5)
	f.wantState("deal", other, "OFFER_PENDING", 2)
	f.wantCount("deals", 2)
}

// engineCommits is stepJoins without a transaction of the caller: Transact commits
// several events of one record and a row of the caller, or nothing.
func engineCommits[Tx any](f *engineFixture[Tx]) {
	f.must(f.Store.InTx(f.ctx, func(tx Tx) error { return f.Exec(f.ctx, tx, "CREATE TABLE entries (n integer NOT NULL)") }))
	id := f.newID()
	all := func(n int, after error) error {
		return f.engine.Transact(f.ctx, func(ctx context.Context, u *engine.Tx[Tx]) error {
			if _, err := u.Create(ctx, "deal", id, deal.Create{OwnerID: 8, PriceNano: 100}, engine.Call{By: advertiser}); err != nil {
				return err
			}
			if err := f.Exec(ctx, u.Tx, fmt.Sprintf("INSERT INTO entries (n) VALUES (%d)", n)); err != nil {
				return err
			}
			_, err := u.Fire(ctx, "deal", id, deal.SubmitOffer{}, engine.Call{By: advertiser, IdempotencyKey: "offer"})
			return errors.Join(err, after)
		})
	}
	changed := errors.New("the caller changed its mind")
	f.wantError(all(1, changed), changed)
	f.wantCount("entries", 0)
	f.wantCount("deals", 0)
	f.must(all(2, nil))
	f.wantCount("entries", 1)
	f.wantState("deal", id, "OFFER_PENDING", 2)
	f.wantError(all(3, nil), store.ErrExists)
	f.wantCount("entries", 1)
}

func nothingBeforeCommit[Tx any](f *engineFixture[Tx]) {
	id := f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	f.stepAll()
	worker := f.newEngine(f.Reopen(f.T), f.config)
	f.must(f.Store.InTx(f.ctx, func(tx Tx) error {
		if _, err := f.engine.FireTx(f.ctx, tx, "deal", id, deal.SubmitOffer{}, engine.Call{By: advertiser}); err != nil {
			return err
		}
		n, err := worker.Step(f.ctx)
		if n != 0 {
			f.Errorf("%d effects were delivered before the commit", n)
		}
		return err
	}))
	if n, err := worker.Step(f.ctx); err != nil || n == 0 {
		f.Fatalf("after the commit %d effects were delivered, %v", n, err)
	}
}

func firingAgain[Tx any]() []engineCase[Tx] {
	return []engineCase[Tx]{
		{"TheSameKeyIsReplayed", sameKey[Tx]},
		{"AKeyBelongsToOneEventOfOneRecord", foreignKey[Tx]},
		{"ARefusedEventConsumesNoKey", refusedKey[Tx]},
		{"AnEventHasAKeyOfItsOwn", ownKey[Tx]},
		{"AlreadyThereIsASuccessThatChangesNothing", alreadyThere[Tx]},
		{"CreatingAgainIsExistsUnlessTheKeySaysOtherwise", createAgain[Tx]},
	}
}

func sameKey[Tx any](f *engineFixture[Tx]) {
	id := f.offered()
	counter := func() engine.Outcome {
		o, err := f.engine.Fire(f.ctx, "deal", id, deal.CounterOffer{PriceNano: 90}, engine.Call{By: owner, IdempotencyKey: "k"})
		f.must(err)
		return o
	}
	first := counter()
	if first.Replayed || first.Version != 3 {
		f.Fatalf("the outcome is %s", text(first))
	}
	f.mustFire("deal", id, deal.Agree{}, advertiser)
	f.restart()
	f.advance(100 * 24 * time.Hour)
	if again := counter(); !again.Replayed || again.Version != 3 || len(again.Steps) != 0 {
		f.Fatalf("the outcome is %s", text(again))
	}
	f.wantState("deal", id, "ACCEPTED", 4)
}

func foreignKey[Tx any](f *engineFixture[Tx]) {
	id, other := f.offered(), f.offered()
	key := engine.Call{By: owner, IdempotencyKey: "k"}
	_, err := f.engine.Fire(f.ctx, "deal", id, deal.CounterOffer{PriceNano: 90}, key)
	f.must(err)
	_, err = f.engine.Fire(f.ctx, "deal", other, deal.CounterOffer{PriceNano: 90}, key)
	if e := as[*store.KeyError](f, err); e.RecordID != id || e.Event != "COUNTER_OFFER" {
		f.Fatalf("the error says %+v", e)
	}
	_, err = f.engine.Fire(f.ctx, "deal", id, deal.Agree{}, key)
	f.wantError(err, store.ErrKeyUsed)
	f.wantState("deal", other, "OFFER_PENDING", 2)
	f.wantState("deal", id, "NEGOTIATING", 3)
}

func refusedKey[Tx any](f *engineFixture[Tx]) {
	id := f.offered()
	key := engine.Call{By: owner, IdempotencyKey: "k"}
	_, err := f.engine.Fire(f.ctx, "deal", id, deal.Agree{}, key)
	if x := as[*fsm.Rejection](f, err); x.State != "OFFER_PENDING" {
		f.Fatalf("the refusal says %s", text(x))
	}
	f.wantState("deal", id, "OFFER_PENDING", 2)
	f.mustFire("deal", id, deal.CounterOffer{PriceNano: 90}, owner)
	o, err := f.engine.Fire(f.ctx, "deal", id, deal.Agree{}, key)
	f.must(err)
	if o.Replayed || o.Version != 4 {
		f.Fatalf("the outcome is %s", text(o))
	}
}

// ownKey confirms one deposit twice, and a second one once.
func ownKey[Tx any](f *engineFixture[Tx]) {
	id := f.paid()
	if o := f.mustFire("deal", id, deposit(id, 100), fsm.System()); !o.Replayed {
		f.Fatalf("the outcome is %s", text(o))
	}
	f.wantState("deal", id, "FUNDED", 5)
	if o := f.mustFire("deal", id, deposit("other", 100), fsm.System()); o.Replayed || len(o.Steps) != 1 {
		f.Fatalf("the outcome is %s", text(o))
	}
	f.wantState("deal", id, "FUNDED", 6)
	f.stepAll()
	f.wantCalls("refund_deposit", 1)
	f.wantCalls("ledger_deposit", 1)
}

func alreadyThere[Tx any](f *engineFixture[Tx]) {
	id := f.offered()
	rows := f.Count(f.T, "fsm_outbox")
	if o := f.mustFire("deal", id, deal.SubmitOffer{}, advertiser); !o.AlreadyThere || len(o.Steps) != 0 || o.Version != 2 {
		f.Fatalf("the outcome is %s", text(o))
	}
	f.wantState("deal", id, "OFFER_PENDING", 2)
	f.wantCount("fsm_outbox", rows)
}

func createAgain[Tx any](f *engineFixture[Tx]) {
	id := f.newID()
	create := func(key string) (engine.Outcome, error) {
		return f.engine.Create(f.ctx, "deal", id, deal.Create{OwnerID: 8, PriceNano: 100}, engine.Call{By: advertiser, IdempotencyKey: key})
	}
	_, err := create("k")
	f.must(err)
	_, err = create("")
	f.wantError(err, store.ErrExists)
	again, err := create("k")
	f.must(err)
	if !again.Replayed || again.Version != 1 {
		f.Fatalf("the outcome is %s", text(again))
	}
	f.wantState("deal", id, "DRAFT", 1)
}

func twoWriters[Tx any]() []engineCase[Tx] {
	return []engineCase[Tx]{
		{"ExactlyOneCommitsAndTheOthersGetTheState", exactlyOne[Tx]},
		{"AWorkerThatLostItsLeaseCompletesNothing", slowWorker[Tx]},
	}
}

func exactlyOne[Tx any](f *engineFixture[Tx]) {
	worker := wal.ByWorker("w-1").Caller()
	id := f.mustCreate("wal", wal.Discover{Dataset: "d", ObjectURI: "s3://a", TimeRangeStart: startTime}, worker)
	won := f.concurrently(func(db store.Store[Tx], i int) error {
		_, err := f.newEngine(db, f.config).Fire(f.ctx, "wal", id, wal.Claim{}, engine.Call{By: worker})
		var conflict *store.ConflictError
		var rejection *fsm.Rejection
		switch {
		case errors.As(err, &conflict) && conflict.Version == 2 && conflict.State == "in_progress",
			errors.As(err, &rejection) && rejection.State == "in_progress":
			return store.ErrConflict // it names the present state
		case errors.Is(err, store.ErrConflict):
			return fmt.Errorf("it does not say what is there: %s", err.Error())
		}
		return err
	}, store.ErrConflict)
	if won != 1 {
		f.Fatalf("the record was claimed %d times", won)
	}
	f.wantState("wal", id, "in_progress", 2)
}

// slowWorker has a handler run past the end of its lease. Another worker takes over and
// completes the work. The answer of the first is ignored.
func slowWorker[Tx any](f *engineFixture[Tx]) {
	id := f.offered()
	f.mustFire("deal", id, deal.Accept{}, owner)
	other := f.newEngine(f.Reopen(f.T), f.config)
	f.handlers.set("generate_deposit_address", func(ctx context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		if d.Attempt > 1 {
			return event(deal.AddressReady{DepositAddress: "awake"})
		}
		f.advance(2 * time.Minute)
		_, err := other.Step(f.ctx)
		f.must(err)
		return event(deal.AddressReady{DepositAddress: "asleep"})
	})
	f.stepAll()
	f.wantCalls("generate_deposit_address", 2)
	f.wantState("deal", id, "AWAITING_PAYMENT", 4)
	f.wantCount("deals WHERE deposit_address = 'awake'", 1)
}
