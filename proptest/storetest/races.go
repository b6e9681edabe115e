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

func races[Tx any]() []test[Tx] {
	return []test[Tx]{
		{"OfManyWritersOneWins", oneWriterWins[Tx]},
		{"OfManyCreatorsOneWins", oneCreatorWins[Tx]},
		{"OfManyUsersOfAKeyOneWins", oneKeyWins[Tx]},
		{"AStepAndAnAnswerDoNotWaitInACircle", noCircle[Tx]},
		{"AClaimIsExclusive", claimIsExclusive[Tx]},
		{"ALaneIsOneAtATime", laneOneAtATime[Tx]},
	}
}

// crowd is how many try at once.
const crowd = 8

// atOnce runs f in a crowd, half of it in another process as far as the
// database can tell, and returns how many succeeded. Any error that is none of
// the expected fails the test.
func (b *bench[Tx]) atOnce(f func(s store.Store[Tx], i int) error, expected ...error) (won int) {
	b.Helper()
	stores := []store.Store[Tx]{b.Store, b.Reopen(b.T)}
	begin := make(chan struct{})
	errs := make([]error, crowd)
	var wg sync.WaitGroup
	for i := range crowd {
		wg.Go(func() {
			<-begin
			errs[i] = f(stores[i%len(stores)], i)
		})
	}
	close(begin)
	wg.Wait()
	for _, err := range errs {
		if err == nil {
			won++
		} else if !isAny(err, expected) {
			b.Errorf("unexpected: %v", err)
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

func oneWriterWins[Tx any](b *bench[Tx]) {
	h := b.deal()
	for _, step := range []struct {
		event fsm.Payload
		by    fsm.Caller
	}{{deal.SubmitOffer{}, advertiser}, {deal.CounterOffer{PriceNano: 90}, owner}, {deal.Agree{}, advertiser}} {
		commits := make([]store.Commit, crowd)
		var next head[Tx]
		for i := range commits {
			commits[i], next = b.commit(h, step.event, step.by, epoch)
		}
		if won := b.atOnce(func(s store.Store[Tx], i int) error { return saveTo(b.ctx, s, commits[i]) }, store.ErrConflict); won != 1 {
			b.Fatalf("version %d was won %d times", next.version, won)
		}
		b.stands(next)
		h = next
	}
	if n := len(b.history(h)); n != 4 {
		b.Fatalf("the history has %d rows", n)
	}
}

func oneCreatorWins[Tx any](b *bench[Tx]) {
	h := b.new(b.deals)
	commits := make([]store.Commit, crowd)
	for i := range commits {
		commits[i], _ = b.commit(h, deal.Create{OwnerID: 8, PriceNano: int64(i + 1)}, advertiser, epoch)
	}
	won := b.atOnce(func(s store.Store[Tx], i int) error { return saveTo(b.ctx, s, commits[i]) }, store.ErrExists, store.ErrConflict)
	if won != 1 {
		b.Fatalf("it was created %d times", won)
	}
	b.counts("deals", 1)
}

// oneKeyWins gives one key to events of many records.
func oneKeyWins[Tx any](b *bench[Tx]) {
	commits := make([]store.Commit, crowd)
	for i := range commits {
		h := b.deal()
		commits[i], _ = b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
		commits[i].IdempotencyKeys = []store.IdempotencyKey{key(h, "one")}
	}
	won := b.atOnce(func(s store.Store[Tx], i int) error { return saveTo(b.ctx, s, commits[i]) }, store.ErrKeyUsed, store.ErrConflict)
	if won != 1 {
		b.Fatalf("the key was consumed %d times", won)
	}
	b.counts("deals WHERE status = 'OFFER_PENDING'", 1)
}

// noCircle has one half of a crowd leave a state, which cancels its work, and
// the other answer that work. The losers hear what is there now: a deadlock
// would end without that.
func noCircle[Tx any](b *bench[Tx]) {
	for range 4 {
		h := b.deal()
		b.send(h, b.work(h, 1, "ton"))
		answered := delivered(b.claims(901, epoch)[0], epoch)
		c, next := b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
		c.CancelWork = true
		answer := c
		answer.Task = &answered
		won := b.atOnce(func(s store.Store[Tx], i int) error {
			err := saveTo(b.ctx, s, []store.Commit{c, answer}[i/2%2])
			if conflict := new(store.ConflictError); err != nil && !errors.As(err, &conflict) {
				b.Errorf("the error is %v, want a *ConflictError", err)
			}
			return err
		}, store.ErrConflict)
		if won != 1 {
			b.Fatalf("version %d was won %d times", next.version, won)
		}
		b.stands(next)
	}
}

// claimIsExclusive has a crowd claim until nothing is left: each row goes to
// one of them.
func claimIsExclusive[Tx any](b *bench[Tx]) {
	const records, lanes = 20, 3
	for range records {
		h := b.deal()
		c := b.about(h)
		for lane := range lanes {
			c.Outbox = append(c.Outbox, b.message(h, lane, "lane"+uuid(lane).String()))
		}
		c.SetDeadlines = []store.Deadline{b.deadline(h, epoch)}
		b.must(b.save(c))
	}
	var mu sync.Mutex
	holders := map[string]int{}
	b.atOnce(func(s store.Store[Tx], i int) error {
		for range records * (lanes + 1) { // more can't be there
			c := b.claim(901+i, epoch)
			c.Effects, c.Deadlines = 3, 2
			tasks, err := s.Claim(b.ctx, c)
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
	if len(holders) != records*(lanes+1) {
		b.Errorf("%d of %d rows were claimed", len(holders), records*(lanes+1))
	}
	for id, n := range holders {
		if n != 1 {
			b.Errorf("%s was claimed %d times", id, n)
		}
	}
}

// laneOneAtATime has a crowd work a lane off, each settling what it claimed: at
// no time two hold a row of it, and the order is that of the lane.
func laneOneAtATime[Tx any](b *bench[Tx]) {
	const rows = 24
	h := b.deal()
	c := b.about(h)
	for seq := range rows {
		c.Outbox = append(c.Outbox, b.message(h, seq, "kafka"))
	}
	b.must(b.save(c))
	var held, done atomic.Int64
	b.atOnce(func(s store.Store[Tx], i int) error {
		for done.Load() < rows && !b.Failed() {
			claim := b.claim(901+i, epoch)
			tasks, err := s.Claim(b.ctx, claim)
			for _, t := range tasks {
				if n := held.Add(1); n != 1 {
					b.Errorf("%d hold a row of the lane", n)
				}
				if want := done.Load(); int64(t.Effect.Seq) != want {
					b.Errorf("row %d was claimed at turn %d", t.Effect.Seq, want)
				}
				held.Add(-1)
				done.Add(1)
				err = s.InTx(b.ctx, func(tx Tx) error { return s.Settle(b.ctx, tx, delivered(t, epoch)) })
			}
			if err != nil && !errors.Is(err, store.ErrConflict) {
				done.Store(rows) // nobody else would get its row
				return err
			}
			if len(tasks) == 0 {
				b.must(s.Wait(b.ctx, time.Millisecond))
			}
		}
		return nil
	})
}
