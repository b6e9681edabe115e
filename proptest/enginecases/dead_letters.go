package enginecases

import (
	"context"
	"errors"
	"time"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/proptest/storetest"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

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
