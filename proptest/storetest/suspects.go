package storetest

import (
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func suspects[Tx any]() []test[Tx] {
	return []test[Tx]{
		{"AClaimTakesAtMostSoManySuspects", atMostSoManySuspects[Tx]},
		{"WhatWasCutShortOnceIsNoSuspect", onceIsNoSuspect[Tx]},
		{"ALaneGivesNoMoreForItsSuspects", suspectsWithinTheirLane[Tx]},
		{"ManySuspectsKeepNothingBack", manySuspects[Tx]},
		{"ASuspectComesBeforeWhatIsNewer", suspectBeforeNewer[Tx]},
		{"AClaimCountsWhatWasCutShort", cutIsCounted[Tx]},
		{"ARequeuedMessageWasNeverCutShort", requeueForgetsCut[Tx]},
		{"OnlyAClaimCountsWhatWasCutShort", cutNotByHand[Tx]},
	}
}

// cutShort saves a message for each lane and has them claimed, a second later each; their
// leases last for a minute.
func (b *bench[Tx]) cutShort(lanes ...string) (rows []store.OutboxMessage) {
	b.Helper()
	for i, lane := range lanes {
		h := b.deal()
		row, at := b.message(h, 1, lane), epoch.Add(time.Duration(i)*time.Second)
		row.AvailableAt = fsm.Some(at)
		b.send(h, row)
		b.gets(b.claim(801+i, at), row)
		rows = append(rows, row)
	}
	return rows
}

// suspicious has messages cut short twice: their leases end after two minutes.
func (b *bench[Tx]) suspicious(lanes ...string) []store.OutboxMessage {
	b.Helper()
	rows := b.cutShort(lanes...)
	for i, row := range rows {
		b.gets(b.claim(821+i, epoch.Add(time.Minute+time.Duration(i)*time.Second)), row)
	}
	return rows
}

// fresh saves a message that is due since a time.
func (b *bench[Tx]) fresh(lane string, since time.Time) store.OutboxMessage {
	b.Helper()
	h := b.deal()
	row := b.message(h, 1, lane)
	row.AvailableAt = fsm.Some(since)
	b.send(h, row)
	return row
}

func atMostSoManySuspects[Tx any](b *bench[Tx]) {
	s := b.suspicious("kafka", "ton", "kafka")
	after := epoch.Add(time.Hour)
	one, two := b.fresh("kafka", after), b.fresh("ton", after)
	c := b.claim(901, after)
	c.Suspects = 0
	b.gets(c, one, two)
	b.gets(c)
	third := b.fresh("ton", after)
	c.Suspects = 1
	b.gets(c, s[0], third)
	c.Suspects = 2
	b.gets(c, s[1], s[2])
	b.gets(c)
}

func onceIsNoSuspect[Tx any](b *bench[Tx]) {
	rows := b.cutShort("kafka", "ton", "kafka")
	c := b.claim(901, epoch.Add(time.Hour))
	c.Suspects = 0
	for _, task := range b.gets(c, rows...) {
		if task.Suspect() {
			b.Fatalf("a suspect: %s", text(task))
		}
	}
}

// suspectsWithinTheirLane: of a lane that has room for one message a claim takes the
// suspect, or the other.
func suspectsWithinTheirLane[Tx any](b *bench[Tx]) {
	s := b.suspicious("kafka", "ton")
	after := epoch.Add(time.Hour)
	kafka, ton := b.fresh("kafka", after), b.fresh("ton", after)
	c := b.claim(901, after)
	c.Suspects = 1
	for i := range c.Destinations {
		c.Destinations[i].Most = 1
	}
	b.gets(c, s[0], ton)
	c.Suspects = 0
	b.gets(c, kafka)
	c.Suspects = 1
	b.gets(c, s[1])
}

// manySuspects has more suspects in a lane than one statement looks at.
func manySuspects[Tx any](b *bench[Tx]) {
	const many = 2100
	h := b.deal()
	c := b.about(h)
	for i := range many {
		row := b.message(h, 1, "kafka")
		row.RecordID = fmt.Sprint("suspect ", i)
		c.Outbox = append(c.Outbox, row)
	}
	b.must(b.save(c))
	leasing := b.claim(801, epoch)
	leasing.Destinations = []store.Destination{{Machine: h.machine.Name(), Name: "kafka", Effects: []string{"notify_owner"}, States: h.machine.States(), Most: many}}
	leasing.Effects = many
	for range 2 {
		for n := 0; n < many; {
			tasks, err := b.Store.Claim(b.ctx, leasing)
			b.must(err)
			if n += len(tasks); len(tasks) == 0 {
				b.Fatalf("claimed %d of %d", n, many)
			}
		}
		leasing.Now, leasing.Until = leasing.Until, leasing.Until.Add(time.Minute)
	}
	after := epoch.Add(time.Hour)
	row := b.fresh("kafka", after)
	claim := b.claim(901, after)
	claim.Suspects, claim.Effects = 0, 1
	b.gets(claim, row)
	row = b.fresh("kafka", after)
	claim.Suspects, claim.Effects = 1, 2
	tasks, err := b.Store.Claim(b.ctx, claim)
	b.must(err)
	if len(tasks) != 2 || !tasks[0].Suspect() || tasks[1].Effect.MessageID != row.MessageID {
		b.Fatalf("claimed %s", text(tasks))
	}
}

func suspectBeforeNewer[Tx any](b *bench[Tx]) {
	s := b.suspicious("kafka")
	older := b.fresh("kafka", epoch.Add(90*time.Second))
	for range 3 {
		b.fresh("kafka", epoch.Add(3*time.Minute))
	}
	c := b.claim(901, epoch.Add(time.Hour))
	c.Effects = 1
	b.gets(c, older)
	b.gets(c, s...)
}

func cutIsCounted[Tx any](b *bench[Tx]) {
	row := b.cutShort("kafka")[0]
	cut := func(want int64) {
		b.Helper()
		if got := b.letter(row.MessageID); got.Cut != want {
			b.Fatalf("%d attempts were cut short, want %d", got.Cut, want)
		}
	}
	cut(0)
	at := epoch.Add(time.Minute)
	second := b.gets(b.claim(901, at), row)[0]
	if second.Effect.Cut != 0 || second.Suspect() {
		b.Fatalf("the row before the claim is %s", text(second))
	}
	cut(1)
	again := b.claim(901, at)
	again.Again = true
	if task := b.gets(again, row)[0]; task.Effect.Cut != 0 || task.Suspect() {
		b.Fatalf("asked again, the row before the claim is %s", text(task))
	}
	cut(1)
	at = at.Add(time.Minute)
	third := b.gets(b.claim(902, at), row)[0]
	if third.Effect.Cut != 1 || !third.Suspect() {
		b.Fatalf("the row before the third claim is %s", text(third))
	}
	cut(2)
	b.must(b.settle(outcome(third, store.MessageState{State: "retry_wait", AvailableAt: fsm.Some(at)})))
	cut(2)
	c := b.claim(903, at)
	c.Suspects = 0
	if task := b.gets(c, row)[0]; task.Suspect() {
		b.Fatalf("a message that failed is a suspect: %s", text(task))
	}
	cut(2)
}

func requeueForgetsCut[Tx any](b *bench[Tx]) {
	row := b.cutShort("kafka")[0]
	task := b.gets(b.claim(901, epoch.Add(time.Minute)), row)[0]
	b.must(b.settle(outcome(task, store.MessageState{State: "dead_letter", AvailableAt: row.AvailableAt})))
	b.must(b.settle(store.Settlement{
		Kind: store.TaskEffect, MessageID: row.MessageID, From: "dead_letter",
		MessageState: store.MessageState{State: "pending", AvailableAt: row.AvailableAt, Resolution: "ann: mended"},
	}))
	if got := b.letter(row.MessageID); got.Attempts != 0 || got.Cut != 0 {
		b.Fatalf("it is %s", text(got))
	}
}

func cutNotByHand[Tx any](b *bench[Tx]) {
	row := b.cutShort("kafka")[0]
	for _, set := range []string{"cut = 1", "cut = cut - 1", "cut = 1, attempts = attempts + 1, state = 'dead_letter'"} {
		err := b.Store.InTx(b.ctx, func(tx Tx) error {
			return b.Exec(b.ctx, tx, "UPDATE fsm_outbox SET "+set+" WHERE message_id = '"+row.MessageID+"'")
		})
		if err == nil {
			b.Errorf("the database lets anyone set %s", set)
		}
	}
}
