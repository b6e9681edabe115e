package storetest

import (
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/store"
)

func states[Tx any]() []test[Tx] {
	return []test[Tx]{
		{"AClaimLeavesWhatWasAskedForInOtherStates", otherStatesLeft[Tx]},
		{"WhatNamesNoStateIsForEveryWorker", noStateNamed[Tx]},
		{"WhatIsLeftForItsStateIsCounted", readUnknownStates[Tx]},
	}
}

// without makes a claim one of a worker that does not know a state of any machine.
func without(c store.Claim, state string) store.Claim {
	lacks := func(states []string) []string {
		return slices.DeleteFunc(slices.Clone(states), func(s string) bool { return s == state })
	}
	c.Destinations, c.Events = slices.Clone(c.Destinations), slices.Clone(c.Events)
	for i := range c.Destinations {
		c.Destinations[i].States = lacks(c.Destinations[i].States)
	}
	for i := range c.Events {
		c.Events[i].States = lacks(c.Events[i].States)
	}
	return c
}

// waiting saves a deal in DRAFT with a message and a deadline that are due. State is
// that which the two name.
func (b *bench[Tx]) waiting(state string) store.OutboxMessage {
	b.Helper()
	h := b.deal()
	row, deadline := b.message(h, 1, "kafka"), b.deadline(h, epoch)
	row.RecordState, deadline.RecordState = state, state
	c := b.about(h)
	c.Outbox, c.SetDeadlines = []store.OutboxMessage{row}, []store.Deadline{deadline}
	b.must(b.save(c))
	return row
}

func otherStatesLeft[Tx any](b *bench[Tx]) {
	row := b.waiting("DRAFT")
	c := b.claim(901, epoch)
	b.gets(without(c, "DRAFT"))
	tasks := b.gets(c, row)
	if len(tasks) != 2 || tasks[0].Effect.RecordState != "DRAFT" || tasks[1].Deadline.RecordState != "DRAFT" {
		b.Fatalf("claimed %s", text(tasks))
	}
}

func noStateNamed[Tx any](b *bench[Tx]) {
	row := b.waiting("")
	if tasks := b.gets(without(b.claim(901, epoch), "DRAFT"), row); len(tasks) != 2 {
		b.Fatalf("claimed %s", text(tasks))
	}
}

func readUnknownStates[Tx any](b *bench[Tx]) {
	row := b.waiting("DRAFT")
	other := b.waiting("DRAFT")
	b.waiting("")
	ask := func(c store.Claim) []store.UnknownWork {
		page, err := b.Store.Read(b.ctx, store.Read{Kind: store.ReadUnknown, Now: epoch.Add(time.Second), Limit: 10, Destinations: c.Destinations, Events: c.Events})
		b.must(err)
		return page.Unknown
	}
	c := b.claim(901, epoch)
	if u := ask(c); len(u) != 0 {
		b.Errorf("of what is known it finds %s", text(u))
	}
	least := min(row.RecordID, other.RecordID)
	want := []store.UnknownWork{
		{Kind: store.TaskDeadline, Machine: "deal", Name: "EXPIRE", State: "DRAFT", Record: least, Count: 2},
		{Kind: store.TaskEffect, Machine: "deal", Name: "notify_owner", State: "DRAFT", Record: least, Count: 2},
	}
	if got := ask(without(c, "DRAFT")); text(got) != text(want) {
		b.Errorf("it finds %s\nwant %s", text(got), text(want))
	}
}
