package enginecases

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/generated/wal"
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

func callersTransaction[Tx any]() []testCase[Tx] {
	return []testCase[Tx]{
		{"AStepJoinsIt", stepJoins[Tx]},
		{"NothingIsDeliveredBeforeItCommits", nothingBeforeCommit[Tx]},
		{"TheEngineCommitsIt", engineCommits[Tx]},
		{"AnotherInsideTransactIsRefused", nestedInTransact[Tx]},
		{"AnotherInsideAHandlerIsRefused", nestedInHandler[Tx]},
	}
}

// stepJoins writes a row of the caller in the transaction of a step. Both are committed
// or neither.
func stepJoins[Tx any](f *fixture[Tx]) {
	f.Must(f.Store.InTx(f.Context(), func(tx Tx) error { return f.Exec(f.Context(), tx, "CREATE TABLE entries (n integer NOT NULL)") }))
	id := f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, storetest.Advertiser)
	both := func(n int, after error) error {
		return f.Store.InTx(f.Context(), func(tx Tx) error {
			if err := f.Exec(f.Context(), tx, fmt.Sprintf("INSERT INTO entries (n) VALUES (%d)", n)); err != nil {
				return err
			}
			_, err := f.engine.FireTx(f.Context(), tx, "deal", id, deal.SubmitOffer{}, engine.Call{By: storetest.Advertiser})
			return errors.Join(err, after)
		})
	}
	changed := errors.New("the caller changed its mind")
	f.WantError(both(1, changed), changed)
	f.WantCount("entries", 0)
	f.wantState("deal", id, "DRAFT", 1)
	f.Must(both(2, nil))
	f.WantCount("entries", 1)
	f.wantState("deal", id, "OFFER_PENDING", 2)
}

// lastResort is how long one call may take that can block for ever. No computer is busy
// for so long.
const lastResort = 5 * time.Minute

// nested makes every call that needs a transaction of its own with the context of one.
// Each is refused and changes nothing.
func (f *fixture[Tx]) nested(ctx context.Context, id string) {
	f.Helper()
	by := engine.Call{By: storetest.Advertiser}
	for name, call := range map[string]func(ctx context.Context) error{
		"Fire": func(ctx context.Context) error {
			_, err := f.engine.Fire(ctx, "deal", id, deal.SubmitOffer{}, by)
			return err
		},
		"Create": func(ctx context.Context) error {
			_, err := f.engine.Create(ctx, "deal", f.NewID(), deal.Create{OwnerID: 8, PriceNano: 100}, by)
			return err
		},
		"FireBatch": func(ctx context.Context) error {
			_, err := f.engine.FireBatch(ctx, []engine.Firing{{Machine: "deal", ID: id, Event: deal.SubmitOffer{}, Call: by}})
			return err
		},
		"Resume": func(ctx context.Context) error {
			_, err := f.engine.Resume(ctx, "deal", id, "ann", "to see")
			return err
		},
		"Migrate": f.engine.Migrate,
		"Requeue": func(ctx context.Context) error {
			return f.engine.Requeue(ctx, storetest.UUID(1).String(), "ann", "to see")
		},
		"Transact": func(ctx context.Context) error {
			return f.engine.Transact(ctx, func(context.Context, *engine.Tx[Tx]) error { return nil })
		},
	} {
		ctx, cancel := context.WithTimeout(ctx, lastResort) // a call that is not refused may block for ever
		if err := call(ctx); !errors.Is(err, engine.ErrNested) {
			f.Errorf("%s says %v", name, err)
		}
		cancel()
	}
	_, err := f.engine.Get(ctx, "deal", id) // reads what was stored before
	f.Must(err)
}

func nestedInTransact[Tx any](f *fixture[Tx]) {
	id := f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, storetest.Advertiser)
	f.Must(f.engine.Transact(f.Context(), func(ctx context.Context, u *engine.Tx[Tx]) error {
		f.nested(ctx, id)
		_, err := u.Fire(ctx, "deal", id, deal.SubmitOffer{}, engine.Call{By: storetest.Advertiser})
		f.nested(ctx, id)
		return err
	}))
	f.wantState("deal", id, "OFFER_PENDING", 2)
	f.WantCount("deals", 1)
}

func nestedInHandler[Tx any](f *fixture[Tx]) {
	id, other := f.offered(), f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, storetest.Advertiser)
	f.mustFire("deal", id, deal.Accept{}, storetest.Owner)
	f.mustFire("deal", id, deal.AddressReady{DepositAddress: "addr"}, fsm.System())
	f.handlers.inTx = func(ctx context.Context, tx Tx, _ fsm.Dispatch) error {
		f.nested(ctx, other)
		_, err := f.engine.FireTx(ctx, tx, "deal", other, deal.SubmitOffer{}, engine.Call{By: storetest.Advertiser})
		return err
	}
	f.Must(f.Store.InTx(f.Context(), func(tx Tx) error {
		_, err := f.engine.FireTx(f.Context(), tx, "deal", id, deposit(id, 100), engine.Call{By: fsm.System()})
		return err
	}))
	f.wantState("deal", id, "FUNDED", 5)
	f.wantState("deal", other, "OFFER_PENDING", 2)
	f.WantCount("deals", 2)
}

// engineCommits is stepJoins without a transaction of the caller: Transact commits
// several events of one record and a row of the caller, or nothing.
func engineCommits[Tx any](f *fixture[Tx]) {
	f.Must(f.Store.InTx(f.Context(), func(tx Tx) error { return f.Exec(f.Context(), tx, "CREATE TABLE entries (n integer NOT NULL)") }))
	id := f.NewID()
	all := func(n int, after error) error {
		return f.engine.Transact(f.Context(), func(ctx context.Context, u *engine.Tx[Tx]) error {
			if _, err := u.Create(ctx, "deal", id, deal.Create{OwnerID: 8, PriceNano: 100}, engine.Call{By: storetest.Advertiser}); err != nil {
				return err
			}
			if err := f.Exec(ctx, u.Tx, fmt.Sprintf("INSERT INTO entries (n) VALUES (%d)", n)); err != nil {
				return err
			}
			_, err := u.Fire(ctx, "deal", id, deal.SubmitOffer{}, engine.Call{By: storetest.Advertiser, IdempotencyKey: "offer"})
			return errors.Join(err, after)
		})
	}
	changed := errors.New("the caller changed its mind")
	f.WantError(all(1, changed), changed)
	f.WantCount("entries", 0)
	f.WantCount("deals", 0)
	f.Must(all(2, nil))
	f.WantCount("entries", 1)
	f.wantState("deal", id, "OFFER_PENDING", 2)
	f.WantError(all(3, nil), store.ErrExists)
	f.WantCount("entries", 1)
}

func nothingBeforeCommit[Tx any](f *fixture[Tx]) {
	id := f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, storetest.Advertiser)
	f.stepAll()
	worker := f.newEngine(f.Reopen(f.T), f.config)
	f.Must(f.Store.InTx(f.Context(), func(tx Tx) error {
		if _, err := f.engine.FireTx(f.Context(), tx, "deal", id, deal.SubmitOffer{}, engine.Call{By: storetest.Advertiser}); err != nil {
			return err
		}
		n, err := worker.Step(f.Context())
		if n != 0 {
			f.Errorf("%d effects were delivered before the commit", n)
		}
		return err
	}))
	if n, err := worker.Step(f.Context()); err != nil || n == 0 {
		f.Fatalf("after the commit %d effects were delivered, %v", n, err)
	}
}

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

func twoWriters[Tx any]() []testCase[Tx] {
	return []testCase[Tx]{
		{"ExactlyOneCommitsAndTheOthersGetTheState", exactlyOne[Tx]},
		{"AWorkerThatLostItsLeaseCompletesNothing", slowWorker[Tx]},
	}
}

func exactlyOne[Tx any](f *fixture[Tx]) {
	worker := wal.ByWorker("w-1").Caller()
	id := f.mustCreate("wal", wal.Discover{Dataset: "d", ObjectURI: "s3://a", TimeRangeStart: storetest.StartTime}, worker)
	won := f.Concurrently(func(db store.Store[Tx], i int) error {
		_, err := f.newEngine(db, f.config).Fire(f.Context(), "wal", id, wal.Claim{}, engine.Call{By: worker})
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
func slowWorker[Tx any](f *fixture[Tx]) {
	id := f.offered()
	f.mustFire("deal", id, deal.Accept{}, storetest.Owner)
	other := f.newEngine(f.Reopen(f.T), f.config)
	f.handlers.set("generate_deposit_address", func(ctx context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		if d.Attempt > 1 {
			return event(deal.AddressReady{DepositAddress: "awake"})
		}
		f.advance(2 * time.Minute)
		_, err := other.Step(f.Context())
		f.Must(err)
		return event(deal.AddressReady{DepositAddress: "asleep"})
	})
	f.stepAll()
	f.wantCalls("generate_deposit_address", 2)
	f.wantState("deal", id, "AWAITING_PAYMENT", 4)
	f.WantCount("deals WHERE deposit_address = 'awake'", 1)
}
