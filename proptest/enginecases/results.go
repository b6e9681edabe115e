package enginecases

import (
	"context"
	"time"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/proptest/storetest"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

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
