package storetest

import (
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/store"
)

func states[Tx any]() []storeCase[Tx] {
	return []storeCase[Tx]{
		{"AClaimLeavesWhatWasAskedForInOtherStates", otherStatesLeft[Tx]},
		{"WhatNamesNoStateIsForEveryWorker", noStateNamed[Tx]},
		{"WhatIsLeftForItsStateIsCounted", readUnknownStates[Tx]},
	}
}

// without returns the claim of a worker that does not know a state of any machine.
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

// waiting saves a deal in DRAFT with a message and a deadline that are due. Both name the
// given state.
func (f *Fixture[Tx]) waiting(state string) store.OutboxMessage {
	f.Helper()
	h := f.deal()
	row, deadline := f.Message(h, 1, "kafka"), f.Deadline(h, StartTime)
	row.RecordState, deadline.RecordState = state, state
	c := f.EmptyCommit(h)
	c.Outbox, c.SetDeadlines = []store.OutboxMessage{row}, []store.Deadline{deadline}
	f.Must(f.Save(c))
	return row
}

func otherStatesLeft[Tx any](f *Fixture[Tx]) {
	row := f.waiting("DRAFT")
	c := f.Claim(901, StartTime)
	f.wantClaimed(without(c, "DRAFT"))
	tasks := f.wantClaimed(c, row)
	if len(tasks) != 2 || tasks[0].Effect.RecordState != "DRAFT" || tasks[1].Deadline.RecordState != "DRAFT" {
		f.Fatalf("claimed %s", Text(tasks))
	}
}

func noStateNamed[Tx any](f *Fixture[Tx]) {
	row := f.waiting("")
	if tasks := f.wantClaimed(without(f.Claim(901, StartTime), "DRAFT"), row); len(tasks) != 2 {
		f.Fatalf("claimed %s", Text(tasks))
	}
}

func readUnknownStates[Tx any](f *Fixture[Tx]) {
	row := f.waiting("DRAFT")
	other := f.waiting("DRAFT")
	f.waiting("")
	ask := func(c store.Claim) []store.UnknownWork {
		page, err := f.Store.Read(f.Context(), store.Read{Kind: store.ReadUnknown, Now: StartTime.Add(time.Second), Limit: 10, Destinations: c.Destinations, Events: c.Events})
		f.Must(err)
		return page.Unknown
	}
	c := f.Claim(901, StartTime)
	if u := ask(c); len(u) != 0 {
		f.Errorf("of what is known it finds %s", Text(u))
	}
	least := min(row.RecordID, other.RecordID)
	want := []store.UnknownWork{
		{Kind: store.TaskDeadline, Machine: "deal", Name: "EXPIRE", State: "DRAFT", Record: least, Count: 2},
		{Kind: store.TaskEffect, Machine: "deal", Name: "notify_owner", State: "DRAFT", Record: least, Count: 2},
	}
	if got := ask(without(c, "DRAFT")); Text(got) != Text(want) {
		f.Errorf("it finds %s\nwant %s", Text(got), Text(want))
	}
}
