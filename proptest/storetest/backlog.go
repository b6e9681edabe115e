package storetest

import (
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// backlog asks what waits of deals an hour after the epoch, counting at most so many rows.
func (b *bench[Tx]) backlog(limit int) []store.Backlog {
	b.Helper()
	page, err := b.Store.Read(b.ctx, store.Read{
		Kind: store.ReadBacklog, Now: epoch.Add(time.Hour), Limit: limit,
		Destinations: []store.Destination{
			{Machine: "deal", Name: "kafka", Effects: []string{"deal.events", "notify_owner"}},
			{Machine: "deal", Name: "ton", Effects: []string{"generate_deposit_address"}},
		},
		Events: []store.Events{{Machine: "deal", Names: []string{"EXPIRE"}}},
	})
	b.must(err)
	return page.Backlog
}

// readBacklog counts messages in every state, and deadlines. What is done, not due, under
// a lease, of another machine, or an effect that is not asked about, does not count as due.
func readBacklog[Tx any](b *bench[Tx]) {
	if lines := b.backlog(100); len(lines) != 0 {
		b.Errorf("of nothing it counts %s", text(lines))
	}
	blocked, alone, given, under, w := b.deal(), b.deal(), b.deal(), b.deal(), b.walRecord("s3://a")
	b.dead(alone, 1, "kafka")
	gone := b.dead(given, 1, "kafka")
	l := gone.MessageState
	l.DiscardedAt, l.Resolution = fsm.Some(epoch), "ann: moot"
	b.must(b.settle(person(gone, l)))
	b.dead(blocked, 1, "kafka")
	b.send(under, b.message(under, 1, "kafka"), b.work(under, 2, "ton"))
	for _, task := range b.claims(901, epoch.Add(time.Hour)) { // under a lease until later
		if task.Effect.Work {
			b.must(b.settle(delivered(task, epoch)))
		}
	}
	b.send(blocked, b.message(blocked, 2, "kafka"), b.message(blocked, 3, "kafka"), b.message(blocked, 4, "ton"))
	if n := len(b.claims(902, epoch)); n != 1 { // and parks the others
		b.Fatalf("%d messages can be claimed", n)
	}
	var due head[Tx]
	for _, after := range []time.Duration{20 * time.Minute, 10 * time.Minute} {
		due = b.deal()
		row := b.message(due, 1, "kafka")
		row.AvailableAt = fsm.Some(epoch.Add(after))
		b.send(due, row)
	}
	later := b.message(due, 2, "ton")
	later.Effect, later.AvailableAt = "generate_deposit_address", fsm.Some(epoch.Add(2*time.Hour))
	b.send(due, later)
	b.send(w, b.message(w, 1, "kafka"))
	b.arms(due, epoch.Add(time.Hour))
	b.arms(blocked, epoch.Add(time.Hour+1000))
	want := []store.Backlog{
		{Kind: store.BacklogBlocked, Machine: "deal", Name: "kafka", Count: 1},
		{Kind: store.BacklogDue, Machine: "deal", Name: "notify_owner", Count: 1, Since: epoch.Add(10 * time.Minute)},
		{Kind: store.BacklogOpen, Machine: "deal", Name: "generate_deposit_address", State: "pending", Count: 1},
		{Kind: store.BacklogOpen, Machine: "deal", Name: "notify_owner", State: "dead_letter", Count: 2},
		{Kind: store.BacklogOpen, Machine: "deal", Name: "notify_owner", State: "delivering", Count: 2},
		{Kind: store.BacklogOpen, Machine: "deal", Name: "notify_owner", State: "pending", Count: 4},
		{Kind: store.BacklogOverdue, Machine: "deal", Name: "EXPIRE", Count: 1},
	}
	if got := b.backlog(100); text(got) != text(want) {
		b.Errorf("it counts %s\nwant %s", text(got), text(want))
	}
	for _, line := range b.backlog(1) {
		if line.Count > 1 {
			b.Errorf("of one row it counts %s", text(line))
		}
	}
}

// arms sets a deadline of h.
func (b *bench[Tx]) arms(h head[Tx], at time.Time) {
	b.Helper()
	c := b.about(h)
	c.SetDeadlines = []store.Deadline{b.deadline(h, at)}
	b.must(b.save(c))
}
