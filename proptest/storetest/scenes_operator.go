package storetest

import (
	"context"
	"errors"
	"slices"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func operator[Tx any]() []scene[Tx] {
	return []scene[Tx]{
		{"DeadLettersArePaged", pagedDeadLetters[Tx]},
		{"RequeueAllDoesWhatItCan", requeueAll[Tx]},
		{"DiscardAllDoesWhatItCan", discardAll[Tx]},
		{"ResumeAllDoesWhatItCan", resumeAll[Tx]},
	}
}

// narrow is a store whose pages have two rows.
type narrow[Tx any] struct {
	store.Store[Tx]
	read func(store.Page) // is told of every page; nil: nothing
}

func (n *narrow[Tx]) Read(ctx context.Context, q store.Read) (store.Page, error) {
	q.Limit = min(q.Limit, 2)
	page, err := n.Store.Read(ctx, q)
	if n.read != nil {
		n.read(page)
	}
	return page, err
}

// fiveDead makes deals whose first message is a dead letter each.
func (s *stage[Tx]) fiveDead() (ids []string) {
	s.Helper()
	s.script.on("deal.events", func(context.Context, fsm.Dispatch) (*fsm.Event, error) {
		return nil, &engine.PermanentError{Err: errors.New("no such topic")}
	})
	for range 5 {
		ids = append(ids, s.create("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser))
	}
	s.steps()
	s.counts("fsm_outbox WHERE state = 'dead_letter'", 5)
	s.script.on("deal.events", nil)
	return ids
}

func pagedDeadLetters[Tx any](s *stage[Tx]) {
	ids := s.fiveDead()
	var got []string
	for after := ""; ; {
		page, err := s.engine.DeadLetters(s.ctx, store.Filter{Effect: "deal.events"}, after, 2)
		s.must(err)
		if len(page) == 0 {
			break
		}
		for _, row := range page {
			got, after = append(got, row.RecordID), row.MessageID
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, ids) {
		s.Errorf("the pages have %v, want %v", got, ids)
	}
	_, err := s.engine.DeadLetters(s.ctx, store.Filter{}, uuid(7).String(), 2)
	s.wants(err, engine.ErrNotFound)
}

// overtaken makes the engine read pages of two rows, and another operator discard the
// last message of the first page right after. It returns the id of that one.
func (s *stage[Tx]) overtaken() (messageID string) {
	s.Helper()
	letters, err := s.engine.DeadLetters(s.ctx, store.Filter{}, "", 2)
	s.must(err)
	messageID = letters[1].MessageID
	other, db := s.engine, &narrow[Tx]{Store: s.Store}
	db.read = func(store.Page) {
		db.read = nil
		s.must(other.Discard(s.ctx, messageID, "bob", "moot"))
	}
	s.engine = s.open(db, s.config)
	return messageID
}

// allButOne fails the test unless four messages were resolved and one was not, since
// another operator had discarded it.
func (s *stage[Tx]) allButOne(did engine.Bulk, err error, other string) {
	s.Helper()
	s.must(err)
	_ = as[*fsm.Rejection](s, did.Failed[other])
	if did.Done != 4 || len(did.Failed) != 1 || !errors.Is(did.Err(), fsm.ErrRefused) {
		s.Errorf("it was done for %d, and failed for %v", did.Done, did.Failed)
	}
}

func requeueAll[Tx any](s *stage[Tx]) {
	s.fiveDead()
	other := s.overtaken()
	did, err := s.engine.RequeueAll(s.ctx, store.Filter{Machine: "deal", Error: "no such topic"}, "ann", "there is one now")
	s.allButOne(did, err, other)
	s.counts("fsm_outbox WHERE resolution = 'ann: there is one now' AND state = 'pending'", 4)
	s.steps()
	s.counts("fsm_outbox WHERE state = 'delivered'", 4)
}

func discardAll[Tx any](s *stage[Tx]) {
	ids := s.fiveDead()
	did, err := s.engine.DiscardAll(s.ctx, store.Filter{Record: ids[0], Error: "another"}, "ann", "nobody listens")
	s.must(err)
	if did.Done != 0 || did.Err() != nil {
		s.Errorf("of none it was done for %d: %v", did.Done, did.Err())
	}
	other := s.overtaken()
	did, err = s.engine.DiscardAll(s.ctx, store.Filter{}, "ann", "nobody listens")
	s.allButOne(did, err, other)
	s.counts("fsm_outbox WHERE resolution = 'ann: nobody listens' AND discarded_at IS NOT NULL", 4)
}

func resumeAll[Tx any](s *stage[Tx]) {
	ids := s.fiveDead()
	offered := s.offered()
	s.corrupt(head[Tx]{machine: s.deals, id: ids[2]})
	s.engine = s.open(&narrow[Tx]{Store: s.Store}, s.config)
	did, err := s.engine.ResumeAll(s.ctx, "deal", "DRAFT", "ann", "there is one now")
	s.must(err)
	if did.Done != 4 || did.Err() != nil {
		s.Errorf("of a state it was done for %d: %v", did.Done, did.Err())
	}
	s.counts("fsm_outbox WHERE state = 'dead_letter'", 1)
	s.Vandalise(s.T, "fsm_deadlines", "DELETE FROM fsm_deadlines WHERE record_id = '"+offered+"'")
	did, err = s.engine.ResumeAll(s.ctx, "deal", "", "ann", "there is one now")
	s.must(err)
	if did.Done != 5 || !errors.Is(did.Failed[ids[2]], store.ErrCorrupt) {
		s.Errorf("of all it was done for %d: %v", did.Done, did.Err())
	}
	s.counts("fsm_deadlines WHERE record_id = '"+offered+"'", 1)
	_, err = s.engine.ResumeAll(s.ctx, "nothing", "", "ann", "to see")
	s.wants(err, engine.ErrUnknownMachine)
}
