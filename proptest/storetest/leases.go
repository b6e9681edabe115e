package storetest

import (
	"cmp"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func leases[Tx any]() []test[Tx] {
	return []test[Tx]{
		{"AClaimCanBeAskedForAgain", claimAgain[Tx]},
		{"ARowIsBornInSomebodysHands", bornLeased[Tx]},
		{"SomeAreBornInSomebodysHandsAndSomeAreNot", bornMixed[Tx]},
		{"WhoIsAloneIsToldSo", aloneOrNot[Tx]},
		{"AnExpiredLeaseIsClaimedAgain", expiredLease[Tx]},
		{"AWorkerThatLostItsLeaseSettlesNothing", lostLease[Tx]},
		{"AWorkerThatLostItsLeaseSavesNothing", lostLeaseSaves[Tx]},
		{"ARenewedLeaseHolds", renewedLease[Tx]},
		{"ALostLeaseCannotBeRenewed", renewLost[Tx]},
		{"ACancelledLeaseThatIsOverCannotBeRenewed", renewCancelled[Tx]},
		{"SettlingTwiceIsALostLease", settleTwice[Tx]},
		{"AnAnswerAndItsTaskAreOneTransaction", answerAndTask[Tx]},
		{"WhatIsHeldIsSaid", heldIsSaid[Tx]},
	}
}

// handed saves one message that two workers have claimed, one after the other:
// the first one slept past its lease.
func (b *bench[Tx]) handed() (h head[Tx], first, second store.Task) {
	b.Helper()
	h = b.deal()
	b.send(h, b.message(h, 1, "kafka"))
	first = b.claims(901, epoch)[0]
	again := b.claims(902, epoch.Add(time.Minute))
	if len(again) != 1 {
		b.Fatalf("after the lease it claimed %s", text(again))
	}
	return h, first, again[0]
}

func expiredLease[Tx any](b *bench[Tx]) {
	_, _, second := b.handed()
	if second.Effect.State != "delivering" || second.Effect.Attempts != 1 {
		b.Fatalf("the second claim does not say that one was cut short: %s", text(second))
	}
	if got := b.letter(second.Effect.MessageID); got.Attempts != 2 {
		b.Fatalf("it counts %d attempts", got.Attempts)
	}
}

func lostLease[Tx any](b *bench[Tx]) {
	_, first, second := b.handed()
	b.wants(b.settle(delivered(first, epoch)), store.ErrLeaseLost)
	if got := b.letter(second.Effect.MessageID); got.State != "delivering" {
		b.Fatalf("it is %s", text(got))
	}
	b.must(b.settle(delivered(second, epoch)))
	b.wants(b.settle(outcome(first, store.MessageState{State: "dead_letter"})), store.ErrLeaseLost)
	if got := b.letter(second.Effect.MessageID); got.State != "delivered" {
		b.Fatalf("it is %s", text(got))
	}
}

func lostLeaseSaves[Tx any](b *bench[Tx]) {
	h, first, _ := b.handed()
	c, _ := b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
	s := delivered(first, epoch)
	c.Task = &s
	b.wants(b.save(c), store.ErrLeaseLost)
	b.stands(h)
	if n := len(b.history(h)); n != 1 {
		b.Fatalf("the history has %d rows", n)
	}
}

func renewedLease[Tx any](b *bench[Tx]) {
	h := b.deal()
	c := b.about(h)
	c.Outbox, c.SetDeadlines = []store.OutboxMessage{b.message(h, 1, "kafka")}, []store.Deadline{b.deadline(h, epoch)}
	b.must(b.save(c))
	until := epoch.Add(time.Hour)
	for _, t := range b.claims(901, epoch) {
		b.must(b.settle(renewal(t, until)))
	}
	if tasks := b.claims(902, until.Add(-time.Microsecond)); len(tasks) != 0 {
		b.Fatalf("claimed %s", text(tasks))
	}
	if tasks := b.claims(902, until); len(tasks) != 2 {
		b.Fatalf("claimed %s", text(tasks))
	}
}

func renewal(t store.Task, until time.Time) store.Settlement {
	return store.Settlement{
		Kind: t.Kind, Token: t.Token, Renew: until, MessageID: t.Effect.MessageID,
		Machine: t.Deadline.Machine, RecordID: t.Deadline.RecordID, Deadline: t.Deadline.Kind,
	}
}

func renewLost[Tx any](b *bench[Tx]) {
	_, first, second := b.handed()
	b.wants(b.settle(renewal(first, epoch.AddDate(1, 0, 0))), store.ErrLeaseLost)
	b.must(b.settle(delivered(second, epoch)))
	b.wants(b.settle(renewal(second, epoch.AddDate(1, 0, 0))), store.ErrLeaseLost)
}

// renewCancelled: the lane of an effect whose state was left goes on when its lease is
// over, so whoever held it can't have it back.
func renewCancelled[Tx any](b *bench[Tx]) {
	h := b.deal()
	work, behind := b.work(h, 1, "ton"), b.message(h, 2, "ton")
	b.send(h, work)
	task := b.claims(901, epoch)[0]
	c, _ := b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
	c.CancelWork, c.Outbox = true, []store.OutboxMessage{behind}
	b.must(b.save(c))
	r := renewal(task, epoch.Add(time.Hour))
	r.Now = epoch
	b.must(b.settle(r))
	if tasks := b.claims(902, epoch.Add(time.Minute)); len(tasks) != 0 {
		b.Fatalf("claimed %s beside what is still under way", text(tasks))
	}
	r.Now, r.Renew = epoch.Add(time.Hour), epoch.Add(2*time.Hour)
	b.wants(b.settle(r), store.ErrLeaseLost)
	if tasks := b.claims(902, epoch.Add(time.Hour)); len(tasks) != 1 || tasks[0].Effect.MessageID != behind.MessageID {
		b.Fatalf("claimed %s", text(tasks))
	}
}

func settleTwice[Tx any](b *bench[Tx]) {
	h := b.deal()
	b.send(h, b.message(h, 1, "kafka"))
	task := b.claims(901, epoch)[0]
	b.must(b.settle(delivered(task, epoch)))
	b.wants(b.settle(delivered(task, epoch.Add(time.Second))), store.ErrLeaseLost)
	if got := b.letter(task.Effect.MessageID); got.DeliveredAt != fsm.Some(epoch) {
		b.Fatalf("it is %s", text(got))
	}
}

func answerAndTask[Tx any](b *bench[Tx]) {
	h := b.deal()
	b.send(h, b.work(h, 1, "ton"))
	task := b.claims(901, epoch)[0]
	c, next := b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
	s := delivered(task, epoch)
	c.Task, c.CancelWork = &s, true

	refused := c
	refused.IdempotencyKeys = []store.IdempotencyKey{key(h, "k"), key(h, "k")} // fails last
	b.wants(b.save(refused), store.ErrKeyUsed)
	b.stands(h)
	if got := b.letter(task.Effect.MessageID); got.State != "delivering" {
		b.Fatalf("the event was not saved and its task is %s", text(got))
	}

	b.must(b.save(c))
	b.stands(next)
	// Settled first: the step that the answer leads to does not cancel it.
	if got := b.letter(task.Effect.MessageID); got.State != "delivered" || got.Cancelled {
		b.Fatalf("the event was saved and its task is %s", text(got))
	}
}

func heldIsSaid[Tx any](b *bench[Tx]) {
	h, first, second := b.handed()
	held := func(t store.Task) bool {
		return b.load(h, store.Query{Task: &store.TaskRef{Kind: store.TaskEffect, MessageID: t.Effect.MessageID, Token: t.Token}}).Held
	}
	if held(first) || !held(second) {
		b.Fatalf("the first holds it: %t, the second: %t", held(first), held(second))
	}
	b.must(b.settle(delivered(second, epoch)))
	if held(second) {
		b.Fatal("it is held after it was settled")
	}
}

// inHand is a row as a step leaves it that a worker has in hand from its
// beginning.
func inHand(row store.OutboxMessage, token int) store.OutboxMessage {
	row.State, row.Attempts = "delivering", 1
	row.Lease = &store.Lease{Token: uuid(token), Until: epoch.Add(time.Minute), Worker: "w"}
	return row
}

// bornLeased: it is as if it were claimed, of a creation, of a step and without.
func bornLeased[Tx any](b *bench[Tx]) {
	creation, h := b.commit(b.new(b.deals), deal.Create{OwnerID: 8, PriceNano: 100}, advertiser, epoch)
	first := b.message(h, 0, "kafka")
	creation.Outbox = []store.OutboxMessage{inHand(first, 901)}
	b.must(b.save(creation))
	step, h := b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
	second := b.message(h, 0, "ton")
	step.Outbox = []store.OutboxMessage{inHand(second, 902)}
	b.must(b.save(step))
	third := b.message(h, 1, "other")
	b.send(h, inHand(third, 903))

	if tasks := b.claims(910, epoch.Add(time.Minute-time.Microsecond)); len(tasks) != 0 {
		b.Fatalf("it claimed %s", text(tasks))
	}
	for i, row := range []store.OutboxMessage{first, second, third} {
		if got := b.letter(row.MessageID); text(got) != text(leasedRow(row)) {
			b.Errorf("it is %s\nwant %s", text(got), text(leasedRow(row)))
		}
		held := b.load(h, store.Query{Task: &store.TaskRef{Kind: store.TaskEffect, MessageID: row.MessageID, Token: uuid(901 + i)}})
		if !held.Held {
			b.Errorf("message %d is not held", i)
		}
	}
	task := store.Task{Kind: store.TaskEffect, Token: uuid(901), Effect: first}
	b.wants(b.settle(delivered(store.Task{Kind: store.TaskEffect, Token: uuid(902), Effect: first}, epoch)), store.ErrLeaseLost)
	b.must(b.settle(delivered(task, epoch)))
	if tasks := b.claims(911, epoch.Add(time.Minute)); len(tasks) != 2 || tasks[0].Effect.State != "delivering" {
		b.Fatalf("with the leases over it claimed %s", text(tasks))
	}
}

// leasedRow is what a read returns of inHand.
func leasedRow(row store.OutboxMessage) store.OutboxMessage {
	row.State, row.Attempts = "delivering", 1
	return row
}

func bornMixed[Tx any](b *bench[Tx]) {
	h := b.deal()
	held, waits := b.message(h, 0, "a"), b.message(h, 1, "a")
	free := b.message(h, 2, "b")
	step, _ := b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
	step.Outbox = []store.OutboxMessage{inHand(held, 901), waits, free}
	b.must(b.save(step))
	if got := messages(b.claims(902, epoch)); !slices.Equal(got, []string{free.MessageID}) {
		b.Fatalf("claimed %v, want %s, which nothing stands before in its lane", got, free.MessageID)
	}
	b.must(b.settle(delivered(store.Task{Kind: store.TaskEffect, Token: uuid(901), Effect: held}, epoch)))
	if got := messages(b.claims(903, epoch)); !slices.Equal(got, []string{waits.MessageID}) {
		b.Fatalf("claimed %v, want %s", got, waits.MessageID)
	}
}

// aloneOrNot asks after each thing that can become of a row.
func aloneOrNot[Tx any](b *bench[Tx]) {
	h, other := b.deal(), b.deal()
	is := func(want bool, what string, task *store.TaskRef) {
		b.Helper()
		if got := b.load(h, store.Query{OnlyPending: true, Task: task}).OnlyPending; got != want {
			b.Errorf("%s: alone is %v", what, got)
		}
	}
	is(true, "a record without messages", nil)
	b.send(other, b.message(other, 0, "kafka"))
	is(true, "another record's message", nil)
	row := b.message(h, 0, "kafka")
	b.send(h, inHand(row, 901))
	task := store.Task{Kind: store.TaskEffect, Token: uuid(901), Effect: row}
	own := &store.TaskRef{Kind: store.TaskEffect, MessageID: row.MessageID, Token: uuid(901)}
	is(false, "a message in somebody's hands", nil)
	is(true, "the task of the message itself", own)
	dead := b.dead(h, 1, "ton")
	is(false, "that task and a dead letter", own)
	b.must(b.settle(delivered(task, epoch)))
	is(false, "a dead letter", nil)
	discarded := dead.MessageState
	discarded.DiscardedAt, discarded.Resolution = fsm.Some(epoch), "enough"
	b.must(b.settle(person(dead, discarded)))
	is(true, "a message that is done and one that was discarded", nil)
	b.send(h, b.work(h, 2, "x"))
	is(false, "work that waits", nil)
	c := b.about(h)
	c.CancelWork = true
	b.must(b.save(c))
	is(true, "work that was cancelled", nil)
	if b.load(h, store.Query{}).OnlyPending {
		b.Error("who did not ask is told so")
	}
}

// claimAgain asks for what an earlier claim was granted, as a worker does to which the
// answer was lost.
func claimAgain[Tx any](b *bench[Tx]) {
	h, other := b.deal(), b.deal()
	b.send(h, b.message(h, 1, "kafka"))
	b.send(other, b.message(other, 1, "kafka"))
	granted := b.claims(901, epoch)
	b.send(h, b.message(h, 2, "ton")) // is not claimed with them
	for token, want := range map[int][]store.Task{901: granted, 902: nil} {
		c := b.claim(token, epoch.Add(time.Second))
		c.Again = true
		again, err := b.Store.Claim(b.ctx, c)
		b.must(err)
		slices.SortFunc(again, func(x, y store.Task) int { return cmp.Compare(x.Effect.MessageID, y.Effect.MessageID) })
		slices.SortFunc(want, func(x, y store.Task) int { return cmp.Compare(x.Effect.MessageID, y.Effect.MessageID) })
		if text(again) != text(want) {
			b.Errorf("token %d: it was granted %s\nwant %s", token, text(again), text(want))
		}
	}
	if tasks := b.claims(903, epoch.Add(time.Minute)); len(tasks) != 1 || tasks[0].Effect.Destination != "ton" {
		b.Errorf("the leases were not renewed: claimed %s", text(tasks))
	}
	b.must(b.settle(delivered(granted[0], epoch)))
}
