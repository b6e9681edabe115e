package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func parking[Tx any]() []storeCase[Tx] {
	return []storeCase[Tx]{
		{"OnlyTheDestinationsAskedForAreClaimed", onlyTheseDestinations[Tx]},
		{"OfEachDestinationAtMostSoMany", mostOfADestination[Tx]},
		{"AnUnknownEffectIsLeft", unknownEffectIsLeft[Tx]},
		{"AnUnknownEffectBlocksItsOrderingKey", unknownEffectBlocks[Tx]},
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
		{"ClaimsAndSettlementsLeaveNothingStuck", claimsLeaveNothingStuck[Tx]},
		{"ClaimsAndCancellationsLeaveNothingStuck", cancellationsLeaveNothingStuck[Tx]},
	}
}

// stuck selects the parked messages that no earlier message of their ordering key blocks.
// There must never be any.
const stuck = `fsm_outbox AS o WHERE o.parked AND NOT o.cancelled AND NOT EXISTS (
	SELECT 1 FROM fsm_outbox AS b
	WHERE b.machine = o.machine AND b.record_id = o.record_id AND b.destination = o.destination
		AND (b.version < o.version OR b.version = o.version AND b.seq < o.seq)
		AND b.state <> 'delivered' AND b.discarded_at IS NULL AND NOT b.cancelled)`

// CheckParked fails the test if a message is parked and no earlier message blocks it.
func CheckParked(t *testing.T, count func(t *testing.T, from string) int) {
	t.Helper()
	if n := count(t, stuck); n != 0 {
		t.Errorf("%d parked messages wait for nothing", n)
	}
}

// wantParked fails the test unless want messages are parked and none of them is stuck.
func (f *Fixture[Tx]) wantParked(want int) {
	f.Helper()
	f.WantCount("fsm_outbox WHERE parked", want)
	CheckParked(f.T, f.Count)
}

// wantClaimed fails the test unless a claim returns these messages.
func (f *Fixture[Tx]) wantClaimed(c store.Claim, want ...store.OutboxMessage) []store.Task {
	f.Helper()
	tasks, err := f.Store.Claim(f.Context(), c)
	f.Must(err)
	ids := []string{}
	for _, row := range want {
		ids = append(ids, row.MessageID)
	}
	if got := messages(tasks); !slices.Equal(got, ids) {
		f.Fatalf("claimed %v, want %v", got, ids)
	}
	return tasks
}

func onlyTheseDestinations[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	kafka, ton := f.Message(h, 1, "kafka"), f.Message(h, 2, "ton")
	f.send(h, kafka, ton)
	c := f.Claim(901, StartTime)
	c.Destinations = slices.DeleteFunc(c.Destinations, func(l store.Destination) bool { return l.Name != "ton" })
	f.wantClaimed(c, ton)
	c.Destinations = nil
	f.wantClaimed(c)
	f.wantClaimed(f.Claim(902, StartTime), kafka)
}

func mostOfADestination[Tx any](f *Fixture[Tx]) {
	var rows []store.OutboxMessage
	for i := range 6 {
		h := f.deal()
		row := f.Message(h, 1, []string{"kafka", "ton"}[i%2])
		row.AvailableAt = fsm.Some(StartTime.Add(time.Duration(i-10) * time.Second))
		f.send(h, row)
		rows = append(rows, row)
	}
	c := f.Claim(901, StartTime)
	for i := range c.Destinations {
		c.Destinations[i].Most = map[string]int{"kafka": 2, "ton": 1}[c.Destinations[i].Name]
	}
	f.wantClaimed(c, rows[0], rows[1], rows[2])
	c.Effects = 1
	f.wantClaimed(c, rows[3])
	c.Destinations = slices.DeleteFunc(c.Destinations, func(l store.Destination) bool { return l.Name != "kafka" })
	c.Effects = 100
	f.wantClaimed(c, rows[4])
	f.wantClaimed(c)
}

func unknownEffectIsLeft[Tx any](f *Fixture[Tx]) {
	h, other := f.deal(), f.deal()
	row, known := f.Message(h, 1, "kafka"), f.Message(other, 1, "kafka")
	row.Effect = "of_tomorrow"
	f.send(h, row)
	f.send(other, known)
	f.wantClaimed(f.Claim(901, StartTime), known)
	if got := f.ReadMessage(row.MessageID); got.State != "pending" || got.Attempts != 0 {
		f.Fatalf("it is %s", Text(got))
	}
	f.addEffect("deal", "kafka", "of_tomorrow")
	f.wantClaimed(f.Claim(902, StartTime), row)
}

// unknownEffectBlocks has a message of an unknown effect first. The messages behind it
// wait, since the order holds for every worker.
func unknownEffectBlocks[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	row, behind := f.Message(h, 1, "kafka"), f.Message(h, 2, "kafka")
	row.Effect = "of_tomorrow"
	f.send(h, row, behind)
	f.wantClaimed(f.Claim(901, StartTime))
	f.wantParked(1)
	f.addEffect("deal", "kafka", "of_tomorrow")
	tasks := f.wantClaimed(f.Claim(902, StartTime), row)
	f.Must(f.settle(delivered(tasks[0], StartTime)))
	f.wantClaimed(f.Claim(903, StartTime), behind)
}

func unknownEventIsLeft[Tx any](f *Fixture[Tx]) {
	_, t := f.dealWithDeadline()
	c := f.Claim(901, StartTime)
	for i := range c.Events {
		c.Events[i].Names = []string{"OF_TOMORROW"}
	}
	tasks, err := f.Store.Claim(f.Context(), c)
	f.Must(err)
	if len(tasks) != 0 {
		f.Fatalf("claimed %s", Text(tasks))
	}
	if tasks := f.claimAll(902, StartTime); len(tasks) != 1 || Text(tasks[0].Deadline) != Text(t) {
		f.Fatalf("claimed %s", Text(tasks))
	}
}

// queued saves three messages of one ordering key. The first is claimed, the others are
// parked.
func (f *Fixture[Tx]) queued(message func(h Versioned, seq int, destination string) store.OutboxMessage) (h Versioned, first store.Task, second, third store.OutboxMessage) {
	f.Helper()
	h = f.deal()
	row := message(h, 1, "kafka")
	second, third = f.Message(h, 2, "kafka"), f.Message(h, 3, "kafka")
	f.send(h, row, second, third)
	first = f.wantClaimed(f.Claim(901, StartTime), row)[0]
	f.wantClaimed(f.Claim(902, StartTime))
	f.wantParked(2)
	return h, first, second, third
}

func parkedBehindDelivered[Tx any](f *Fixture[Tx]) {
	_, first, second, third := f.queued(f.Message)
	f.Must(f.settle(delivered(first, StartTime)))
	f.wantParked(1)
	next := f.wantClaimed(f.Claim(903, StartTime), second)[0]
	f.Must(f.settle(outcome(next, store.MessageState{State: "retry_wait", AvailableAt: fsm.Some(StartTime.Add(time.Second)), LastError: "x"})))
	f.wantParked(1)
	next = f.wantClaimed(f.Claim(904, StartTime.Add(time.Second)), second)[0]
	f.Must(f.settle(delivered(next, StartTime)))
	f.wantClaimed(f.Claim(905, StartTime), third)
	f.wantParked(0)
}

func parkedBehindDiscarded[Tx any](f *Fixture[Tx]) {
	_, first, second, _ := f.queued(f.Message)
	f.Must(f.settle(outcome(first, store.MessageState{State: "dead_letter", LastError: "x"})))
	f.wantParked(2)
	dead := f.ReadMessage(first.Effect.MessageID)
	l := dead.MessageState
	l.DiscardedAt, l.Resolution = fsm.Some(StartTime), "ann: moot"
	f.Must(f.settle(byOperator(dead, l)))
	f.wantParked(1)
	f.wantClaimed(f.Claim(903, StartTime), second)
}

// cancel cancels a message that is not delivered.
func (f *Fixture[Tx]) cancel(id string) {
	f.Helper()
	row := f.ReadMessage(id)
	l := row.MessageState
	l.State, l.DiscardedAt, l.Resolution = "dead_letter", fsm.Some(StartTime), "ann: moot"
	f.Must(f.settle(byOperator(row, l)))
	if got := f.ReadMessage(id); Text(got.MessageState) != Text(l) {
		f.Errorf("it is %s\nwant %s", Text(got.MessageState), Text(l))
	}
}

func parkedBehindCancelledByHand[Tx any](f *Fixture[Tx]) {
	_, first, second, third := f.queued(f.Message)
	f.Must(f.settle(outcome(first, store.MessageState{State: "retry_wait", AvailableAt: fsm.Some(StartTime.Add(time.Hour)), LastError: "x"})))
	f.wantClaimed(f.Claim(902, StartTime))
	f.cancel(first.Effect.MessageID)
	f.wantParked(1)
	f.Must(f.settle(delivered(f.wantClaimed(f.Claim(903, StartTime), second)[0], StartTime)))
	f.wantClaimed(f.Claim(904, StartTime), third)
}

// parkedIsCancelledByHand cancels a message that is parked behind a claimed one.
func parkedIsCancelledByHand[Tx any](f *Fixture[Tx]) {
	_, first, second, third := f.queued(f.Message)
	f.cancel(second.MessageID)
	CheckParked(f.T, f.Count)
	f.WantCount("fsm_outbox WHERE parked AND state = 'dead_letter'", 0)
	f.wantClaimed(f.Claim(902, StartTime))
	f.Must(f.settle(delivered(first, StartTime)))
	f.wantClaimed(f.Claim(903, StartTime), third)
	f.wantParked(0)
}

func parkedBehindRequeued[Tx any](f *Fixture[Tx]) {
	_, first, second, _ := f.queued(f.Message)
	f.Must(f.settle(outcome(first, store.MessageState{State: "dead_letter", LastError: "x"})))
	dead := f.ReadMessage(first.Effect.MessageID)
	f.Must(f.settle(byOperator(dead, store.MessageState{State: "pending", AvailableAt: fsm.Some(StartTime), LastError: "x", Resolution: "ann: fixed"})))
	f.wantParked(2)
	again := f.wantClaimed(f.Claim(903, StartTime), first.Effect)[0]
	f.Must(f.settle(delivered(again, StartTime)))
	f.wantClaimed(f.Claim(904, StartTime), second)
}

// leaveState leaves the state of h, which cancels its work.
func (f *Fixture[Tx]) leaveState(h Versioned) Versioned {
	f.Helper()
	c, next := f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
	c.CancelWork = true
	f.Must(f.Save(c))
	return next
}

// parkedBehindCancelled cancels the head while a worker carries it out. The next message
// waits until the lease ends.
func parkedBehindCancelled[Tx any](f *Fixture[Tx]) {
	h, first, second, third := f.queued(f.work)
	f.leaveState(h)
	f.wantClaimed(f.Claim(903, StartTime))
	f.wantParked(1)
	next := f.wantClaimed(f.Claim(904, StartTime.Add(time.Minute)), second)[0]
	f.Must(f.settle(delivered(next, StartTime)))
	f.wantClaimed(f.Claim(905, StartTime.Add(time.Minute)), third)
	f.Must(f.settle(delivered(first, StartTime)))
}

func parkedIsCancelled[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	row, work, behind := f.Message(h, 1, "kafka"), f.work(h, 2, "kafka"), f.Message(h, 3, "kafka")
	f.send(h, row, work, behind)
	first := f.wantClaimed(f.Claim(901, StartTime), row)[0]
	f.wantClaimed(f.Claim(902, StartTime))
	f.wantParked(2)
	f.leaveState(h)
	f.wantClaimed(f.Claim(903, StartTime))
	f.wantParked(1)
	f.Must(f.settle(delivered(first, StartTime)))
	f.wantClaimed(f.Claim(904, StartTime), behind)
	f.wantParked(0)
}

func behindCancelledLease[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	f.send(h, f.work(h, 1, "kafka"))
	f.claimAll(901, StartTime)
	h = f.leaveState(h)
	next := f.Message(h, 1, "kafka")
	f.send(h, next)
	f.wantClaimed(f.Claim(902, StartTime))
	f.wantParked(0)
	f.wantClaimed(f.Claim(903, StartTime.Add(time.Minute)), next)
}

// headsBehindMany has more old parked messages than a claim asks for, and one message
// that can be claimed.
func headsBehindMany[Tx any](f *Fixture[Tx]) {
	const records, behind = 3, 20
	for range records {
		h := f.deal()
		f.deadLetter(h, 0, "kafka")
		c := f.EmptyCommit(h)
		for seq := range behind {
			c.Outbox = append(c.Outbox, f.Message(h, seq+1, "kafka"))
		}
		f.Must(f.Save(c))
	}
	h := f.deal()
	last := f.Message(h, 1, "kafka")
	last.AvailableAt = fsm.Some(StartTime.Add(time.Second))
	f.send(h, last)
	c := f.Claim(903, StartTime.Add(time.Second))
	c.Effects = 2
	f.wantClaimed(c, last)
	f.wantParked(records * behind)
}

func headNotParkedByHand[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	row := f.Message(h, 1, "kafka")
	f.send(h, row)
	park := func() error {
		return f.Store.InTx(f.Context(), func(tx Tx) error {
			return f.Exec(f.Context(), tx, "UPDATE fsm_outbox SET parked = NOT parked WHERE message_id = '"+row.MessageID+"'")
		})
	}
	if park() == nil {
		f.Fatal("the database lets a head be parked")
	}
	f.wantClaimed(f.Claim(901, StartTime), row)
}

// claimsLeaveNothingStuck has concurrent workers claim and settle the messages of many
// ordering keys until all are delivered. A stuck message would never be claimed.
func claimsLeaveNothingStuck[Tx any](f *Fixture[Tx]) {
	const records, rows = 6, 15
	for range records {
		h := f.deal()
		c := f.EmptyCommit(h)
		for seq := range rows {
			c.Outbox = append(c.Outbox, f.Message(h, seq, "kafka"))
		}
		f.Must(f.Save(c))
	}
	f.drain(records*rows, func(t store.Task, s store.Store[Tx]) error {
		return s.InTx(f.Context(), func(tx Tx) error { return s.Settle(f.Context(), tx, delivered(t, StartTime)) })
	})
	f.WantCount("fsm_outbox WHERE state <> 'delivered'", 0)
}

// drain has concurrent workers claim and finish total messages that are not work. It
// fails the test after many claims in a row without a message.
func (f *Fixture[Tx]) drain(total int, finish func(t store.Task, s store.Store[Tx]) error) {
	f.Helper()
	var done, idle atomic.Int64
	f.Concurrently(func(s store.Store[Tx], i int) error {
		for n := 0; done.Load() < int64(total); n++ {
			c := f.Claim(1000+i, StartTime)
			c.Token = UUID(10_000*(i+1) + n)
			c.Effects = 3
			tasks, err := s.Claim(f.Context(), c)
			if err != nil && !errors.Is(err, store.ErrConflict) {
				done.Store(int64(total))
				return err
			}
			for _, t := range tasks {
				if err := f.retryConflicts(func() error { return finish(t, s) }); err != nil {
					done.Store(int64(total))
					return fmt.Errorf("finish %s: %w", t.Effect.MessageID, err)
				}
				if !t.Effect.Work {
					done.Add(1)
				}
				idle.Store(0)
			}
			if len(tasks) == 0 && idle.Add(1) > 2000*callers {
				done.Store(int64(total))
				return errors.New("what is left is never claimed")
			}
		}
		return nil
	})
	CheckParked(f.T, f.Count)
}

// retryConflicts repeats a call that returns ErrConflict.
func (f *Fixture[Tx]) retryConflicts(do func() error) error {
	for {
		if err := do(); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// cancellationsLeaveNothingStuck is claimsLeaveNothingStuck with records that leave the
// states of some messages meanwhile.
func cancellationsLeaveNothingStuck[Tx any](f *Fixture[Tx]) {
	const records, rows = 8, 6
	heads := make([]Versioned, records)
	kept := 0
	for i := range heads {
		heads[i] = f.deal()
		c := f.EmptyCommit(heads[i])
		for seq := range rows {
			row := f.Message(heads[i], seq, "kafka")
			if row.Work = seq%2 == 1; !row.Work {
				kept++
			}
			c.Outbox = append(c.Outbox, row)
		}
		f.Must(f.Save(c))
	}
	leaving := make([]store.Commit, records)
	for i, h := range heads {
		leaving[i], _ = f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
		leaving[i].CancelWork = true
	}
	var turn atomic.Int64
	f.drain(kept, func(t store.Task, s store.Store[Tx]) error {
		if i := int(turn.Add(1)) - 1; i < records {
			if err := f.retryConflicts(func() error { return saveTo(f.Context(), s, leaving[i]) }); err != nil {
				return err
			}
		}
		return s.InTx(f.Context(), func(tx Tx) error { return s.Settle(f.Context(), tx, delivered(t, StartTime)) })
	})
	f.WantCount("fsm_outbox WHERE NOT cancelled AND state <> 'delivered'", 0)
}
