package storetest

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func races[Tx any]() []storeCase[Tx] {
	return []storeCase[Tx]{
		{"OfManyWritersOneWins", oneWriterWins[Tx]},
		{"OfManyCreatorsOneWins", oneCreatorWins[Tx]},
		{"OfManyUsersOfAKeyOneWins", oneKeyWins[Tx]},
		{"AStepAndAnAnswerDoNotDeadlock", noDeadlock[Tx]},
		{"AClaimIsExclusive", claimIsExclusive[Tx]},
		{"AnOrderingKeyIsOneAtATime", keyOneAtATime[Tx]},
	}
}

func oneWriterWins[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	for _, step := range []struct {
		event fsm.Payload
		by    fsm.Caller
	}{{deal.SubmitOffer{}, Advertiser}, {deal.CounterOffer{PriceNano: 90}, Owner}, {deal.Agree{}, Advertiser}} {
		commits := make([]store.Commit, callers)
		var next Versioned
		for i := range commits {
			commits[i], next = f.commit(h, step.event, step.by, StartTime)
		}
		if won := f.Concurrently(func(s store.Store[Tx], i int) error { return saveTo(f.Context(), s, commits[i]) }, store.ErrConflict); won != 1 {
			f.Fatalf("version %d was won %d times", next.version, won)
		}
		f.wantStored(next)
		h = next
	}
	if n := len(f.history(h)); n != 4 {
		f.Fatalf("the history has %d rows", n)
	}
}

func oneCreatorWins[Tx any](f *Fixture[Tx]) {
	h := f.new(f.Deals)
	commits := make([]store.Commit, callers)
	for i := range commits {
		commits[i], _ = f.commit(h, deal.Create{OwnerID: 8, PriceNano: int64(i + 1)}, Advertiser, StartTime)
	}
	won := f.Concurrently(func(s store.Store[Tx], i int) error { return saveTo(f.Context(), s, commits[i]) }, store.ErrExists, store.ErrConflict)
	if won != 1 {
		f.Fatalf("it was created %d times", won)
	}
	f.WantCount("deals", 1)
}

// oneKeyWins uses one key for events of many records.
func oneKeyWins[Tx any](f *Fixture[Tx]) {
	commits := make([]store.Commit, callers)
	for i := range commits {
		h := f.deal()
		commits[i], _ = f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
		commits[i].IdempotencyKeys = []store.IdempotencyKey{key(h, "one")}
	}
	won := f.Concurrently(func(s store.Store[Tx], i int) error { return saveTo(f.Context(), s, commits[i]) }, store.ErrKeyUsed, store.ErrConflict)
	if won != 1 {
		f.Fatalf("the key was consumed %d times", won)
	}
	f.WantCount("deals WHERE status = 'OFFER_PENDING'", 1)
}

// noDeadlock has half of the callers leave a state, which cancels its work, and the
// others answer that work. The losers get a *ConflictError. A deadlock would end without
// one.
func noDeadlock[Tx any](f *Fixture[Tx]) {
	for range 4 {
		h := f.deal()
		f.send(h, f.work(h, 1, "ton"))
		answered := delivered(f.claimAll(901, StartTime)[0], StartTime)
		c, next := f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
		c.CancelWork = true
		answer := c
		answer.Task = &answered
		won := f.Concurrently(func(s store.Store[Tx], i int) error {
			err := saveTo(f.Context(), s, []store.Commit{c, answer}[i/2%2])
			if conflict := new(store.ConflictError); err != nil && !errors.As(err, &conflict) {
				f.Errorf("the error is %v, want a *ConflictError", err)
			}
			return err
		}, store.ErrConflict)
		if won != 1 {
			f.Fatalf("version %d was won %d times", next.version, won)
		}
		f.wantStored(next)
	}
}

// claimIsExclusive has concurrent callers claim until nothing is left. Each message and
// each deadline is claimed once.
func claimIsExclusive[Tx any](f *Fixture[Tx]) {
	const records, destinations = 20, 3
	for range records {
		h := f.deal()
		c := f.EmptyCommit(h)
		for destination := range destinations {
			c.Outbox = append(c.Outbox, f.Message(h, destination, "destination"+UUID(destination).String()))
		}
		c.SetDeadlines = []store.Deadline{f.Deadline(h, StartTime)}
		f.Must(f.Save(c))
	}
	var mu sync.Mutex
	holders := map[string]int{}
	f.Concurrently(func(s store.Store[Tx], i int) error {
		for range records * (destinations + 1) { // more can't be there
			c := f.Claim(901+i, StartTime)
			c.Effects, c.Deadlines = 3, 2
			tasks, err := s.Claim(f.Context(), c)
			if errors.Is(err, store.ErrConflict) {
				continue
			}
			if err != nil || len(tasks) == 0 {
				return err
			}
			mu.Lock()
			for _, t := range tasks {
				holders[t.Effect.MessageID+t.Deadline.RecordID]++
			}
			mu.Unlock()
		}
		return nil
	})
	if len(holders) != records*(destinations+1) {
		f.Errorf("%d of %d rows were claimed", len(holders), records*(destinations+1))
	}
	for id, n := range holders {
		if n != 1 {
			f.Errorf("%s was claimed %d times", id, n)
		}
	}
}

// keyOneAtATime has concurrent callers claim and settle the messages of one ordering key.
// At no time are two of them claimed, and they are claimed in their order.
func keyOneAtATime[Tx any](f *Fixture[Tx]) {
	const rows = 24
	h := f.deal()
	c := f.EmptyCommit(h)
	for seq := range rows {
		c.Outbox = append(c.Outbox, f.Message(h, seq, "kafka"))
	}
	f.Must(f.Save(c))
	var held, done atomic.Int64
	f.Concurrently(func(s store.Store[Tx], i int) error {
		for done.Load() < rows && !f.Failed() {
			claim := f.Claim(901+i, StartTime)
			tasks, err := s.Claim(f.Context(), claim)
			for _, t := range tasks {
				if n := held.Add(1); n != 1 {
					f.Errorf("%d hold a message of the ordering key", n)
				}
				if want := done.Load(); int64(t.Effect.Seq) != want {
					f.Errorf("row %d was claimed at turn %d", t.Effect.Seq, want)
				}
				held.Add(-1)
				done.Add(1)
				err = s.InTx(f.Context(), func(tx Tx) error { return s.Settle(f.Context(), tx, delivered(t, StartTime)) })
			}
			if err != nil && !errors.Is(err, store.ErrConflict) {
				done.Store(rows) // no other caller would get its message
				return err
			}
			if len(tasks) == 0 {
				f.Must(s.Wait(f.Context(), time.Millisecond))
			}
		}
		return nil
	})
}
