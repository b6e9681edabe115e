package enginecases

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/proptest/storetest"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func cancelling[Tx any]() []testCase[Tx] {
	return []testCase[Tx]{
		{"APendingMessage", cancelPending[Tx]},
		{"AMessageThatWaitsForARetry", cancelRetry[Tx]},
		{"NoMessageThatIsClaimedOrDone", cancelRefused[Tx]},
	}
}

// noteStore is a store that collects the saved messages.
type noteStore[Tx any] struct {
	store.Store[Tx]
	saved []store.OutboxMessage
}

func (n *noteStore[Tx]) Save(ctx context.Context, tx Tx, commits []store.Commit) error {
	for _, c := range commits {
		n.saved = append(n.saved, c.Outbox...)
	}
	return n.Store.Save(ctx, tx, commits)
}

// messageOf returns the id of the last message of an effect.
func (n *noteStore[Tx]) messageOf(effect string) (id string) {
	for _, row := range n.saved {
		if row.Effect == effect {
			id = row.MessageID
		}
	}
	return id
}

// noteMessages replaces the engine by one over a store that collects messages.
func (f *fixture[Tx]) noteMessages() *noteStore[Tx] {
	f.Helper()
	n := &noteStore[Tx]{Store: f.Store}
	f.engine = f.newEngine(n, f.config)
	return n
}

func cancelPending[Tx any](f *fixture[Tx]) {
	db := f.noteMessages()
	f.offered()
	id := db.messageOf("notify_owner")
	f.Must(f.engine.Cancel(f.Context(), id, "ann", "the owner knows"))
	row := f.ReadMessage(id)
	if row.State != "dead_letter" || row.DiscardedAt != fsm.Some(storetest.StartTime) || row.Resolution != "ann: the owner knows" || row.Attempts != 0 {
		f.Errorf("it is %s", storetest.Text(row.MessageState))
	}
	f.advance(time.Hour)
	f.stepAll()
	f.wantCalls("notify_owner", 0)
	f.wantCalls("deal.events", 2)
	messages, err := f.engine.DeadLetters(f.Context(), store.Filter{}, "", 10)
	f.Must(err)
	if len(messages) != 0 {
		f.Errorf("an operator still has to decide about %s", storetest.Text(messages))
	}
	if !f.log.has("how=cancel") || !f.log.has("the owner knows") {
		f.Error("it is not logged")
	}
}

// cancelRetry cancels a message that waits for a retry. The next message of its ordering
// key is delivered.
func cancelRetry[Tx any](f *fixture[Tx]) {
	db := f.noteMessages()
	f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, storetest.Advertiser)
	first := db.messageOf("deal.events")
	f.handlers.fail("deal.events")
	_, err := f.engine.Step(f.Context())
	f.Must(err)
	f.mustFire("deal", db.saved[0].RecordID, deal.SubmitOffer{}, storetest.Advertiser)
	f.handlers.set("deal.events", nil)
	f.stepAll()
	f.wantCalls("deal.events", 1)
	f.Must(f.engine.Cancel(f.Context(), first, "ann", "it was sent by hand"))
	f.stepAll()
	calls := f.wantCalls("deal.events", 2)
	if calls[1].ID == first {
		f.Error("it was attempted again")
	}
	if row := f.ReadMessage(first); row.Attempts != 1 || row.LastError == "" {
		f.Errorf("it is %s", storetest.Text(row.MessageState))
	}
}

func cancelRefused[Tx any](f *fixture[Tx]) {
	refused := func(id, want string) {
		f.Helper()
		err := f.engine.Cancel(f.Context(), id, "ann", "to see")
		if x := storetest.As[*fsm.Rejection](f, err); !errors.Is(x, fsm.ErrRefused) && !errors.Is(x, fsm.ErrInvalidTransition) || !strings.Contains(err.Error(), want) {
			f.Errorf("the error is %v, want a rejection that says: %s", err, want)
		}
	}
	db := f.noteMessages()
	f.handlers.set("deal.events", func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		refused(d.ID, "a worker carries it out: wait until")
		return nil, nil
	})
	f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, storetest.Advertiser)
	f.stepAll()
	f.wantCalls("deal.events", 1)
	refused(db.messageOf("deal.events"), "cancel")
	f.handlers.set("deal.events", nil)
	refused(f.deadLetterOfDeal(db), "it is a dead letter: use Discard")
	f.WantError(f.engine.Cancel(f.Context(), storetest.UUID(7).String(), "ann", "to see"), engine.ErrNotFound)
	f.WantError(f.engine.Cancel(f.Context(), "x", "ann", "to see"), engine.ErrBadID)
	if err := f.engine.Cancel(f.Context(), storetest.UUID(7).String(), "", "to see"); err == nil || !strings.Contains(err.Error(), "who and why must not be empty") {
		f.Errorf("the error is %v", err)
	}
	id := f.offered()
	f.mustFire("deal", id, deal.Accept{}, storetest.Owner)
	left := db.messageOf("generate_deposit_address")
	f.mustFire("deal", id, deal.Cancel{}, storetest.Owner)
	f.WantError(f.engine.Cancel(f.Context(), left, "ann", "to see"), engine.ErrStateLeft)
}

// deadLetterOfDeal makes a dead letter and returns its id.
func (f *fixture[Tx]) deadLetterOfDeal(db *noteStore[Tx]) (messageID string) {
	f.Helper()
	f.handlers.set("deal.events", func(context.Context, fsm.Dispatch) (*fsm.Event, error) {
		return nil, &engine.PermanentError{Err: errors.New("no such topic")}
	})
	f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, storetest.Advertiser)
	f.stepAll()
	f.handlers.set("deal.events", nil)
	return db.messageOf("deal.events")
}
