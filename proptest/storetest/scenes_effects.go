package storetest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func deliveryClasses[Tx any]() []scene[Tx] {
	return []scene[Tx]{
		{"ATransactionEffectWritesWithItsStep", transactionEffect[Tx]},
		{"KeyedRepeatsCarryTheSameKey", keyedRepeats[Tx]},
		{"AQueryableEffectIsAskedForBeforeItsFirstClaim", queryableAskedFirst[Tx]},
		{"AQueryableEffectIsAskedForBeforeARepeat", queryableAsked[Tx]},
		{"AQueryableEffectThatIsNotThereIsRepeated", queryableRepeated[Tx]},
		{"AnAtMostOnceEffectIsNotRepeatedItsLossIsAnEvent", atMostOnce[Tx]},
		{"ACleanupRunsBeforeARepeat", cleanupFirst[Tx]},
		{"OneDestinationIsInOrderOthersGoOn", destinations[Tx]},
		{"ADeadLetterBlocksUntilAPersonRequeuesIt", requeued[Tx]},
		{"ADeadLetterBlocksUntilAPersonDiscardsIt", discarded[Tx]},
		{"AMessageIsDeliveredThoughItsStateWasLeft", messageStays[Tx]},
		{"AReturnThatIsADeadLetterHoldsBackNoPayout", returnRefused[Tx]},
	}
}

func transactionEffect[Tx any](s *stage[Tx]) {
	s.must(s.Store.InTx(s.ctx, func(tx Tx) error { return s.Exec(s.ctx, tx, "CREATE TABLE ledger (n integer NOT NULL)") }))
	s.script.inTx = func(ctx context.Context, tx Tx, d fsm.Dispatch) error {
		return s.Exec(ctx, tx, "INSERT INTO ledger (n) VALUES (1)")
	}
	id := s.paid()
	s.only("ledger_deposit", 1)
	s.counts("ledger", 1)
	s.accepts("deal", id, deposit(id, 100), fsm.System()) // replayed
	s.counts("ledger", 1)
	s.counts("fsm_outbox WHERE effect = 'ledger_deposit'", 0)
}

func keyedRepeats[Tx any](s *stage[Tx]) {
	s.script.fails("deal.events")
	s.create("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	for range 3 {
		s.steps()
		s.tick(time.Hour)
	}
	calls := s.only("deal.events", 3)
	for i, d := range calls {
		if d.ID != calls[0].ID || d.Attempt != i+1 || string(d.Payload) != string(calls[0].Payload) {
			s.Errorf("attempt %d is %s, the first %s", i+1, text(d), text(calls[0]))
		}
	}
}

// refunding makes a deal whose refund is to be sent; its first attempt fails
// without saying whether the money went.
func (s *stage[Tx]) refunding() (id string) {
	s.Helper()
	id = s.paid()
	s.script.fails("execute_refund")
	s.accepts("deal", id, deal.MutualCancel{}, owner)
	s.accepts("deal", id, deal.MutualCancel{}, advertiser)
	s.steps()
	s.only("execute_refund", 1)
	// Its transaction did not claim it, so it was asked for before the first attempt.
	if len(s.script.queries) != 1 {
		s.Fatalf("before the first attempt it was asked for by %s", text(s.script.queries))
	}
	s.tick(time.Hour)
	return id
}

// queryableAskedFirst has the refund happened before any attempt that the message
// knows of, as after a restore of the database.
func queryableAskedFirst[Tx any](s *stage[Tx]) {
	s.script.on("?execute_refund", func(context.Context, fsm.Dispatch) (*fsm.Event, error) { return nil, nil }) // it is there
	id := s.paid()
	s.accepts("deal", id, deal.MutualCancel{}, owner)
	s.accepts("deal", id, deal.MutualCancel{}, advertiser)
	s.steps()
	s.only("execute_refund", 0)
	s.counts("fsm_outbox WHERE effect = 'execute_refund' AND state = 'delivered'", 1)
}

func queryableAsked[Tx any](s *stage[Tx]) {
	s.refunding()
	s.script.on("?execute_refund", func(context.Context, fsm.Dispatch) (*fsm.Event, error) { return nil, nil }) // it is there
	s.steps()
	s.only("execute_refund", 1)
	s.counts("fsm_outbox WHERE effect = 'execute_refund' AND state = 'delivered'", 1)
}

func queryableRepeated[Tx any](s *stage[Tx]) {
	s.refunding()
	s.script.on("execute_refund", nil)
	s.steps()
	calls := s.only("execute_refund", 2)
	if len(s.script.queries) != 2 || s.script.queries[1].ID != calls[1].ID {
		s.Fatalf("it was asked for by %s", text(s.script.queries))
	}
	s.counts("fsm_outbox WHERE effect = 'execute_refund' AND state = 'delivered'", 1)
}

// dies lets a worker take what is due, and never be heard of again. Its leases
// are over when dies returns.
func (s *stage[Tx]) dies() (held []string) {
	s.Helper()
	c := s.claim(0, s.Now())
	c.Token = s.token()
	tasks, err := s.Store.Claim(s.ctx, c)
	s.must(err)
	for _, t := range tasks {
		held = append(held, t.Effect.Effect+t.Deadline.Event.Name)
	}
	s.tick(time.Minute)
	return held
}

// extracting makes a run that is about to extract.
func (s *stage[Tx]) extracting() string {
	s.Helper()
	s.script.answers("check_unpacked", unpack.Checked{DeviceID: "12345678"})
	s.script.answers("create_device", unpack.DeviceReady{DevicePath: "/dev/x"})
	id := s.create("unpack", unpack.Start{ImageID: "img", LocalPath: "/x", Checksum: "c", PoolName: "p"}, fsm.System())
	for range 2 {
		_, err := s.engine.Step(s.ctx)
		s.must(err)
	}
	s.in("unpack", id, "extract-layers", 3)
	return id
}

func atMostOnce[Tx any](s *stage[Tx]) {
	id := s.extracting()
	if held := s.dies(); !slices.Equal(held, []string{"extract_layers"}) {
		s.Fatalf("the dead worker held %v", held)
	}
	s.script.on("create_device", nil)
	_, err := s.engine.Step(s.ctx)
	s.must(err)
	s.only("extract_layers", 0)
	s.in("unpack", id, "create-device", 4)
	s.counts("unpack_history WHERE event_type = 'EXTRACT_LOST'", 1)
}

// cleanupFirst has a worker die while it creates a device: it is asked for,
// what is left of it is destroyed, and it is created again.
func cleanupFirst[Tx any](s *stage[Tx]) {
	s.script.answers("check_unpacked", unpack.Checked{DeviceID: "12345678"})
	id := s.create("unpack", unpack.Start{ImageID: "img", LocalPath: "/x", Checksum: "c", PoolName: "p"}, fsm.System())
	_, err := s.engine.Step(s.ctx)
	s.must(err)
	if held := s.dies(); !slices.Equal(held, []string{"create_device"}) {
		s.Fatalf("the dead worker held %v", held)
	}
	s.script.answers("create_device", unpack.DeviceReady{DevicePath: "/dev/x"})
	_, err = s.engine.Step(s.ctx)
	s.must(err)
	if got := s.script.order(); !slices.Equal(got, []string{"check_unpacked", "destroy_device", "create_device"}) || len(s.script.queries) != 1 {
		s.Fatalf("called %v, asked %d times", got, len(s.script.queries))
	}
	s.in("unpack", id, "extract-layers", 3)
}

// publishing makes a deal that asks the scheduler twice, first to enable
// publishing and then to schedule the post, and tells others of it by other
// destinations.
func (s *stage[Tx]) publishing() string {
	s.Helper()
	id := s.paid()
	s.accepts("deal", id, deal.SubmitDraft{Creative: fsm.JSON(`{}`)}, owner)
	s.steps()
	s.script.mu.Lock()
	s.script.calls = nil
	s.script.mu.Unlock()
	s.accepts("deal", id, deal.Approve{}, advertiser)
	s.accepts("deal", id, deal.SetPublishTime{PublishAt: s.Now()}, owner)
	return id
}

func destinations[Tx any](s *stage[Tx]) {
	s.script.fails("enable_publishing")
	s.publishing()
	s.steps()
	s.only("enable_publishing", 1)
	s.only("schedule_post", 0) // behind it
	s.only("deal.events", 2)   // elsewhere
	s.only("notify_owner", 1)
	s.script.on("enable_publishing", nil)
	s.tick(time.Hour)
	s.steps()
	got := slices.DeleteFunc(s.script.order(), func(name string) bool { return name == "deal.events" || name == "notify_owner" })
	if !slices.Equal(got, []string{"enable_publishing", "enable_publishing", "schedule_post"}) {
		s.Fatalf("called %v", got)
	}
}

// refuses makes every attempt of an effect fail for good.
func (s *stage[Tx]) refuses(effect string) {
	s.script.on(effect, func(context.Context, fsm.Dispatch) (*fsm.Event, error) {
		return nil, &engine.PermanentError{Err: errors.New("unknown address")}
	})
}

// deadLetter returns the message of the only dead letter, which is of this
// effect and record.
func (s *stage[Tx]) deadLetter(effect, id string) (messageID string) {
	s.Helper()
	letters, err := s.engine.DeadLetters(s.ctx, store.Filter{Machine: "deal"}, "", 10)
	s.must(err)
	if len(letters) != 1 || letters[0].Effect != effect || letters[0].RecordID != id || letters[0].LastError == "" {
		s.Fatalf("the dead letters are %s", text(letters))
	}
	return letters[0].MessageID
}

// blocked makes a dead letter with a message behind it.
func (s *stage[Tx]) blocked() (messageID string) {
	s.Helper()
	s.refuses("enable_publishing")
	id := s.publishing()
	s.steps()
	s.tick(time.Hour)
	s.steps()
	s.only("schedule_post", 0)
	return s.deadLetter("enable_publishing", id)
}

// returnRefused has a stranger send one nano that can't be returned: what the
// deal pays goes out all the same.
func returnRefused[Tx any](s *stage[Tx]) {
	for _, end := range []struct {
		effect string
		event  fsm.Payload
	}{{"execute_payout", deal.ResolveForOwner{}}, {"execute_refund", deal.ResolveForAdvertiser{}}} {
		s.refuses("refund_deposit")
		id := s.paid()
		s.accepts("deal", id, deposit("stranger-"+id, 1), fsm.System())
		s.steps()
		message := s.deadLetter("refund_deposit", id)
		s.accepts("deal", id, deal.SubmitDraft{Creative: fsm.JSON(`{}`)}, owner)
		s.accepts("deal", id, deal.Dispute{Complaint: "late"}, advertiser)
		s.accepts("deal", id, end.event, deal.ByOperator(9).Caller())
		s.steps()
		s.only(end.effect, 1)
		s.counts("fsm_outbox WHERE effect = '"+end.effect+"' AND state = 'delivered'", 1)
		s.must(s.engine.Discard(s.ctx, message, "ann", "one nano"))
	}
}

func requeued[Tx any](s *stage[Tx]) {
	message := s.blocked()
	s.script.on("enable_publishing", nil)
	s.must(s.engine.Requeue(s.ctx, message, "ann", "address mended"))
	s.steps()
	if n := len(s.script.called("enable_publishing")); n < 2 {
		s.Fatalf("it was called %d times", n)
	}
	s.only("schedule_post", 1)
	if err := s.engine.Requeue(s.ctx, message, "ann", "again"); err == nil {
		s.Fatal("a delivered message was requeued")
	}
}

func discarded[Tx any](s *stage[Tx]) {
	message := s.blocked()
	calls := len(s.script.called("enable_publishing"))
	s.must(s.engine.Discard(s.ctx, message, "ann", "moot"))
	s.steps()
	s.only("enable_publishing", calls)
	s.only("schedule_post", 1)
	letters, err := s.engine.DeadLetters(s.ctx, store.Filter{}, "", 10)
	s.must(err)
	if len(letters) != 0 {
		s.Fatalf("the dead letters are %s", text(letters))
	}
}

func messageStays[Tx any](s *stage[Tx]) {
	id := s.offered()
	s.accepts("deal", id, deal.Withdraw{}, advertiser)
	s.steps()
	s.only("notify_owner", 2) // of the offer, and of its withdrawal
}

func resultsAreEvents[Tx any]() []scene[Tx] {
	return []scene[Tx]{
		{"AnAnswerIsAnEventOfTheSystem", answerIsEvent[Tx]},
		{"WorkIsCancelledWithItsState", workCancelled[Tx]},
		{"ALateAnswerIsANoOp", lateAnswer[Tx]},
		{"ALateAnswerIsANoOpThoughTheStateWasEnteredAgain", lateAnswerOfEarlierEntry[Tx]},
		{"AFailureRetriesWithBackoffThenDies", backoffThenDead[Tx]},
		{"AFailureIsAnEventWhereTheTableSaysSo", failureIsEvent[Tx]},
		{"AHandlerThatPanicsIsAFailure", panickingHandler[Tx]},
	}
}

func answerIsEvent[Tx any](s *stage[Tx]) {
	id := s.offered()
	s.script.answers("generate_deposit_address", deal.AddressReady{DepositAddress: "a"})
	s.accepts("deal", id, deal.Accept{}, owner)
	s.steps()
	s.in("deal", id, "AWAITING_PAYMENT", 4)
	s.counts("deal_events WHERE event_type = 'ADDRESS_READY' AND actor_role = 'system'", 1)
	s.steps()
	s.only("generate_deposit_address", 1)
}

func workCancelled[Tx any](s *stage[Tx]) {
	id := s.offered()
	s.accepts("deal", id, deal.Accept{}, owner)
	s.accepts("deal", id, deal.Cancel{}, owner)
	s.steps()
	s.only("generate_deposit_address", 0)
	s.in("deal", id, "CANCELLED", 4)
}

func lateAnswer[Tx any](s *stage[Tx]) {
	id := s.offered()
	s.accepts("deal", id, deal.Accept{}, owner)
	s.script.on("generate_deposit_address", func(context.Context, fsm.Dispatch) (*fsm.Event, error) {
		s.accepts("deal", id, deal.Cancel{}, owner) // while it runs
		return event(deal.AddressReady{DepositAddress: "a"})
	})
	s.steps()
	s.in("deal", id, "CANCELLED", 4)
	s.tick(24 * time.Hour)
	s.steps()
	s.only("generate_deposit_address", 1)
	letters, err := s.engine.DeadLetters(s.ctx, store.Filter{}, "", 10)
	s.must(err)
	if len(letters) != 0 {
		s.Fatalf("the dead letters are %s", text(letters))
	}
}

// lateAnswerOfEarlierEntry has a validation answer after its state was left and
// entered again: the state would take the answer, but it is not the one that it
// asked for.
func lateAnswerOfEarlierEntry[Tx any](s *stage[Tx]) {
	id := s.create("registration", registration.Create{NodeID: "n1"}, external)
	s.accepts("registration", id, register, external)
	passed := registration.ValidationPassed{ValidationResult: registration.ValidationOutcomePassed}
	s.script.on("validate_payload", func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		if d.Version == 2 {
			s.accepts("registration", id, registration.ValidationFailed{
				ValidationResult: registration.ValidationOutcomeFailed, ValidationError: "x", ValidationErrorType: registration.ValidationErrorTypeInvalid,
			}, fsm.System())
			s.accepts("registration", id, registration.Retry{}, external)
		}
		return event(passed)
	})
	_, err := s.engine.Step(s.ctx)
	s.must(err)
	s.in("registration", id, "validating", 4)
	_, err = s.engine.Step(s.ctx)
	s.must(err)
	s.only("validate_payload", 2)
	s.in("registration", id, "registering_postgres", 5)
}

// backoffThenDead lets an effect fail until it is given up: each repeat comes
// when it is due and not a moment before.
func backoffThenDead[Tx any](s *stage[Tx]) {
	var policy fsm.RetryPolicy
	for _, info := range s.deals.Effects() {
		if info.Name == "deal.events" {
			policy = info.Retry
		}
	}
	s.script.fails("deal.events")
	s.create("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	s.steps()
	s.only("deal.events", 1)
	for repeat := 1; repeat <= policy.Attempts; repeat++ {
		wait, _ := policy.Backoff(repeat, 0.5)
		s.tick(wait - time.Microsecond)
		s.steps()
		s.only("deal.events", repeat)
		s.tick(time.Microsecond)
		s.steps()
		s.only("deal.events", repeat+1)
	}
	s.tick(1000 * time.Hour)
	s.steps()
	s.only("deal.events", policy.Attempts+1)
	letters, err := s.engine.DeadLetters(s.ctx, store.Filter{Machine: "deal"}, "", 10)
	s.must(err)
	if len(letters) != 1 || letters[0].LastError != "no route to host" || letters[0].Attempts != int64(policy.Attempts+1) {
		s.Fatalf("the dead letters are %s", text(letters))
	}
}

func failureIsEvent[Tx any](s *stage[Tx]) {
	s.script.fails("check_unpacked")
	id := s.create("unpack", unpack.Start{ImageID: "img", LocalPath: "/x", Checksum: "c", PoolName: "p"}, fsm.System())
	s.steps()
	s.in("unpack", id, "aborted", 2)
	s.counts("unpack_records WHERE reason = 'check_failed' AND cause LIKE '%no route to host%'", 1)
}

func panickingHandler[Tx any](s *stage[Tx]) {
	s.script.on("notify_owner", func(context.Context, fsm.Dispatch) (*fsm.Event, error) { panic("nil map") })
	s.offered()
	s.steps()
	s.counts("fsm_outbox WHERE effect = 'notify_owner' AND state = 'retry_wait' AND last_error LIKE '%nil map%'", 1)
	s.counts("fsm_outbox WHERE effect = 'deal.events' AND state = 'delivered'", 2) // the others go on
	s.script.on("notify_owner", nil)
	s.tick(time.Hour)
	s.steps()
	s.counts("fsm_outbox WHERE state <> 'delivered'", 0)
}
