package storetest

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
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

// callers is the number of concurrent calls.
const callers = 8

// concurrently calls do from several goroutines at once, half of them with another store
// on the same database. It returns how many calls succeeded. Any error that is not
// expected fails the test.
func (f *fixture[Tx]) concurrently(do func(s store.Store[Tx], i int) error, expected ...error) (won int) {
	f.Helper()
	stores := []store.Store[Tx]{f.Store, f.Reopen(f.T)}
	begin := make(chan struct{})
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			<-begin
			errs[i] = do(stores[i%len(stores)], i)
		})
	}
	close(begin)
	wg.Wait()
	for _, err := range errs {
		if err == nil {
			won++
		} else if !isAny(err, expected) {
			f.Errorf("unexpected: %v", err)
		}
	}
	return won
}

func isAny(err error, targets []error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

func oneWriterWins[Tx any](f *fixture[Tx]) {
	h := f.deal()
	for _, step := range []struct {
		event fsm.Payload
		by    fsm.Caller
	}{{deal.SubmitOffer{}, advertiser}, {deal.CounterOffer{PriceNano: 90}, owner}, {deal.Agree{}, advertiser}} {
		commits := make([]store.Commit, callers)
		var next versioned[Tx]
		for i := range commits {
			commits[i], next = f.commit(h, step.event, step.by, startTime)
		}
		if won := f.concurrently(func(s store.Store[Tx], i int) error { return saveTo(f.ctx, s, commits[i]) }, store.ErrConflict); won != 1 {
			f.Fatalf("version %d was won %d times", next.version, won)
		}
		f.wantStored(next)
		h = next
	}
	if n := len(f.history(h)); n != 4 {
		f.Fatalf("the history has %d rows", n)
	}
}

func oneCreatorWins[Tx any](f *fixture[Tx]) {
	h := f.new(f.deals)
	commits := make([]store.Commit, callers)
	for i := range commits {
		commits[i], _ = f.commit(h, deal.Create{OwnerID: 8, PriceNano: int64(i + 1)}, advertiser, startTime)
	}
	won := f.concurrently(func(s store.Store[Tx], i int) error { return saveTo(f.ctx, s, commits[i]) }, store.ErrExists, store.ErrConflict)
	if won != 1 {
		f.Fatalf("it was created %d times", won)
	}
	f.wantCount("deals", 1)
}

// oneKeyWins uses one key for events of many records.
func oneKeyWins[Tx any](f *fixture[Tx]) {
	commits := make([]store.Commit, callers)
	for i := range commits {
		h := f.deal()
		commits[i], _ = f.commit(h, deal.SubmitOffer{}, advertiser, startTime)
		commits[i].IdempotencyKeys = []store.IdempotencyKey{key(h, "one")}
	}
	won := f.concurrently(func(s store.Store[Tx], i int) error { return saveTo(f.ctx, s, commits[i]) }, store.ErrKeyUsed, store.ErrConflict)
	if won != 1 {
		f.Fatalf("the key was consumed %d times", won)
	}
	f.wantCount("deals WHERE status = 'OFFER_PENDING'", 1)
}

// noDeadlock has half of the callers leave a state, which cancels its work, and the
// others answer that work. The losers get a *ConflictError. A deadlock would end without
// one.
func noDeadlock[Tx any](f *fixture[Tx]) {
	for range 4 {
		h := f.deal()
		f.send(h, f.work(h, 1, "ton"))
		answered := delivered(f.claimAll(901, startTime)[0], startTime)
		c, next := f.commit(h, deal.SubmitOffer{}, advertiser, startTime)
		c.CancelWork = true
		answer := c
		answer.Task = &answered
		won := f.concurrently(func(s store.Store[Tx], i int) error {
			err := saveTo(f.ctx, s, []store.Commit{c, answer}[i/2%2])
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
func claimIsExclusive[Tx any](f *fixture[Tx]) {
	const records, destinations = 20, 3
	for range records {
		h := f.deal()
		c := f.emptyCommit(h)
		for destination := range destinations {
			c.Outbox = append(c.Outbox, f.message(h, destination, "destination"+uuid(destination).String()))
		}
		c.SetDeadlines = []store.Deadline{f.deadline(h, startTime)}
		f.must(f.save(c))
	}
	var mu sync.Mutex
	holders := map[string]int{}
	f.concurrently(func(s store.Store[Tx], i int) error {
		for range records * (destinations + 1) { // more can't be there
			c := f.claim(901+i, startTime)
			c.Effects, c.Deadlines = 3, 2
			tasks, err := s.Claim(f.ctx, c)
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
func keyOneAtATime[Tx any](f *fixture[Tx]) {
	const rows = 24
	h := f.deal()
	c := f.emptyCommit(h)
	for seq := range rows {
		c.Outbox = append(c.Outbox, f.message(h, seq, "kafka"))
	}
	f.must(f.save(c))
	var held, done atomic.Int64
	f.concurrently(func(s store.Store[Tx], i int) error {
		for done.Load() < rows && !f.Failed() {
			claim := f.claim(901+i, startTime)
			tasks, err := s.Claim(f.ctx, claim)
			for _, t := range tasks {
				if n := held.Add(1); n != 1 {
					f.Errorf("%d hold a message of the ordering key", n)
				}
				if want := done.Load(); int64(t.Effect.Seq) != want {
					f.Errorf("row %d was claimed at turn %d", t.Effect.Seq, want)
				}
				held.Add(-1)
				done.Add(1)
				err = s.InTx(f.ctx, func(tx Tx) error { return s.Settle(f.ctx, tx, delivered(t, startTime)) })
			}
			if err != nil && !errors.Is(err, store.ErrConflict) {
				done.Store(rows) // no other caller would get its message
				return err
			}
			if len(tasks) == 0 {
				f.must(s.Wait(f.ctx, time.Millisecond))
			}
		}
		return nil
	})
}
