package enginecases

import (
	"context"
	"errors"
	"slices"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/proptest/storetest"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func operator[Tx any]() []testCase[Tx] {
	return []testCase[Tx]{
		{"DeadLettersArePaged", pagedDeadLetters[Tx]},
		{"RequeueAllDoesWhatItCan", requeueAll[Tx]},
		{"DiscardAllDoesWhatItCan", discardAll[Tx]},
		{"ResumeAllDoesWhatItCan", resumeAll[Tx]},
	}
}

// smallPages is a store whose pages have at most two rows.
type smallPages[Tx any] struct {
	store.Store[Tx]
	read func(store.Page) // gets every page; may be nil
}

func (n *smallPages[Tx]) Read(ctx context.Context, q store.Read) (store.Page, error) {
	q.Limit = min(q.Limit, 2)
	page, err := n.Store.Read(ctx, q)
	if n.read != nil {
		n.read(page)
	}
	return page, err
}

// fiveDeadLetters creates deals whose first message is a dead letter.
func (f *fixture[Tx]) fiveDeadLetters() (ids []string) {
	f.Helper()
	f.handlers.set("deal.events", func(context.Context, fsm.Dispatch) (*fsm.Event, error) {
		return nil, &engine.PermanentError{Err: errors.New("no such topic")}
	})
	for range 5 {
		ids = append(ids, f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, storetest.Advertiser))
	}
	f.stepAll()
	f.WantCount("fsm_outbox WHERE state = 'dead_letter'", 5)
	f.handlers.set("deal.events", nil)
	return ids
}

func pagedDeadLetters[Tx any](f *fixture[Tx]) {
	ids := f.fiveDeadLetters()
	var got []string
	for after := ""; ; {
		page, err := f.engine.DeadLetters(f.Context(), store.Filter{Effect: "deal.events"}, after, 2)
		f.Must(err)
		if len(page) == 0 {
			break
		}
		for _, row := range page {
			got, after = append(got, row.RecordID), row.MessageID
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, ids) {
		f.Errorf("the pages have %v, want %v", got, ids)
	}
	_, err := f.engine.DeadLetters(f.Context(), store.Filter{}, storetest.UUID(7).String(), 2)
	f.WantError(err, engine.ErrNotFound)
}

// discardedByAnother makes the engine read pages of two rows, and another operator
// discard the last message of the first page right after. It returns the id of that
// message.
func (f *fixture[Tx]) discardedByAnother() (messageID string) {
	f.Helper()
	messages, err := f.engine.DeadLetters(f.Context(), store.Filter{}, "", 2)
	f.Must(err)
	messageID = messages[1].MessageID
	other, db := f.engine, &smallPages[Tx]{Store: f.Store}
	db.read = func(store.Page) {
		db.read = nil
		f.Must(other.Discard(f.Context(), messageID, "bob", "moot"))
	}
	f.engine = f.newEngine(db, f.config)
	return messageID
}

// wantAllButOne fails the test unless four messages were resolved and one was not,
// because another operator had discarded it.
func (f *fixture[Tx]) wantAllButOne(did engine.Bulk, err error, other string) {
	f.Helper()
	f.Must(err)
	_ = storetest.As[*fsm.Rejection](f, did.Failed[other])
	if did.Done != 4 || len(did.Failed) != 1 || !errors.Is(did.Err(), fsm.ErrRefused) {
		f.Errorf("it was done for %d, and failed for %v", did.Done, did.Failed)
	}
}

func requeueAll[Tx any](f *fixture[Tx]) {
	f.fiveDeadLetters()
	other := f.discardedByAnother()
	did, err := f.engine.RequeueAll(f.Context(), store.Filter{Machine: "deal", Error: "no such topic"}, "ann", "there is one now")
	f.wantAllButOne(did, err, other)
	f.WantCount("fsm_outbox WHERE resolution = 'ann: there is one now' AND state = 'pending'", 4)
	f.stepAll()
	f.WantCount("fsm_outbox WHERE state = 'delivered'", 4)
}

func discardAll[Tx any](f *fixture[Tx]) {
	ids := f.fiveDeadLetters()
	did, err := f.engine.DiscardAll(f.Context(), store.Filter{Record: ids[0], Error: "another"}, "ann", "nobody listens")
	f.Must(err)
	if did.Done != 0 || did.Err() != nil {
		f.Errorf("of none it was done for %d: %v", did.Done, did.Err())
	}
	other := f.discardedByAnother()
	did, err = f.engine.DiscardAll(f.Context(), store.Filter{}, "ann", "nobody listens")
	f.wantAllButOne(did, err, other)
	f.WantCount("fsm_outbox WHERE resolution = 'ann: nobody listens' AND discarded_at IS NOT NULL", 4)
}

func resumeAll[Tx any](f *fixture[Tx]) {
	ids := f.fiveDeadLetters()
	offered := f.offered()
	f.Corrupt(f.Deals, ids[2])
	f.engine = f.newEngine(&smallPages[Tx]{Store: f.Store}, f.config)
	did, err := f.engine.ResumeAll(f.Context(), "deal", "DRAFT", "ann", "there is one now")
	f.Must(err)
	if did.Done != 4 || did.Err() != nil {
		f.Errorf("of a state it was done for %d: %v", did.Done, did.Err())
	}
	f.WantCount("fsm_outbox WHERE state = 'dead_letter'", 1)
	f.ExecUnchecked(f.T, "fsm_deadlines", "DELETE FROM fsm_deadlines WHERE record_id = '"+offered+"'")
	did, err = f.engine.ResumeAll(f.Context(), "deal", "", "ann", "there is one now")
	f.Must(err)
	if did.Done != 5 || !errors.Is(did.Failed[ids[2]], store.ErrCorrupt) {
		f.Errorf("of all it was done for %d: %v", did.Done, did.Err())
	}
	f.WantCount("fsm_deadlines WHERE record_id = '"+offered+"'", 1)
	_, err = f.engine.ResumeAll(f.Context(), "nothing", "", "ann", "to see")
	f.WantError(err, engine.ErrUnknownMachine)
}
