package enginecases

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/proptest/storetest"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func deliveryClasses[Tx any]() []testCase[Tx] {
	return []testCase[Tx]{
		{"ATransactionEffectWritesWithItsStep", transactionEffect[Tx]},
		{"KeyedRepeatsCarryTheSameKey", keyedRepeats[Tx]},
		{"AQueryableEffectIsAskedForBeforeItsFirstClaim", queryableAskedFirst[Tx]},
		{"AQueryableEffectIsAskedForBeforeARepeat", queryableAsked[Tx]},
		{"AQueryableEffectThatIsNotThereIsRepeated", queryableRepeated[Tx]},
		{"AnAtMostOnceEffectIsNotRepeatedItsLossIsAnEvent", atMostOnce[Tx]},
		{"ACleanupRunsBeforeARepeat", cleanupFirst[Tx]},
		{"OneDestinationIsInOrderOthersGoOn", destinations[Tx]},
		{"ADeadLetterBlocksUntilAnOperatorRequeuesIt", requeued[Tx]},
		{"ADeadLetterBlocksUntilAnOperatorDiscardsIt", discarded[Tx]},
		{"AMessageIsDeliveredThoughItsStateWasLeft", messageStays[Tx]},
		{"AReturnThatIsADeadLetterHoldsBackNoPayout", returnRefused[Tx]},
	}
}

func transactionEffect[Tx any](f *fixture[Tx]) {
	f.Must(f.Store.InTx(f.Context(), func(tx Tx) error { return f.Exec(f.Context(), tx, "CREATE TABLE ledger (n integer NOT NULL)") }))
	f.handlers.inTx = func(ctx context.Context, tx Tx, d fsm.Dispatch) error {
		return f.Exec(ctx, tx, "INSERT INTO ledger (n) VALUES (1)")
	}
	id := f.paid()
	f.wantCalls("ledger_deposit", 1)
	f.WantCount("ledger", 1)
	f.mustFire("deal", id, deposit(id, 100), fsm.System()) // replayed
	f.WantCount("ledger", 1)
	f.WantCount("fsm_outbox WHERE effect = 'ledger_deposit'", 0)
}

func keyedRepeats[Tx any](f *fixture[Tx]) {
	f.handlers.fail("deal.events")
	f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, storetest.Advertiser)
	for range 3 {
		f.stepAll()
		f.advance(time.Hour)
	}
	calls := f.wantCalls("deal.events", 3)
	for i, d := range calls {
		if d.ID != calls[0].ID || d.Attempt != i+1 || string(d.Payload) != string(calls[0].Payload) {
			f.Errorf("attempt %d is %s, the first %s", i+1, storetest.Text(d), storetest.Text(calls[0]))
		}
	}
}

// refunding creates a deal whose refund is requested. Its first attempt fails without
// saying whether the money was sent.
func (f *fixture[Tx]) refunding() (id string) {
	f.Helper()
	id = f.paid()
	f.handlers.fail("execute_refund")
	f.mustFire("deal", id, deal.MutualCancel{}, storetest.Owner)
	f.mustFire("deal", id, deal.MutualCancel{}, storetest.Advertiser)
	f.stepAll()
	f.wantCalls("execute_refund", 1)
	// The message was not inserted claimed, so it was queried before the first attempt.
	if len(f.handlers.queries) != 1 {
		f.Fatalf("before the first attempt it was asked for by %s", storetest.Text(f.handlers.queries))
	}
	f.advance(time.Hour)
	return id
}

// queryableAskedFirst has the refund happen before the first attempt that the message
// knows of, as after a restore of the database.
func queryableAskedFirst[Tx any](f *fixture[Tx]) {
	f.handlers.set("?execute_refund", func(context.Context, fsm.Dispatch) (*fsm.Event, error) { return nil, nil }) // it is there
	id := f.paid()
	f.mustFire("deal", id, deal.MutualCancel{}, storetest.Owner)
	f.mustFire("deal", id, deal.MutualCancel{}, storetest.Advertiser)
	f.stepAll()
	f.wantCalls("execute_refund", 0)
	f.WantCount("fsm_outbox WHERE effect = 'execute_refund' AND state = 'delivered'", 1)
}

func queryableAsked[Tx any](f *fixture[Tx]) {
	f.refunding()
	f.handlers.set("?execute_refund", func(context.Context, fsm.Dispatch) (*fsm.Event, error) { return nil, nil }) // it is there
	f.stepAll()
	f.wantCalls("execute_refund", 1)
	f.WantCount("fsm_outbox WHERE effect = 'execute_refund' AND state = 'delivered'", 1)
}

func queryableRepeated[Tx any](f *fixture[Tx]) {
	f.refunding()
	f.handlers.set("execute_refund", nil)
	f.stepAll()
	calls := f.wantCalls("execute_refund", 2)
	if len(f.handlers.queries) != 2 || f.handlers.queries[1].ID != calls[1].ID {
		f.Fatalf("it was asked for by %s", storetest.Text(f.handlers.queries))
	}
	f.WantCount("fsm_outbox WHERE effect = 'execute_refund' AND state = 'delivered'", 1)
}

// dieHolding claims what is due and does nothing with it, as a worker that dies. It
// returns the claimed effects and events. Their leases are over when it returns.
func (f *fixture[Tx]) dieHolding() (held []string) {
	f.Helper()
	c := f.Claim(0, f.Now())
	c.Token = f.token()
	tasks, err := f.Store.Claim(f.Context(), c)
	f.Must(err)
	for _, t := range tasks {
		held = append(held, t.Effect.Effect+t.Deadline.Event.Name)
	}
	f.advance(time.Minute)
	return held
}

// extracting creates a run that is about to extract.
func (f *fixture[Tx]) extracting() string {
	f.Helper()
	f.handlers.answer("check_unpacked", unpack.Checked{DeviceID: "12345678"})
	f.handlers.answer("create_device", unpack.DeviceReady{DevicePath: "/dev/x"})
	id := f.mustCreate("unpack", unpack.Start{ImageID: "img", LocalPath: "/x", Checksum: "c", PoolName: "p"}, fsm.System())
	for range 2 {
		_, err := f.engine.Step(f.Context())
		f.Must(err)
	}
	f.wantState("unpack", id, "extract-layers", 3)
	return id
}

func atMostOnce[Tx any](f *fixture[Tx]) {
	id := f.extracting()
	if held := f.dieHolding(); !slices.Equal(held, []string{"extract_layers"}) {
		f.Fatalf("the dead worker held %v", held)
	}
	f.handlers.set("create_device", nil)
	_, err := f.engine.Step(f.Context())
	f.Must(err)
	f.wantCalls("extract_layers", 0)
	f.wantState("unpack", id, "create-device", 4)
	f.WantCount("unpack_history WHERE event_type = 'EXTRACT_LOST'", 1)
}

// cleanupFirst has a worker die while it creates a device. The device is queried, its
// remains are destroyed, and it is created again.
func cleanupFirst[Tx any](f *fixture[Tx]) {
	f.handlers.answer("check_unpacked", unpack.Checked{DeviceID: "12345678"})
	id := f.mustCreate("unpack", unpack.Start{ImageID: "img", LocalPath: "/x", Checksum: "c", PoolName: "p"}, fsm.System())
	_, err := f.engine.Step(f.Context())
	f.Must(err)
	if held := f.dieHolding(); !slices.Equal(held, []string{"create_device"}) {
		f.Fatalf("the dead worker held %v", held)
	}
	f.handlers.answer("create_device", unpack.DeviceReady{DevicePath: "/dev/x"})
	_, err = f.engine.Step(f.Context())
	f.Must(err)
	if got := f.handlers.order(); !slices.Equal(got, []string{"check_unpacked", "destroy_device", "create_device"}) || len(f.handlers.queries) != 1 {
		f.Fatalf("called %v, asked %d times", got, len(f.handlers.queries))
	}
	f.wantState("unpack", id, "extract-layers", 3)
}

// publishing creates a deal that requests two effects of the scheduler, to enable
// publishing and then to schedule the post, and effects of other destinations.
func (f *fixture[Tx]) publishing() string {
	f.Helper()
	id := f.paid()
	f.mustFire("deal", id, deal.SubmitDraft{Creative: fsm.JSON(`{}`)}, storetest.Owner)
	f.stepAll()
	f.handlers.mu.Lock()
	f.handlers.calls = nil
	f.handlers.mu.Unlock()
	f.mustFire("deal", id, deal.Approve{}, storetest.Advertiser)
	f.mustFire("deal", id, deal.SetPublishTime{PublishAt: f.Now()}, storetest.Owner)
	return id
}

func destinations[Tx any](f *fixture[Tx]) {
	f.handlers.fail("enable_publishing")
	f.publishing()
	f.stepAll()
	f.wantCalls("enable_publishing", 1)
	f.wantCalls("schedule_post", 0) // behind it
	f.wantCalls("deal.events", 2)   // elsewhere
	f.wantCalls("notify_owner", 1)
	f.handlers.set("enable_publishing", nil)
	f.advance(time.Hour)
	f.stepAll()
	got := slices.DeleteFunc(f.handlers.order(), func(name string) bool { return name == "deal.events" || name == "notify_owner" })
	if !slices.Equal(got, []string{"enable_publishing", "enable_publishing", "schedule_post"}) {
		f.Fatalf("called %v", got)
	}
}

// failForGood makes every attempt of an effect fail permanently.
func (f *fixture[Tx]) failForGood(effect string) {
	f.handlers.set(effect, func(context.Context, fsm.Dispatch) (*fsm.Event, error) {
		return nil, &engine.PermanentError{Err: errors.New("unknown address")}
	})
}

// onlyDeadLetter returns the message id of the only dead letter, and fails the test
// unless it is of this effect and record.
func (f *fixture[Tx]) onlyDeadLetter(effect, id string) (messageID string) {
	f.Helper()
	messages, err := f.engine.DeadLetters(f.Context(), store.Filter{Machine: "deal"}, "", 10)
	f.Must(err)
	if len(messages) != 1 || messages[0].Effect != effect || messages[0].RecordID != id || messages[0].LastError == "" {
		f.Fatalf("the dead letters are %s", storetest.Text(messages))
	}
	return messages[0].MessageID
}

// blocked makes a dead letter with a message behind it.
func (f *fixture[Tx]) blocked() (messageID string) {
	f.Helper()
	f.failForGood("enable_publishing")
	id := f.publishing()
	f.stepAll()
	f.advance(time.Hour)
	f.stepAll()
	f.wantCalls("schedule_post", 0)
	return f.onlyDeadLetter("enable_publishing", id)
}

// returnRefused has a stranger send one nano that can't be returned. The payments of the
// deal go out all the same.
func returnRefused[Tx any](f *fixture[Tx]) {
	for _, end := range []struct {
		effect string
		event  fsm.Payload
	}{{"execute_payout", deal.ResolveForOwner{}}, {"execute_refund", deal.ResolveForAdvertiser{}}} {
		f.failForGood("refund_deposit")
		id := f.paid()
		f.mustFire("deal", id, deposit("stranger-"+id, 1), fsm.System())
		f.stepAll()
		message := f.onlyDeadLetter("refund_deposit", id)
		f.mustFire("deal", id, deal.SubmitDraft{Creative: fsm.JSON(`{}`)}, storetest.Owner)
		f.mustFire("deal", id, deal.Dispute{Complaint: "late"}, storetest.Advertiser)
		f.mustFire("deal", id, end.event, deal.ByOperator(9).Caller())
		f.stepAll()
		f.wantCalls(end.effect, 1)
		f.WantCount("fsm_outbox WHERE effect = '"+end.effect+"' AND state = 'delivered'", 1)
		f.Must(f.engine.Discard(f.Context(), message, "ann", "one nano"))
	}
}

func requeued[Tx any](f *fixture[Tx]) {
	message := f.blocked()
	f.handlers.set("enable_publishing", nil)
	f.Must(f.engine.Requeue(f.Context(), message, "ann", "address repaired"))
	f.stepAll()
	if n := len(f.handlers.called("enable_publishing")); n < 2 {
		f.Fatalf("it was called %d times", n)
	}
	f.wantCalls("schedule_post", 1)
	if err := f.engine.Requeue(f.Context(), message, "ann", "again"); err == nil {
		f.Fatal("a delivered message was requeued")
	}
}

func discarded[Tx any](f *fixture[Tx]) {
	message := f.blocked()
	calls := len(f.handlers.called("enable_publishing"))
	f.Must(f.engine.Discard(f.Context(), message, "ann", "moot"))
	f.stepAll()
	f.wantCalls("enable_publishing", calls)
	f.wantCalls("schedule_post", 1)
	messages, err := f.engine.DeadLetters(f.Context(), store.Filter{}, "", 10)
	f.Must(err)
	if len(messages) != 0 {
		f.Fatalf("the dead letters are %s", storetest.Text(messages))
	}
}

func messageStays[Tx any](f *fixture[Tx]) {
	id := f.offered()
	f.mustFire("deal", id, deal.Withdraw{}, storetest.Advertiser)
	f.stepAll()
	f.wantCalls("notify_owner", 2) // of the offer, and of its withdrawal
}

func resultsAreEvents[Tx any]() []testCase[Tx] {
	return []testCase[Tx]{
		{"AnAnswerIsAnEventOfTheSystem", answerIsEvent[Tx]},
		{"WorkIsCancelledWithItsState", workCancelled[Tx]},
		{"ALateAnswerIsANoOp", lateAnswer[Tx]},
		{"ALateAnswerIsANoOpThoughTheStateWasEnteredAgain", lateAnswerOfEarlierEntry[Tx]},
		{"AFailureRetriesWithBackoffThenDies", backoffThenDead[Tx]},
		{"AFailureIsAnEventWhereTheTableSaysSo", failureIsEvent[Tx]},
		{"AHandlerThatPanicsIsAFailure", panickingHandler[Tx]},
	}
}

func answerIsEvent[Tx any](f *fixture[Tx]) {
	id := f.offered()
	f.handlers.answer("generate_deposit_address", deal.AddressReady{DepositAddress: "a"})
	f.mustFire("deal", id, deal.Accept{}, storetest.Owner)
	f.stepAll()
	f.wantState("deal", id, "AWAITING_PAYMENT", 4)
	f.WantCount("deal_events WHERE event_type = 'ADDRESS_READY' AND actor_role = 'system'", 1)
	f.stepAll()
	f.wantCalls("generate_deposit_address", 1)
}

func workCancelled[Tx any](f *fixture[Tx]) {
	id := f.offered()
	f.mustFire("deal", id, deal.Accept{}, storetest.Owner)
	f.mustFire("deal", id, deal.Cancel{}, storetest.Owner)
	f.stepAll()
	f.wantCalls("generate_deposit_address", 0)
	f.wantState("deal", id, "CANCELLED", 4)
}

func lateAnswer[Tx any](f *fixture[Tx]) {
	id := f.offered()
	f.mustFire("deal", id, deal.Accept{}, storetest.Owner)
	f.handlers.set("generate_deposit_address", func(context.Context, fsm.Dispatch) (*fsm.Event, error) {
		f.mustFire("deal", id, deal.Cancel{}, storetest.Owner) // while it runs
		return event(deal.AddressReady{DepositAddress: "a"})
	})
	f.stepAll()
	f.wantState("deal", id, "CANCELLED", 4)
	f.advance(24 * time.Hour)
	f.stepAll()
	f.wantCalls("generate_deposit_address", 1)
	messages, err := f.engine.DeadLetters(f.Context(), store.Filter{}, "", 10)
	f.Must(err)
	if len(messages) != 0 {
		f.Fatalf("the dead letters are %s", storetest.Text(messages))
	}
}

// lateAnswerOfEarlierEntry has a validation answer after its state was left and entered
// again. The state would accept the answer, but the answer belongs to the earlier entry.
func lateAnswerOfEarlierEntry[Tx any](f *fixture[Tx]) {
	id := f.mustCreate("registration", registration.Create{NodeID: "n1"}, storetest.External)
	f.mustFire("registration", id, storetest.Register, storetest.External)
	passed := registration.ValidationPassed{ValidationResult: registration.ValidationOutcomePassed}
	f.handlers.set("validate_payload", func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		if d.Version == 2 {
			f.mustFire("registration", id, registration.ValidationFailed{
				ValidationResult: registration.ValidationOutcomeFailed, ValidationError: "x", ValidationErrorType: registration.ValidationErrorTypeInvalid,
			}, fsm.System())
			f.mustFire("registration", id, registration.Retry{}, storetest.External)
		}
		return event(passed)
	})
	_, err := f.engine.Step(f.Context())
	f.Must(err)
	f.wantState("registration", id, "validating", 4)
	_, err = f.engine.Step(f.Context())
	f.Must(err)
	f.wantCalls("validate_payload", 2)
	f.wantState("registration", id, "registering_postgres", 5)
}

// backoffThenDead lets an effect fail until it is a dead letter. Each retry happens
// exactly when it is due.
func backoffThenDead[Tx any](f *fixture[Tx]) {
	var policy fsm.RetryPolicy
	for _, info := range f.Deals.Effects() {
		if info.Name == "deal.events" {
			policy = info.Retry
		}
	}
	f.handlers.fail("deal.events")
	f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, storetest.Advertiser)
	f.stepAll()
	f.wantCalls("deal.events", 1)
	for repeat := 1; repeat <= policy.Attempts; repeat++ {
		wait, _ := policy.Backoff(repeat, 0.5)
		f.advance(wait - time.Microsecond)
		f.stepAll()
		f.wantCalls("deal.events", repeat)
		f.advance(time.Microsecond)
		f.stepAll()
		f.wantCalls("deal.events", repeat+1)
	}
	f.advance(1000 * time.Hour)
	f.stepAll()
	f.wantCalls("deal.events", policy.Attempts+1)
	messages, err := f.engine.DeadLetters(f.Context(), store.Filter{Machine: "deal"}, "", 10)
	f.Must(err)
	if len(messages) != 1 || messages[0].LastError != "no route to host" || messages[0].Attempts != int64(policy.Attempts+1) {
		f.Fatalf("the dead letters are %s", storetest.Text(messages))
	}
}

func failureIsEvent[Tx any](f *fixture[Tx]) {
	f.handlers.fail("check_unpacked")
	id := f.mustCreate("unpack", unpack.Start{ImageID: "img", LocalPath: "/x", Checksum: "c", PoolName: "p"}, fsm.System())
	f.stepAll()
	f.wantState("unpack", id, "aborted", 2)
	f.WantCount("unpack_records WHERE reason = 'check_failed' AND cause LIKE '%no route to host%'", 1)
}

func panickingHandler[Tx any](f *fixture[Tx]) {
	f.handlers.set("notify_owner", func(context.Context, fsm.Dispatch) (*fsm.Event, error) { panic("nil map") })
	f.offered()
	f.stepAll()
	f.WantCount("fsm_outbox WHERE effect = 'notify_owner' AND state = 'retry_wait' AND last_error LIKE '%nil map%'", 1)
	f.WantCount("fsm_outbox WHERE effect = 'deal.events' AND state = 'delivered'", 2) // the others go on
	f.handlers.set("notify_owner", nil)
	f.advance(time.Hour)
	f.stepAll()
	f.WantCount("fsm_outbox WHERE state <> 'delivered'", 0)
}
