package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func parking[Tx any]() []test[Tx] {
	return []test[Tx]{
		{"OnlyTheLanesAskedForAreClaimed", onlyTheseLanes[Tx]},
		{"OfEachLaneAtMostSoMany", mostOfALane[Tx]},
		{"AnUnknownEffectIsLeft", unknownEffectIsLeft[Tx]},
		{"AnUnknownEffectHoldsItsLane", unknownEffectHolds[Tx]},
		{"AnUnknownEventIsLeft", unknownEventIsLeft[Tx]},
		{"ADeliveredHeadUnparksTheNext", parkedBehindDelivered[Tx]},
		{"ADiscardedHeadUnparksTheNext", parkedBehindDiscarded[Tx]},
		{"ACancelledHeadUnparksTheNext", parkedBehindCancelledByHand[Tx]},
		{"AParkedMessageIsCancelled", parkedIsCancelledByHand[Tx]},
		{"ARequeuedHeadKeepsTheNextParked", parkedBehindRequeued[Tx]},
		{"CancelledWorkUnparksTheNext", parkedBehindCancelled[Tx]},
		{"ParkedWorkIsCancelled", parkedIsCancelled[Tx]},
		{"BehindACancelledLeaseNothingIsParked", behindCancelledLease[Tx]},
		{"HeadsBehindManyThatWaitAreFound", headsBehindMany[Tx]},
		{"AHeadIsNotParkedByHand", headNotParkedByHand[Tx]},
		{"ClaimsAndSettlementsLeaveNothingStuck", nothingStuck[Tx]},
		{"ClaimsAndCancellationsLeaveNothingStuck", nothingStuckByCancelling[Tx]},
	}
}

// stuck is the parked messages that nothing in their lane stands before. There must
// be none at any time.
const stuck = `fsm_outbox AS o WHERE o.parked AND NOT o.cancelled AND NOT EXISTS (
	SELECT 1 FROM fsm_outbox AS b
	WHERE b.machine = o.machine AND b.record_id = o.record_id AND b.lane = o.lane
		AND (b.version < o.version OR b.version = o.version AND b.seq < o.seq)
		AND b.state <> 'delivered' AND b.discarded_at IS NULL AND NOT b.cancelled)`

// CheckParked fails the test if a parked message waits for nothing.
func CheckParked(t *testing.T, count func(t *testing.T, from string) int) {
	t.Helper()
	if n := count(t, stuck); n != 0 {
		t.Errorf("%d parked messages wait for nothing", n)
	}
}

// parked fails the test unless so many messages are parked, and none is stuck.
func (b *bench[Tx]) parked(want int) {
	b.Helper()
	b.counts("fsm_outbox WHERE parked", want)
	CheckParked(b.T, b.Count)
}

// gets fails the test unless a claim returns these messages.
func (b *bench[Tx]) gets(c store.Claim, want ...store.OutboxMessage) []store.Task {
	b.Helper()
	tasks, err := b.Store.Claim(b.ctx, c)
	b.must(err)
	ids := []string{}
	for _, row := range want {
		ids = append(ids, row.MessageID)
	}
	if got := messages(tasks); !slices.Equal(got, ids) {
		b.Fatalf("claimed %v, want %v", got, ids)
	}
	return tasks
}

func onlyTheseLanes[Tx any](b *bench[Tx]) {
	h := b.deal()
	kafka, ton := b.message(h, 1, "kafka"), b.message(h, 2, "ton")
	b.send(h, kafka, ton)
	c := b.claim(901, epoch)
	c.Destinations = slices.DeleteFunc(c.Destinations, func(l store.Destination) bool { return l.Name != "ton" })
	b.gets(c, ton)
	c.Destinations = nil
	b.gets(c)
	b.gets(b.claim(902, epoch), kafka)
}

func mostOfALane[Tx any](b *bench[Tx]) {
	var rows []store.OutboxMessage
	for i := range 6 {
		h := b.deal()
		row := b.message(h, 1, []string{"kafka", "ton"}[i%2])
		row.AvailableAt = fsm.Some(epoch.Add(time.Duration(i-10) * time.Second))
		b.send(h, row)
		rows = append(rows, row)
	}
	c := b.claim(901, epoch)
	for i := range c.Destinations {
		c.Destinations[i].Most = map[string]int{"kafka": 2, "ton": 1}[c.Destinations[i].Name]
	}
	b.gets(c, rows[0], rows[1], rows[2])
	c.Effects = 1
	b.gets(c, rows[3])
	c.Destinations = slices.DeleteFunc(c.Destinations, func(l store.Destination) bool { return l.Name != "kafka" })
	c.Effects = 100
	b.gets(c, rows[4])
	b.gets(c)
}

func unknownEffectIsLeft[Tx any](b *bench[Tx]) {
	h, other := b.deal(), b.deal()
	row, known := b.message(h, 1, "kafka"), b.message(other, 1, "kafka")
	row.Effect = "of_tomorrow"
	b.send(h, row)
	b.send(other, known)
	b.gets(b.claim(901, epoch), known)
	if got := b.letter(row.MessageID); got.State != "pending" || got.Attempts != 0 {
		b.Fatalf("it is %s", text(got))
	}
	b.know("deal", "kafka", "of_tomorrow")
	b.gets(b.claim(902, epoch), row)
}

// unknownEffectHolds: the order of a lane is that of its messages, whoever knows them.
func unknownEffectHolds[Tx any](b *bench[Tx]) {
	h := b.deal()
	row, behind := b.message(h, 1, "kafka"), b.message(h, 2, "kafka")
	row.Effect = "of_tomorrow"
	b.send(h, row, behind)
	b.gets(b.claim(901, epoch))
	b.parked(1)
	b.know("deal", "kafka", "of_tomorrow")
	tasks := b.gets(b.claim(902, epoch), row)
	b.must(b.settle(delivered(tasks[0], epoch)))
	b.gets(b.claim(903, epoch), behind)
}

func unknownEventIsLeft[Tx any](b *bench[Tx]) {
	_, t := b.armed()
	c := b.claim(901, epoch)
	for i := range c.Events {
		c.Events[i].Names = []string{"OF_TOMORROW"}
	}
	tasks, err := b.Store.Claim(b.ctx, c)
	b.must(err)
	if len(tasks) != 0 {
		b.Fatalf("claimed %s", text(tasks))
	}
	if tasks := b.claims(902, epoch); len(tasks) != 1 || text(tasks[0].Deadline) != text(t) {
		b.Fatalf("claimed %s", text(tasks))
	}
}

// queued saves three messages of a lane of which the first is claimed, and has the
// others parked.
func (b *bench[Tx]) queued(message func(h head[Tx], seq int, lane string) store.OutboxMessage) (h head[Tx], first store.Task, second, third store.OutboxMessage) {
	b.Helper()
	h = b.deal()
	row := message(h, 1, "kafka")
	second, third = b.message(h, 2, "kafka"), b.message(h, 3, "kafka")
	b.send(h, row, second, third)
	first = b.gets(b.claim(901, epoch), row)[0]
	b.gets(b.claim(902, epoch))
	b.parked(2)
	return h, first, second, third
}

func parkedBehindDelivered[Tx any](b *bench[Tx]) {
	_, first, second, third := b.queued(b.message)
	b.must(b.settle(delivered(first, epoch)))
	b.parked(1)
	next := b.gets(b.claim(903, epoch), second)[0]
	b.must(b.settle(outcome(next, store.MessageState{State: "retry_wait", AvailableAt: fsm.Some(epoch.Add(time.Second)), LastError: "x"})))
	b.parked(1)
	next = b.gets(b.claim(904, epoch.Add(time.Second)), second)[0]
	b.must(b.settle(delivered(next, epoch)))
	b.gets(b.claim(905, epoch), third)
	b.parked(0)
}

func parkedBehindDiscarded[Tx any](b *bench[Tx]) {
	_, first, second, _ := b.queued(b.message)
	b.must(b.settle(outcome(first, store.MessageState{State: "dead_letter", LastError: "x"})))
	b.parked(2)
	dead := b.letter(first.Effect.MessageID)
	l := dead.MessageState
	l.DiscardedAt, l.Resolution = fsm.Some(epoch), "ann: moot"
	b.must(b.settle(person(dead, l)))
	b.parked(1)
	b.gets(b.claim(903, epoch), second)
}

// cancelled gives a message up before it was delivered.
func (b *bench[Tx]) cancelled(id string) {
	b.Helper()
	row := b.letter(id)
	l := row.MessageState
	l.State, l.DiscardedAt, l.Resolution = "dead_letter", fsm.Some(epoch), "ann: moot"
	b.must(b.settle(person(row, l)))
	if got := b.letter(id); text(got.MessageState) != text(l) {
		b.Errorf("it is %s\nwant %s", text(got.MessageState), text(l))
	}
}

func parkedBehindCancelledByHand[Tx any](b *bench[Tx]) {
	_, first, second, third := b.queued(b.message)
	b.must(b.settle(outcome(first, store.MessageState{State: "retry_wait", AvailableAt: fsm.Some(epoch.Add(time.Hour)), LastError: "x"})))
	b.gets(b.claim(902, epoch))
	b.cancelled(first.Effect.MessageID)
	b.parked(1)
	b.must(b.settle(delivered(b.gets(b.claim(903, epoch), second)[0], epoch)))
	b.gets(b.claim(904, epoch), third)
}

// parkedIsCancelledByHand gives up a message that waits behind one that is under way.
func parkedIsCancelledByHand[Tx any](b *bench[Tx]) {
	_, first, second, third := b.queued(b.message)
	b.cancelled(second.MessageID)
	CheckParked(b.T, b.Count)
	b.counts("fsm_outbox WHERE parked AND state = 'dead_letter'", 0)
	b.gets(b.claim(902, epoch))
	b.must(b.settle(delivered(first, epoch)))
	b.gets(b.claim(903, epoch), third)
	b.parked(0)
}

func parkedBehindRequeued[Tx any](b *bench[Tx]) {
	_, first, second, _ := b.queued(b.message)
	b.must(b.settle(outcome(first, store.MessageState{State: "dead_letter", LastError: "x"})))
	dead := b.letter(first.Effect.MessageID)
	b.must(b.settle(person(dead, store.MessageState{State: "pending", AvailableAt: fsm.Some(epoch), LastError: "x", Resolution: "ann: fixed"})))
	b.parked(2)
	again := b.gets(b.claim(903, epoch), first.Effect)[0]
	b.must(b.settle(delivered(again, epoch)))
	b.gets(b.claim(904, epoch), second)
}

// leaves leaves the state of h, which cancels its work.
func (b *bench[Tx]) leaves(h head[Tx]) head[Tx] {
	b.Helper()
	c, next := b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
	c.CancelWork = true
	b.must(b.save(c))
	return next
}

// parkedBehindCancelled has the head cancelled while a worker is at it: the next one
// waits for the end of the lease, and no longer.
func parkedBehindCancelled[Tx any](b *bench[Tx]) {
	h, first, second, third := b.queued(b.work)
	b.leaves(h)
	b.gets(b.claim(903, epoch))
	b.parked(1)
	next := b.gets(b.claim(904, epoch.Add(time.Minute)), second)[0]
	b.must(b.settle(delivered(next, epoch)))
	b.gets(b.claim(905, epoch.Add(time.Minute)), third)
	b.must(b.settle(delivered(first, epoch)))
}

func parkedIsCancelled[Tx any](b *bench[Tx]) {
	h := b.deal()
	row, work, behind := b.message(h, 1, "kafka"), b.work(h, 2, "kafka"), b.message(h, 3, "kafka")
	b.send(h, row, work, behind)
	first := b.gets(b.claim(901, epoch), row)[0]
	b.gets(b.claim(902, epoch))
	b.parked(2)
	b.leaves(h)
	b.gets(b.claim(903, epoch))
	b.parked(1)
	b.must(b.settle(delivered(first, epoch)))
	b.gets(b.claim(904, epoch), behind)
	b.parked(0)
}

func behindCancelledLease[Tx any](b *bench[Tx]) {
	h := b.deal()
	b.send(h, b.work(h, 1, "kafka"))
	b.claims(901, epoch)
	h = b.leaves(h)
	next := b.message(h, 1, "kafka")
	b.send(h, next)
	b.gets(b.claim(902, epoch))
	b.parked(0)
	b.gets(b.claim(903, epoch.Add(time.Minute)), next)
}

// headsBehindMany has more old messages that wait than a claim asks for, and one
// that does not.
func headsBehindMany[Tx any](b *bench[Tx]) {
	const records, behind = 3, 20
	for range records {
		h := b.deal()
		b.dead(h, 0, "kafka")
		c := b.about(h)
		for seq := range behind {
			c.Outbox = append(c.Outbox, b.message(h, seq+1, "kafka"))
		}
		b.must(b.save(c))
	}
	h := b.deal()
	last := b.message(h, 1, "kafka")
	last.AvailableAt = fsm.Some(epoch.Add(time.Second))
	b.send(h, last)
	c := b.claim(903, epoch.Add(time.Second))
	c.Effects = 2
	b.gets(c, last)
	b.parked(records * behind)
}

func headNotParkedByHand[Tx any](b *bench[Tx]) {
	h := b.deal()
	row := b.message(h, 1, "kafka")
	b.send(h, row)
	park := func() error {
		return b.Store.InTx(b.ctx, func(tx Tx) error {
			return b.Exec(b.ctx, tx, "UPDATE fsm_outbox SET parked = NOT parked WHERE message_id = '"+row.MessageID+"'")
		})
	}
	if park() == nil {
		b.Fatal("the database lets a head be parked")
	}
	b.gets(b.claim(901, epoch), row)
}

// nothingStuck has a crowd claim and settle the messages of many lanes until all are
// delivered: some wait in vain where a parked one is left behind.
func nothingStuck[Tx any](b *bench[Tx]) {
	const records, rows = 6, 15
	for range records {
		h := b.deal()
		c := b.about(h)
		for seq := range rows {
			c.Outbox = append(c.Outbox, b.message(h, seq, "kafka"))
		}
		b.must(b.save(c))
	}
	b.drains(records*rows, func(t store.Task, s store.Store[Tx]) error {
		return s.InTx(b.ctx, func(tx Tx) error { return s.Settle(b.ctx, tx, delivered(t, epoch)) })
	})
	b.counts("fsm_outbox WHERE state <> 'delivered'", 0)
}

// drains has a crowd claim and finish so many messages, beside work. It fails the test when a
// long time has passed in which nothing was claimed.
func (b *bench[Tx]) drains(total int, finish func(t store.Task, s store.Store[Tx]) error) {
	b.Helper()
	var done, idle atomic.Int64
	b.atOnce(func(s store.Store[Tx], i int) error {
		for n := 0; done.Load() < int64(total); n++ {
			c := b.claim(1000+i, epoch)
			c.Token = uuid(10_000*(i+1) + n)
			c.Effects = 3
			tasks, err := s.Claim(b.ctx, c)
			if err != nil && !errors.Is(err, store.ErrConflict) {
				done.Store(int64(total))
				return err
			}
			for _, t := range tasks {
				if err := b.insist(func() error { return finish(t, s) }); err != nil {
					done.Store(int64(total))
					return fmt.Errorf("finish %s: %w", t.Effect.MessageID, err)
				}
				if !t.Effect.Work {
					done.Add(1)
				}
				idle.Store(0)
			}
			if len(tasks) == 0 && idle.Add(1) > 2000*crowd {
				done.Store(int64(total))
				return errors.New("what is left is never claimed")
			}
		}
		return nil
	})
	CheckParked(b.T, b.Count)
}

// insist does something again while it meets with a conflict.
func (b *bench[Tx]) insist(f func() error) error {
	for {
		if err := f(); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// nothingStuckByCancelling does so while the states that asked for some of the
// messages are left.
func nothingStuckByCancelling[Tx any](b *bench[Tx]) {
	const records, rows = 8, 6
	heads := make([]head[Tx], records)
	kept := 0
	for i := range heads {
		heads[i] = b.deal()
		c := b.about(heads[i])
		for seq := range rows {
			row := b.message(heads[i], seq, "kafka")
			if row.Work = seq%2 == 1; !row.Work {
				kept++
			}
			c.Outbox = append(c.Outbox, row)
		}
		b.must(b.save(c))
	}
	leaving := make([]store.Commit, records)
	for i, h := range heads {
		leaving[i], _ = b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
		leaving[i].CancelWork = true
	}
	var turn atomic.Int64
	b.drains(kept, func(t store.Task, s store.Store[Tx]) error {
		if i := int(turn.Add(1)) - 1; i < records {
			if err := b.insist(func() error { return saveTo(b.ctx, s, leaving[i]) }); err != nil {
				return err
			}
		}
		return s.InTx(b.ctx, func(tx Tx) error { return s.Settle(b.ctx, tx, delivered(t, epoch)) })
	})
	b.counts("fsm_outbox WHERE NOT cancelled AND state <> 'delivered'", 0)
}
