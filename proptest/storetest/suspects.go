package storetest

import (
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func suspects[Tx any]() []storeCase[Tx] {
	return []storeCase[Tx]{
		{"AClaimTakesAtMostSoManySuspects", atMostSoManySuspects[Tx]},
		{"WhatWasCutShortOnceIsNoSuspect", onceIsNoSuspect[Tx]},
		{"ADestinationGivesNoMoreForItsSuspects", suspectsWithinTheirKey[Tx]},
		{"ManySuspectsKeepNothingBack", manySuspects[Tx]},
		{"ASuspectComesBeforeWhatIsNewer", suspectBeforeNewer[Tx]},
		{"AClaimCountsWhatWasCutShort", cutIsCounted[Tx]},
		{"ARequeuedMessageWasNeverCutShort", requeueForgetsCut[Tx]},
		{"OnlyAClaimCountsWhatWasCutShort", cutNotByHand[Tx]},
	}
}

// cutShort saves a message for each ordering key and claims them one second apart. Their
// leases last for a minute.
func (f *Fixture[Tx]) cutShort(destinations ...string) (rows []store.OutboxMessage) {
	f.Helper()
	for i, destination := range destinations {
		h := f.deal()
		row, at := f.Message(h, 1, destination), StartTime.Add(time.Duration(i)*time.Second)
		row.AvailableAt = fsm.Some(at)
		f.send(h, row)
		f.wantClaimed(f.Claim(801+i, at), row)
		rows = append(rows, row)
	}
	return rows
}

// cutTwice claims messages twice and lets the leases end. Their leases end after two
// minutes.
func (f *Fixture[Tx]) cutTwice(destinations ...string) []store.OutboxMessage {
	f.Helper()
	rows := f.cutShort(destinations...)
	for i, row := range rows {
		f.wantClaimed(f.Claim(821+i, StartTime.Add(time.Minute+time.Duration(i)*time.Second)), row)
	}
	return rows
}

// newMessage saves a message that is due since the given time.
func (f *Fixture[Tx]) newMessage(destination string, since time.Time) store.OutboxMessage {
	f.Helper()
	h := f.deal()
	row := f.Message(h, 1, destination)
	row.AvailableAt = fsm.Some(since)
	f.send(h, row)
	return row
}

func atMostSoManySuspects[Tx any](f *Fixture[Tx]) {
	s := f.cutTwice("kafka", "ton", "kafka")
	after := StartTime.Add(time.Hour)
	one, two := f.newMessage("kafka", after), f.newMessage("ton", after)
	c := f.Claim(901, after)
	c.Suspects = 0
	f.wantClaimed(c, one, two)
	f.wantClaimed(c)
	third := f.newMessage("ton", after)
	c.Suspects = 1
	f.wantClaimed(c, s[0], third)
	c.Suspects = 2
	f.wantClaimed(c, s[1], s[2])
	f.wantClaimed(c)
}

func onceIsNoSuspect[Tx any](f *Fixture[Tx]) {
	rows := f.cutShort("kafka", "ton", "kafka")
	c := f.Claim(901, StartTime.Add(time.Hour))
	c.Suspects = 0
	for _, task := range f.wantClaimed(c, rows...) {
		if task.Suspect() {
			f.Fatalf("a suspect: %s", Text(task))
		}
	}
}

// suspectsWithinTheirKey: a claim takes one message of a destination that has room for
// one, a suspect or not.
func suspectsWithinTheirKey[Tx any](f *Fixture[Tx]) {
	s := f.cutTwice("kafka", "ton")
	after := StartTime.Add(time.Hour)
	kafka, ton := f.newMessage("kafka", after), f.newMessage("ton", after)
	c := f.Claim(901, after)
	c.Suspects = 1
	for i := range c.Destinations {
		c.Destinations[i].Most = 1
	}
	f.wantClaimed(c, s[0], ton)
	c.Suspects = 0
	f.wantClaimed(c, kafka)
	c.Suspects = 1
	f.wantClaimed(c, s[1])
}

// manySuspects has more suspects of one destination than a statement looks at.
func manySuspects[Tx any](f *Fixture[Tx]) {
	const many = 2100
	h := f.deal()
	c := f.EmptyCommit(h)
	for i := range many {
		row := f.Message(h, 1, "kafka")
		row.RecordID = fmt.Sprint("suspect ", i)
		c.Outbox = append(c.Outbox, row)
	}
	f.Must(f.Save(c))
	leasing := f.Claim(801, StartTime)
	leasing.Destinations = []store.Destination{{Machine: h.machine.Name(), Name: "kafka", Effects: []string{"notify_owner"}, States: h.machine.States(), Most: many}}
	leasing.Effects = many
	for range 2 {
		for n := 0; n < many; {
			tasks, err := f.Store.Claim(f.Context(), leasing)
			f.Must(err)
			if n += len(tasks); len(tasks) == 0 {
				f.Fatalf("claimed %d of %d", n, many)
			}
		}
		leasing.Now, leasing.Until = leasing.Until, leasing.Until.Add(time.Minute)
	}
	after := StartTime.Add(time.Hour)
	row := f.newMessage("kafka", after)
	claim := f.Claim(901, after)
	claim.Suspects, claim.Effects = 0, 1
	f.wantClaimed(claim, row)
	row = f.newMessage("kafka", after)
	claim.Suspects, claim.Effects = 1, 2
	tasks, err := f.Store.Claim(f.Context(), claim)
	f.Must(err)
	if len(tasks) != 2 || !tasks[0].Suspect() || tasks[1].Effect.MessageID != row.MessageID {
		f.Fatalf("claimed %s", Text(tasks))
	}
}

func suspectBeforeNewer[Tx any](f *Fixture[Tx]) {
	s := f.cutTwice("kafka")
	older := f.newMessage("kafka", StartTime.Add(90*time.Second))
	for range 3 {
		f.newMessage("kafka", StartTime.Add(3*time.Minute))
	}
	c := f.Claim(901, StartTime.Add(time.Hour))
	c.Effects = 1
	f.wantClaimed(c, older)
	f.wantClaimed(c, s...)
}

func cutIsCounted[Tx any](f *Fixture[Tx]) {
	row := f.cutShort("kafka")[0]
	cut := func(want int64) {
		f.Helper()
		if got := f.ReadMessage(row.MessageID); got.Cut != want {
			f.Fatalf("%d attempts were cut short, want %d", got.Cut, want)
		}
	}
	cut(0)
	at := StartTime.Add(time.Minute)
	second := f.wantClaimed(f.Claim(901, at), row)[0]
	if second.Effect.Cut != 0 || second.Suspect() {
		f.Fatalf("the row before the claim is %s", Text(second))
	}
	cut(1)
	again := f.Claim(901, at)
	again.Again = true
	if task := f.wantClaimed(again, row)[0]; task.Effect.Cut != 0 || task.Suspect() {
		f.Fatalf("asked again, the row before the claim is %s", Text(task))
	}
	cut(1)
	at = at.Add(time.Minute)
	third := f.wantClaimed(f.Claim(902, at), row)[0]
	if third.Effect.Cut != 1 || !third.Suspect() {
		f.Fatalf("the row before the third claim is %s", Text(third))
	}
	cut(2)
	f.Must(f.settle(outcome(third, store.MessageState{State: "retry_wait", AvailableAt: fsm.Some(at)})))
	cut(2)
	c := f.Claim(903, at)
	c.Suspects = 0
	if task := f.wantClaimed(c, row)[0]; task.Suspect() {
		f.Fatalf("a message that failed is a suspect: %s", Text(task))
	}
	cut(2)
}

func requeueForgetsCut[Tx any](f *Fixture[Tx]) {
	row := f.cutShort("kafka")[0]
	task := f.wantClaimed(f.Claim(901, StartTime.Add(time.Minute)), row)[0]
	f.Must(f.settle(outcome(task, store.MessageState{State: "dead_letter", AvailableAt: row.AvailableAt})))
	f.Must(f.settle(store.Settlement{
		Kind: store.TaskEffect, MessageID: row.MessageID, From: "dead_letter",
		MessageState: store.MessageState{State: "pending", AvailableAt: row.AvailableAt, Resolution: "ann: repaired"},
	}))
	if got := f.ReadMessage(row.MessageID); got.Attempts != 0 || got.Cut != 0 {
		f.Fatalf("it is %s", Text(got))
	}
}

func cutNotByHand[Tx any](f *Fixture[Tx]) {
	row := f.cutShort("kafka")[0]
	for _, set := range []string{"cut = 1", "cut = cut - 1", "cut = 1, attempts = attempts + 1, state = 'dead_letter'"} {
		err := f.Store.InTx(f.Context(), func(tx Tx) error {
			return f.Exec(f.Context(), tx, "UPDATE fsm_outbox SET "+set+" WHERE message_id = '"+row.MessageID+"'")
		})
		if err == nil {
			f.Errorf("the database lets anyone set %s", set)
		}
	}
}
