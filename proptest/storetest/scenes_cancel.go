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

func cancelling[Tx any]() []scene[Tx] {
	return []scene[Tx]{
		{"ThatWaitsForItsFirstAttempt", cancelPending[Tx]},
		{"ThatWaitsForARepeat", cancelRetry[Tx]},
		{"ButNoneThatIsUnderWayOrDone", cancelRefused[Tx]},
	}
}

// noting is a store that notes the messages which are saved.
type noting[Tx any] struct {
	store.Store[Tx]
	sent []store.OutboxMessage
}

func (n *noting[Tx]) Save(ctx context.Context, tx Tx, commits []store.Commit) error {
	for _, c := range commits {
		n.sent = append(n.sent, c.Outbox...)
	}
	return n.Store.Save(ctx, tx, commits)
}

// messageOf is the id of the last message of an effect.
func (n *noting[Tx]) messageOf(effect string) (id string) {
	for _, row := range n.sent {
		if row.Effect == effect {
			id = row.MessageID
		}
	}
	return id
}

// noting makes the stage's engine anew, over a store that notes messages.
func (s *stage[Tx]) noting() *noting[Tx] {
	s.Helper()
	n := &noting[Tx]{Store: s.Store}
	s.engine = s.open(n, s.config)
	return n
}

func cancelPending[Tx any](s *stage[Tx]) {
	db := s.noting()
	s.offered()
	id := db.messageOf("notify_owner")
	s.must(s.engine.Cancel(s.ctx, id, "ann", "the owner knows"))
	row := s.letter(id)
	if row.State != "dead_letter" || row.DiscardedAt != fsm.Some(epoch) || row.Resolution != "ann: the owner knows" || row.Attempts != 0 {
		s.Errorf("it is %s", text(row.MessageState))
	}
	s.tick(time.Hour)
	s.steps()
	s.only("notify_owner", 0)
	s.only("deal.events", 2)
	letters, err := s.engine.DeadLetters(s.ctx, store.Filter{}, "", 10)
	s.must(err)
	if len(letters) != 0 {
		s.Errorf("an operator still has to decide about %s", text(letters))
	}
	if !s.log.has("how=cancel") || !s.log.has("the owner knows") {
		s.Error("it is not logged")
	}
}

// cancelRetry lets what is behind the message in its lane go on.
func cancelRetry[Tx any](s *stage[Tx]) {
	db := s.noting()
	s.create("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	first := db.messageOf("deal.events")
	s.script.fails("deal.events")
	_, err := s.engine.Step(s.ctx)
	s.must(err)
	s.accepts("deal", db.sent[0].RecordID, deal.SubmitOffer{}, advertiser)
	s.script.on("deal.events", nil)
	s.steps()
	s.only("deal.events", 1)
	s.must(s.engine.Cancel(s.ctx, first, "ann", "it was sent by hand"))
	s.steps()
	calls := s.only("deal.events", 2)
	if calls[1].ID == first {
		s.Error("it was attempted again")
	}
	if row := s.letter(first); row.Attempts != 1 || row.LastError == "" {
		s.Errorf("it is %s", text(row.MessageState))
	}
}

func cancelRefused[Tx any](s *stage[Tx]) {
	refused := func(id, want string) {
		s.Helper()
		err := s.engine.Cancel(s.ctx, id, "ann", "to see")
		if x := as[*fsm.Rejection](s, err); !errors.Is(x, fsm.ErrRefused) && !errors.Is(x, fsm.ErrInvalidTransition) || !strings.Contains(err.Error(), want) {
			s.Errorf("the error is %v, want a rejection that says: %s", err, want)
		}
	}
	db := s.noting()
	s.script.on("deal.events", func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		refused(d.ID, "a worker is at it: wait until")
		return nil, nil
	})
	s.create("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	s.steps()
	s.only("deal.events", 1)
	refused(db.messageOf("deal.events"), "cancel")
	s.script.on("deal.events", nil)
	refused(s.deadOf(db), "it is a dead letter: use Discard")
	s.wants(s.engine.Cancel(s.ctx, uuid(7).String(), "ann", "to see"), engine.ErrNotFound)
	s.wants(s.engine.Cancel(s.ctx, "x", "ann", "to see"), engine.ErrBadID)
	if err := s.engine.Cancel(s.ctx, uuid(7).String(), "", "to see"); err == nil || !strings.Contains(err.Error(), "who does it, and why") {
		s.Errorf("the error is %v", err)
	}
	id := s.offered()
	s.accepts("deal", id, deal.Accept{}, owner)
	left := db.messageOf("generate_deposit_address")
	s.accepts("deal", id, deal.Cancel{}, owner)
	s.wants(s.engine.Cancel(s.ctx, left, "ann", "to see"), engine.ErrStateLeft)
}

// deadOf makes a dead letter.
func (s *stage[Tx]) deadOf(db *noting[Tx]) (messageID string) {
	s.Helper()
	s.script.on("deal.events", func(context.Context, fsm.Dispatch) (*fsm.Event, error) {
		return nil, &engine.PermanentError{Err: errors.New("no such topic")}
	})
	s.create("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	s.steps()
	s.script.on("deal.events", nil)
	return db.messageOf("deal.events")
}
