package storetest

import (
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// backlog reads the backlog of deals an hour after the start. It counts at most limit
// rows of each kind.
func (f *Fixture[Tx]) backlog(limit int) []store.Backlog {
	f.Helper()
	page, err := f.Store.Read(f.Context(), store.Read{
		Kind: store.ReadBacklog, Now: StartTime.Add(time.Hour), Limit: limit,
		Destinations: []store.Destination{
			{Machine: "deal", Name: "kafka", Effects: []string{"deal.events", "notify_owner"}},
			{Machine: "deal", Name: "ton", Effects: []string{"generate_deposit_address"}},
		},
		Events: []store.Events{{Machine: "deal", Names: []string{"EXPIRE"}}},
	})
	f.Must(err)
	return page.Backlog
}

// readBacklog counts messages in every state, and deadlines. Messages that are delivered,
// not due, leased, or of another machine or effect do not count as due.
func readBacklog[Tx any](f *Fixture[Tx]) {
	if lines := f.backlog(100); len(lines) != 0 {
		f.Errorf("of nothing it counts %s", Text(lines))
	}
	blocked, alone, given, under, w := f.deal(), f.deal(), f.deal(), f.deal(), f.walRecord("s3://a")
	f.deadLetter(alone, 1, "kafka")
	gone := f.deadLetter(given, 1, "kafka")
	l := gone.MessageState
	l.DiscardedAt, l.Resolution = fsm.Some(StartTime), "ann: moot"
	f.Must(f.settle(byOperator(gone, l)))
	f.deadLetter(blocked, 1, "kafka")
	f.send(under, f.Message(under, 1, "kafka"), f.work(under, 2, "ton"))
	for _, task := range f.claimAll(901, StartTime.Add(time.Hour)) { // under a lease until later
		if task.Effect.Work {
			f.Must(f.settle(delivered(task, StartTime)))
		}
	}
	f.send(blocked, f.Message(blocked, 2, "kafka"), f.Message(blocked, 3, "kafka"), f.Message(blocked, 4, "ton"))
	if n := len(f.claimAll(902, StartTime)); n != 1 { // and parks the others
		f.Fatalf("%d messages can be claimed", n)
	}
	var due Versioned
	for _, after := range []time.Duration{20 * time.Minute, 10 * time.Minute} {
		due = f.deal()
		row := f.Message(due, 1, "kafka")
		row.AvailableAt = fsm.Some(StartTime.Add(after))
		f.send(due, row)
	}
	later := f.Message(due, 2, "ton")
	later.Effect, later.AvailableAt = "generate_deposit_address", fsm.Some(StartTime.Add(2*time.Hour))
	f.send(due, later)
	f.send(w, f.Message(w, 1, "kafka"))
	f.setDeadline(due, StartTime.Add(time.Hour))
	f.setDeadline(blocked, StartTime.Add(time.Hour+1000))
	want := []store.Backlog{
		{Kind: store.BacklogBlocked, Machine: "deal", Name: "kafka", Count: 1},
		{Kind: store.BacklogDue, Machine: "deal", Name: "notify_owner", Count: 1, Since: StartTime.Add(10 * time.Minute)},
		{Kind: store.BacklogOpen, Machine: "deal", Name: "generate_deposit_address", State: "pending", Count: 1},
		{Kind: store.BacklogOpen, Machine: "deal", Name: "notify_owner", State: "dead_letter", Count: 2},
		{Kind: store.BacklogOpen, Machine: "deal", Name: "notify_owner", State: "delivering", Count: 2},
		{Kind: store.BacklogOpen, Machine: "deal", Name: "notify_owner", State: "pending", Count: 4},
		{Kind: store.BacklogOverdue, Machine: "deal", Name: "EXPIRE", Count: 1},
	}
	if got := f.backlog(100); Text(got) != Text(want) {
		f.Errorf("it counts %s\nwant %s", Text(got), Text(want))
	}
	for _, line := range f.backlog(1) {
		if line.Count > 1 {
			f.Errorf("of one row it counts %s", Text(line))
		}
	}
}

// setDeadline saves a deadline of h.
func (f *Fixture[Tx]) setDeadline(h Versioned, at time.Time) {
	f.Helper()
	c := f.EmptyCommit(h)
	c.SetDeadlines = []store.Deadline{f.Deadline(h, at)}
	f.Must(f.Save(c))
}
