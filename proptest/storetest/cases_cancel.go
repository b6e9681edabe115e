package storetest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func cancelling[Tx any]() []engineCase[Tx] {
	return []engineCase[Tx]{
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
func (f *engineFixture[Tx]) noteMessages() *noteStore[Tx] {
	f.Helper()
	n := &noteStore[Tx]{Store: f.Store}
	f.engine = f.newEngine(n, f.config)
	return n
}

func cancelPending[Tx any](f *engineFixture[Tx]) {
	db := f.noteMessages()
	f.offered()
	id := db.messageOf("notify_owner")
	f.must(f.engine.Cancel(f.ctx, id, "ann", "the owner knows"))
	row := f.readMessage(id)
	if row.State != "dead_letter" || row.DiscardedAt != fsm.Some(startTime) || row.Resolution != "ann: the owner knows" || row.Attempts != 0 {
		f.Errorf("it is %s", text(row.MessageState))
	}
	f.advance(time.Hour)
	f.stepAll()
	f.wantCalls("notify_owner", 0)
	f.wantCalls("deal.events", 2)
	messages, err := f.engine.DeadLetters(f.ctx, store.Filter{}, "", 10)
	f.must(err)
	if len(messages) != 0 {
		f.Errorf("an operator still has to decide about %s", text(messages))
	}
	if !f.log.has("how=cancel") || !f.log.has("the owner knows") {
		f.Error("it is not logged")
	}
}

// cancelRetry cancels a message that waits for a retry. The next message of its ordering
// key is delivered.
func cancelRetry[Tx any](f *engineFixture[Tx]) {
	db := f.noteMessages()
	f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	first := db.messageOf("deal.events")
	f.handlers.fail("deal.events")
	_, err := f.engine.Step(f.ctx)
	f.must(err)
	f.mustFire("deal", db.saved[0].RecordID, deal.SubmitOffer{}, advertiser)
	f.handlers.set("deal.events", nil)
	f.stepAll()
	f.wantCalls("deal.events", 1)
	f.must(f.engine.Cancel(f.ctx, first, "ann", "it was sent by hand"))
	f.stepAll()
	calls := f.wantCalls("deal.events", 2)
	if calls[1].ID == first {
		f.Error("it was attempted again")
	}
	if row := f.readMessage(first); row.Attempts != 1 || row.LastError == "" {
		f.Errorf("it is %s", text(row.MessageState))
	}
}

func cancelRefused[Tx any](f *engineFixture[Tx]) {
	refused := func(id, want string) {
		f.Helper()
		err := f.engine.Cancel(f.ctx, id, "ann", "to see")
		if x := as[*fsm.Rejection](f, err); !errors.Is(x, fsm.ErrRefused) && !errors.Is(x, fsm.ErrInvalidTransition) || !strings.Contains(err.Error(), want) {
			f.Errorf("the error is %v, want a rejection that says: %s", err, want)
		}
	}
	db := f.noteMessages()
	f.handlers.set("deal.events", func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		refused(d.ID, "a worker is at it: wait until")
		return nil, nil
	})
	f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	f.stepAll()
	f.wantCalls("deal.events", 1)
	refused(db.messageOf("deal.events"), "cancel")
	f.handlers.set("deal.events", nil)
	refused(f.deadLetterOfDeal(db), "it is a dead letter: use Discard")
	f.wantError(f.engine.Cancel(f.ctx, uuid(7).String(), "ann", "to see"), engine.ErrNotFound)
	f.wantError(f.engine.Cancel(f.ctx, "x", "ann", "to see"), engine.ErrBadID)
	if err := f.engine.Cancel(f.ctx, uuid(7).String(), "", "to see"); err == nil || !strings.Contains(err.Error(), "who does it, and why") {
		f.Errorf("the error is %v", err)
	}
	id := f.offered()
	f.mustFire("deal", id, deal.Accept{}, owner)
	left := db.messageOf("generate_deposit_address")
	f.mustFire("deal", id, deal.Cancel{}, owner)
	f.wantError(f.engine.Cancel(f.ctx, left, "ann", "to see"), engine.ErrStateLeft)
}

// deadLetterOfDeal makes a dead letter and returns its id.
func (f *engineFixture[Tx]) deadLetterOfDeal(db *noteStore[Tx]) (messageID string) {
	f.Helper()
	f.handlers.set("deal.events", func(context.Context, fsm.Dispatch) (*fsm.Event, error) {
		return nil, &engine.PermanentError{Err: errors.New("no such topic")}
	})
	f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	f.stepAll()
	f.handlers.set("deal.events", nil)
	return db.messageOf("deal.events")
}
