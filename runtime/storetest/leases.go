package storetest

import (
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

func leases[Tx any]() []test[Tx] {
	return []test[Tx]{
		{"AnExpiredLeaseIsClaimedAgain", expiredLease[Tx]},
		{"AWorkerThatLostItsLeaseSettlesNothing", lostLease[Tx]},
		{"AWorkerThatLostItsLeaseSavesNothing", lostLeaseSaves[Tx]},
		{"ARenewedLeaseHolds", renewedLease[Tx]},
		{"ALostLeaseCannotBeRenewed", renewLost[Tx]},
		{"SettlingTwiceIsALostLease", settleTwice[Tx]},
		{"AnAnswerAndItsTaskAreOneTransaction", answerAndTask[Tx]},
		{"WhatIsHeldIsSaid", heldIsSaid[Tx]},
	}
}

// handed saves one message that two workers have claimed, one after the other:
// the first one slept past its lease.
func (b *bench[Tx]) handed() (h head[Tx], first, second engine.Task) {
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
	b.wants(b.settle(delivered(first, epoch)), engine.ErrLeaseLost)
	if got := b.letter(second.Effect.MessageID); got.State != "delivering" {
		b.Fatalf("it is %s", text(got))
	}
	b.must(b.settle(delivered(second, epoch)))
	b.wants(b.settle(outcome(first, engine.Letter{State: "dead_letter"})), engine.ErrLeaseLost)
	if got := b.letter(second.Effect.MessageID); got.State != "delivered" {
		b.Fatalf("it is %s", text(got))
	}
}

func lostLeaseSaves[Tx any](b *bench[Tx]) {
	h, first, _ := b.handed()
	c, _ := b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
	s := delivered(first, epoch)
	c.Task = &s
	b.wants(b.save(c), engine.ErrLeaseLost)
	b.stands(h)
	if n := len(b.history(h)); n != 1 {
		b.Fatalf("the history has %d rows", n)
	}
}

func renewedLease[Tx any](b *bench[Tx]) {
	h := b.deal()
	c := b.about(h)
	c.Outbox, c.Arm = []engine.OutboxRow{b.message(h, 1, "kafka")}, []engine.TimerRow{b.timer(h, epoch)}
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

func renewal(t engine.Task, until time.Time) engine.Settlement {
	return engine.Settlement{
		Kind: t.Kind, Token: t.Token, Renew: until, MessageID: t.Effect.MessageID,
		Machine: t.Deadline.Machine, RecordID: t.Deadline.RecordID, Timer: t.Deadline.Kind,
	}
}

func renewLost[Tx any](b *bench[Tx]) {
	_, first, second := b.handed()
	b.wants(b.settle(renewal(first, epoch.AddDate(1, 0, 0))), engine.ErrLeaseLost)
	b.must(b.settle(delivered(second, epoch)))
	b.wants(b.settle(renewal(second, epoch.AddDate(1, 0, 0))), engine.ErrLeaseLost)
}

func settleTwice[Tx any](b *bench[Tx]) {
	h := b.deal()
	b.send(h, b.message(h, 1, "kafka"))
	task := b.claims(901, epoch)[0]
	b.must(b.settle(delivered(task, epoch)))
	b.wants(b.settle(delivered(task, epoch.Add(time.Second))), engine.ErrLeaseLost)
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
	refused.Keys = []engine.KeyRow{key(h, "k"), key(h, "k")} // fails last
	b.wants(b.save(refused), engine.ErrKeyUsed)
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
	held := func(t engine.Task) bool {
		return b.load(h, engine.Query{Task: &engine.TaskRef{Kind: engine.TaskEffect, MessageID: t.Effect.MessageID, Token: t.Token}}).Held
	}
	if held(first) || !held(second) {
		b.Fatalf("the first holds it: %t, the second: %t", held(first), held(second))
	}
	b.must(b.settle(delivered(second, epoch)))
	if held(second) {
		b.Fatal("it is held after it was settled")
	}
}
