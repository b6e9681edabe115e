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

func oneTransaction[Tx any]() []scene[Tx] {
	return []scene[Tx]{
		{"EverythingOfAStepIsThere", everythingIsThere[Tx]},
		{"AFailingTransactionEffectTakesTheStepWithIt", failingTransactionEffect[Tx]},
		{"AChainIsTwoStepsAndAllOrNothing", chainAllOrNothing[Tx]},
		{"TwoStepIsACheckpoint", twoStepCheckpoint[Tx]},
		{"ABrokenTransactionIsTheStoresFailure", brokenTransaction[Tx]},
		{"ABatchCreatesAndMovesOn", batchCreates[Tx]},
	}
}

func everythingIsThere[Tx any](s *stage[Tx]) {
	id := s.create("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	s.counts("fsm_outbox", 1)
	o := s.accepts("deal", id, deal.SubmitOffer{}, advertiser)
	if o.Version != 2 || len(o.Steps) != 1 || o.Correlation == "" {
		s.Fatalf("the outcome is %s", text(o))
	}
	s.in("deal", id, "OFFER_PENDING", 2)
	s.counts("fsm_outbox WHERE effect = 'notify_owner' AND version = 2", 1)
	s.counts("fsm_outbox WHERE effect = 'deal.events'", 2)
	s.counts("fsm_deadlines WHERE event = 'EXPIRE'", 1)
}

func failingTransactionEffect[Tx any](s *stage[Tx]) {
	id := s.offered()
	s.accepts("deal", id, deal.Accept{}, owner)
	s.accepts("deal", id, deal.AddressReady{DepositAddress: "a"}, fsm.System())
	before := s.Count(s.T, "fsm_outbox")
	broken := errors.New("the ledger is closed")
	s.script.inTx = func(context.Context, Tx, fsm.Dispatch) error { return broken }
	_, err := s.engine.Fire(s.ctx, "deal", id, deposit("1", 100), engine.Call{By: fsm.System()})
	if !errors.Is(err, broken) {
		s.Fatalf("the error is %v", err)
	}
	s.in("deal", id, "AWAITING_PAYMENT", 4)
	s.counts("fsm_outbox", before)
	s.counts("fsm_keys", 0)
	s.counts("fsm_deadlines", 1)
	s.script.inTx = nil
	s.accepts("deal", id, deposit("1", 100), fsm.System())
	s.in("deal", id, "FUNDED", 5)
}

// brokenTransaction breaks the transaction under a handler. That is no failure of
// the event, which can be fired again; a handler that fails by itself is one.
func brokenTransaction[Tx any](s *stage[Tx]) {
	id := s.offered()
	s.accepts("deal", id, deal.Accept{}, owner)
	s.accepts("deal", id, deal.AddressReady{DepositAddress: "addr"}, fsm.System())
	fire := func() error {
		_, err := s.engine.Fire(s.ctx, "deal", id, deposit(id, 100), engine.Call{By: fsm.System()})
		return err
	}
	s.script.inTx = func(ctx context.Context, tx Tx, _ fsm.Dispatch) error {
		return fmt.Errorf("insert into the ledger: %w", s.Break(ctx, tx))
	}
	err := fire()
	s.wants(err, store.ErrStore)
	if h := as[*engine.HandlerError](s, err); h.Effect != "ledger_deposit" || s.counted(engine.MetricFatal) != 0 {
		s.Fatalf("the error is %v, and %d events count as unrecordable", err, s.counted(engine.MetricFatal))
	}
	s.script.inTx = func(context.Context, Tx, fsm.Dispatch) error {
		return fmt.Errorf("insert into the ledger: deadlock: %w", store.ErrConflict)
	}
	if err := fire(); !errors.Is(err, store.ErrConflict) || s.counted(engine.MetricFatal) != 0 {
		s.Fatalf("the error is %v, and %d events count as unrecordable", err, s.counted(engine.MetricFatal))
	}
	s.script.inTx = func(context.Context, Tx, fsm.Dispatch) error { return errors.New("the ledger is closed") }
	if err := fire(); errors.Is(err, store.ErrStore) || s.counted(engine.MetricFatal) != 1 {
		s.Fatalf("the error is %v, and %d events count as unrecordable", err, s.counted(engine.MetricFatal))
	}
	s.in("deal", id, "AWAITING_PAYMENT", 4)
	s.script.inTx = nil
	s.must(fire())
	s.in("deal", id, "FUNDED", 5)
}

// validating makes a download whose file waits for validation.
func (s *stage[Tx]) validating(image string) string {
	s.Helper()
	id := s.create("download", download.Start{ImageID: image, S3Key: "k", Bucket: "b"}, fsm.System())
	s.accepts("download", id, download.Checked{}, fsm.System())
	s.accepts("download", id, download.Downloaded{LocalPath: "/x", Checksum: "c", SizeBytes: 3}, fsm.System())
	return id
}

var valid = download.Validated{ChecksumOk: true, StructureOk: true, SecurityOk: true}

// chainAllOrNothing has the second step of a chain start a run that can't be
// started, since another of its image has not ended.
func chainAllOrNothing[Tx any](s *stage[Tx]) {
	other := s.create("unpack", unpack.Start{ImageID: "img", LocalPath: "/x", Checksum: "c", PoolName: "p"}, fsm.System())
	id := s.validating("img")
	_, err := s.engine.Fire(s.ctx, "download", id, valid, engine.Call{By: fsm.System()})
	s.wants(err, store.ErrExists)
	s.in("download", id, "validate", 3)
	s.image("img", "completed", 0)

	s.accepts("unpack", other, unpack.CheckFailed{Cause: "x"}, fsm.System())
	o := s.accepts("download", id, valid, fsm.System())
	if len(o.Steps) != 2 || o.Steps[0].To != "store-metadata" || o.Steps[1].To != "COMPLETE" {
		s.Fatalf("the steps are %s", text(o.Steps))
	}
	s.in("download", id, "COMPLETE", 5)
	s.image("img", "completed", 1)
	s.counts("unpack_records WHERE state = 'check-unpacked'", 1)
}

func twoStepCheckpoint[Tx any](s *stage[Tx]) {
	id := s.validating("img")
	s.config.TwoStep = true
	s.restart()
	o := s.accepts("download", id, valid, fsm.System())
	if len(o.Steps) != 1 {
		s.Fatalf("the steps are %s", text(o.Steps))
	}
	s.in("download", id, "store-metadata", 4)
	s.image("img", "completed", 0)
	s.restart() // the process dies at the checkpoint
	s.steps()
	s.in("download", id, "COMPLETE", 5)
	s.image("img", "completed", 1)
}

// batchCreates makes more records than one statement is for; one is there already.
func batchCreates[Tx any](s *stage[Tx]) {
	there := s.create("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	firings := []engine.Firing{{Machine: "deal", ID: there, Event: deal.Create{OwnerID: 8, PriceNano: 100}, Create: true}}
	for range 12 {
		id := s.id()
		firings = append(firings, engine.Firing{Machine: "deal", ID: id, Event: deal.Create{OwnerID: 8, PriceNano: 100}, Create: true},
			engine.Firing{Machine: "deal", ID: id, Event: deal.SubmitOffer{}})
	}
	for i := range firings {
		firings[i].Call = engine.Call{By: advertiser}
	}
	outcomes, err := s.engine.FireBatch(s.ctx, firings)
	s.must(err)
	s.wants(outcomes[0].Err, store.ErrExists)
	for i := 1; i < len(firings); i += 2 {
		s.must(errors.Join(outcomes[i].Err, outcomes[i+1].Err))
		s.in("deal", firings[i].ID, "OFFER_PENDING", 2)
	}
	s.in("deal", there, "DRAFT", 1)
}

func callersTransaction[Tx any]() []scene[Tx] {
	return []scene[Tx]{
		{"AStepJoinsIt", stepJoins[Tx]},
		{"NothingIsDeliveredBeforeItCommits", nothingBeforeCommit[Tx]},
		{"TheEngineCommitsItForHim", engineCommits[Tx]},
		{"AnotherInsideTransactIsRefused", nestedInTransact[Tx]},
		{"AnotherInsideAHandlerIsRefused", nestedInHandler[Tx]},
	}
}

// stepJoins writes a row of the caller's own beside a step: both or none.
func stepJoins[Tx any](s *stage[Tx]) {
	s.must(s.Store.InTx(s.ctx, func(tx Tx) error { return s.Exec(s.ctx, tx, "CREATE TABLE entries (n integer NOT NULL)") }))
	id := s.create("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	both := func(n int, after error) error {
		return s.Store.InTx(s.ctx, func(tx Tx) error {
			if err := s.Exec(s.ctx, tx, fmt.Sprintf("INSERT INTO entries (n) VALUES (%d)", n)); err != nil {
				return err
			}
			_, err := s.engine.FireTx(s.ctx, tx, "deal", id, deal.SubmitOffer{}, engine.Call{By: advertiser})
			return errors.Join(err, after)
		})
	}
	changed := errors.New("the caller changed its mind")
	s.wants(both(1, changed), changed)
	s.counts("entries", 0)
	s.in("deal", id, "DRAFT", 1)
	s.must(both(2, nil))
	s.counts("entries", 1)
	s.in("deal", id, "OFFER_PENDING", 2)
}

// nested makes every call that needs a transaction of its own with the context of
// one. Each is refused, and changes nothing.
func (s *stage[Tx]) nested(ctx context.Context, id string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // one that is not refused may wait for ever
	defer cancel()
	call := engine.Call{By: advertiser}
	_, fired := s.engine.Fire(ctx, "deal", id, deal.SubmitOffer{}, call)
	_, created := s.engine.Create(ctx, "deal", s.id(), deal.Create{OwnerID: 8, PriceNano: 100}, call)
	_, batch := s.engine.FireBatch(ctx, []engine.Firing{{Machine: "deal", ID: id, Event: deal.SubmitOffer{}, Call: call}})
	_, resumed := s.engine.Resume(ctx, "deal", id, "ann", "to see")
	for name, err := range map[string]error{
		"Fire": fired, "Create": created, "FireBatch": batch, "Resume": resumed, "Migrate": s.engine.Migrate(ctx),
		"Requeue":  s.engine.Requeue(ctx, uuid(1).String(), "ann", "to see"),
		"Transact": s.engine.Transact(ctx, func(context.Context, *engine.Tx[Tx]) error { return nil }),
	} {
		if !errors.Is(err, engine.ErrNested) {
			s.Errorf("%s says %v", name, err)
		}
	}
	_, err := s.engine.Get(ctx, "deal", id) // what was there before the transaction
	s.must(err)
}

func nestedInTransact[Tx any](s *stage[Tx]) {
	id := s.create("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	s.must(s.engine.Transact(s.ctx, func(ctx context.Context, u *engine.Tx[Tx]) error {
		s.nested(ctx, id)
		_, err := u.Fire(ctx, "deal", id, deal.SubmitOffer{}, engine.Call{By: advertiser})
		s.nested(ctx, id)
		return err
	}))
	s.in("deal", id, "OFFER_PENDING", 2)
	s.counts("deals", 1)
}

func nestedInHandler[Tx any](s *stage[Tx]) {
	id, other := s.offered(), s.create("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	s.accepts("deal", id, deal.Accept{}, owner)
	s.accepts("deal", id, deal.AddressReady{DepositAddress: "addr"}, fsm.System())
	s.script.inTx = func(ctx context.Context, tx Tx, _ fsm.Dispatch) error {
		s.nested(ctx, other)
		_, err := s.engine.FireTx(ctx, tx, "deal", other, deal.SubmitOffer{}, engine.Call{By: advertiser})
		return err
	}
	s.must(s.Store.InTx(s.ctx, func(tx Tx) error {
		_, err := s.engine.FireTx(s.ctx, tx, "deal", id, deposit(id, 100), engine.Call{By: fsm.System()})
		return err
	}))
	s.in("deal", id, "FUNDED", 5)
	s.in("deal", other, "OFFER_PENDING", 2)
	s.counts("deals", 2)
}

// engineCommits is stepJoins for who has no transaction: several events of one
// record and a row of the caller's own, both or none.
func engineCommits[Tx any](s *stage[Tx]) {
	s.must(s.Store.InTx(s.ctx, func(tx Tx) error { return s.Exec(s.ctx, tx, "CREATE TABLE entries (n integer NOT NULL)") }))
	id := s.id()
	all := func(n int, after error) error {
		return s.engine.Transact(s.ctx, func(ctx context.Context, u *engine.Tx[Tx]) error {
			if _, err := u.Create(ctx, "deal", id, deal.Create{OwnerID: 8, PriceNano: 100}, engine.Call{By: advertiser}); err != nil {
				return err
			}
			if err := s.Exec(ctx, u.Tx, fmt.Sprintf("INSERT INTO entries (n) VALUES (%d)", n)); err != nil {
				return err
			}
			_, err := u.Fire(ctx, "deal", id, deal.SubmitOffer{}, engine.Call{By: advertiser, IdempotencyKey: "offer"})
			return errors.Join(err, after)
		})
	}
	changed := errors.New("the caller changed its mind")
	s.wants(all(1, changed), changed)
	s.counts("entries", 0)
	s.counts("deals", 0)
	s.must(all(2, nil))
	s.counts("entries", 1)
	s.in("deal", id, "OFFER_PENDING", 2)
	s.wants(all(3, nil), store.ErrExists)
	s.counts("entries", 1)
}

func nothingBeforeCommit[Tx any](s *stage[Tx]) {
	id := s.create("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	s.steps()
	worker := s.open(s.Reopen(s.T), s.config)
	s.must(s.Store.InTx(s.ctx, func(tx Tx) error {
		if _, err := s.engine.FireTx(s.ctx, tx, "deal", id, deal.SubmitOffer{}, engine.Call{By: advertiser}); err != nil {
			return err
		}
		n, err := worker.Step(s.ctx)
		if n != 0 {
			s.Errorf("%d effects were delivered before the commit", n)
		}
		return err
	}))
	if n, err := worker.Step(s.ctx); err != nil || n == 0 {
		s.Fatalf("after the commit %d effects were delivered, %v", n, err)
	}
}

func firingAgain[Tx any]() []scene[Tx] {
	return []scene[Tx]{
		{"TheSameKeyIsReplayed", sameKey[Tx]},
		{"AKeyBelongsToOneEventOfOneRecord", foreignKey[Tx]},
		{"ARefusedEventConsumesNoKey", refusedKey[Tx]},
		{"AnEventHasAKeyOfItsOwn", ownKey[Tx]},
		{"AlreadyThereIsASuccessThatChangesNothing", alreadyThere[Tx]},
		{"CreatingAgainIsExistsUnlessTheKeySaysOtherwise", createAgain[Tx]},
	}
}

func sameKey[Tx any](s *stage[Tx]) {
	id := s.offered()
	counter := func() engine.Outcome {
		o, err := s.engine.Fire(s.ctx, "deal", id, deal.CounterOffer{PriceNano: 90}, engine.Call{By: owner, IdempotencyKey: "k"})
		s.must(err)
		return o
	}
	first := counter()
	if first.Replayed || first.Version != 3 {
		s.Fatalf("the outcome is %s", text(first))
	}
	s.accepts("deal", id, deal.Agree{}, advertiser)
	s.restart()
	s.tick(100 * 24 * time.Hour)
	if again := counter(); !again.Replayed || again.Version != 3 || len(again.Steps) != 0 {
		s.Fatalf("the outcome is %s", text(again))
	}
	s.in("deal", id, "ACCEPTED", 4)
}

func foreignKey[Tx any](s *stage[Tx]) {
	id, other := s.offered(), s.offered()
	key := engine.Call{By: owner, IdempotencyKey: "k"}
	_, err := s.engine.Fire(s.ctx, "deal", id, deal.CounterOffer{PriceNano: 90}, key)
	s.must(err)
	_, err = s.engine.Fire(s.ctx, "deal", other, deal.CounterOffer{PriceNano: 90}, key)
	if e := as[*store.KeyError](s, err); e.RecordID != id || e.Event != "COUNTER_OFFER" {
		s.Fatalf("the error says %+v", e)
	}
	_, err = s.engine.Fire(s.ctx, "deal", id, deal.Agree{}, key)
	s.wants(err, store.ErrKeyUsed)
	s.in("deal", other, "OFFER_PENDING", 2)
	s.in("deal", id, "NEGOTIATING", 3)
}

func refusedKey[Tx any](s *stage[Tx]) {
	id := s.offered()
	key := engine.Call{By: owner, IdempotencyKey: "k"}
	_, err := s.engine.Fire(s.ctx, "deal", id, deal.Agree{}, key)
	if x := as[*fsm.Rejection](s, err); x.State != "OFFER_PENDING" {
		s.Fatalf("the refusal says %s", text(x))
	}
	s.in("deal", id, "OFFER_PENDING", 2)
	s.accepts("deal", id, deal.CounterOffer{PriceNano: 90}, owner)
	o, err := s.engine.Fire(s.ctx, "deal", id, deal.Agree{}, key)
	s.must(err)
	if o.Replayed || o.Version != 4 {
		s.Fatalf("the outcome is %s", text(o))
	}
}

// ownKey confirms one deposit twice, and a second one once.
func ownKey[Tx any](s *stage[Tx]) {
	id := s.paid()
	if o := s.accepts("deal", id, deposit(id, 100), fsm.System()); !o.Replayed {
		s.Fatalf("the outcome is %s", text(o))
	}
	s.in("deal", id, "FUNDED", 5)
	if o := s.accepts("deal", id, deposit("other", 100), fsm.System()); o.Replayed || len(o.Steps) != 1 {
		s.Fatalf("the outcome is %s", text(o))
	}
	s.in("deal", id, "FUNDED", 6)
	s.steps()
	s.only("refund_deposit", 1)
	s.only("ledger_deposit", 1)
}

func alreadyThere[Tx any](s *stage[Tx]) {
	id := s.offered()
	rows := s.Count(s.T, "fsm_outbox")
	if o := s.accepts("deal", id, deal.SubmitOffer{}, advertiser); !o.AlreadyThere || len(o.Steps) != 0 || o.Version != 2 {
		s.Fatalf("the outcome is %s", text(o))
	}
	s.in("deal", id, "OFFER_PENDING", 2)
	s.counts("fsm_outbox", rows)
}

func createAgain[Tx any](s *stage[Tx]) {
	id := s.id()
	create := func(key string) (engine.Outcome, error) {
		return s.engine.Create(s.ctx, "deal", id, deal.Create{OwnerID: 8, PriceNano: 100}, engine.Call{By: advertiser, IdempotencyKey: key})
	}
	_, err := create("k")
	s.must(err)
	_, err = create("")
	s.wants(err, store.ErrExists)
	again, err := create("k")
	s.must(err)
	if !again.Replayed || again.Version != 1 {
		s.Fatalf("the outcome is %s", text(again))
	}
	s.in("deal", id, "DRAFT", 1)
}

func twoWriters[Tx any]() []scene[Tx] {
	return []scene[Tx]{
		{"ExactlyOneCommitsAndTheOthersHearWhatIsThere", exactlyOne[Tx]},
		{"AWorkerThatLostItsLeaseCompletesNothing", sleepyWorker[Tx]},
	}
}

func exactlyOne[Tx any](s *stage[Tx]) {
	worker := wal.ByWorker("w-1").Caller()
	id := s.create("wal", wal.Discover{Dataset: "d", ObjectURI: "s3://a", TimeRangeStart: epoch}, worker)
	won := s.atOnce(func(db store.Store[Tx], i int) error {
		_, err := s.open(db, s.config).Fire(s.ctx, "wal", id, wal.Claim{}, engine.Call{By: worker})
		var conflict *store.ConflictError
		var rejection *fsm.Rejection
		switch {
		case errors.As(err, &conflict) && conflict.Version == 2 && conflict.State == "in_progress",
			errors.As(err, &rejection) && rejection.State == "in_progress":
			return store.ErrConflict // says what is there now
		case errors.Is(err, store.ErrConflict):
			return fmt.Errorf("it does not say what is there: %s", err.Error())
		}
		return err
	}, store.ErrConflict)
	if won != 1 {
		s.Fatalf("the record was claimed %d times", won)
	}
	s.in("wal", id, "in_progress", 2)
}

// sleepyWorker has a handler sleep past its lease. Another worker takes over
// and completes the work; what the sleeper brings is no longer wanted.
func sleepyWorker[Tx any](s *stage[Tx]) {
	id := s.offered()
	s.accepts("deal", id, deal.Accept{}, owner)
	other := s.open(s.Reopen(s.T), s.config)
	s.script.on("generate_deposit_address", func(ctx context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		if d.Attempt > 1 {
			return event(deal.AddressReady{DepositAddress: "awake"})
		}
		s.tick(2 * time.Minute)
		_, err := other.Step(s.ctx)
		s.must(err)
		return event(deal.AddressReady{DepositAddress: "asleep"})
	})
	s.steps()
	s.only("generate_deposit_address", 2)
	s.in("deal", id, "AWAITING_PAYMENT", 4)
	s.counts("deals WHERE deposit_address = 'awake'", 1)
}
