package storetest

import (
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func outboxes[Tx any]() []test[Tx] {
	return []test[Tx]{
		{"ARowComesBackAsItWas", rowComesBack[Tx]},
		{"AClaimLeasesAndCounts", claimLeases[Tx]},
		{"NothingIsClaimedBeforeItIsDue", notBeforeDue[Tx]},
		{"TheOldestComesFirst", oldestFirst[Tx]},
		{"OfTheSameAgeTheEarlierStepComesFirst", sameAge[Tx]},
		{"OnlyTheMachinesAskedForAreClaimed", onlyTheseMachines[Tx]},
		{"LimitsHold", limitsHold[Tx]},
		{"ADeliveredRowIsDone", deliveredIsDone[Tx]},
		{"ARetryWaits", retryWaits[Tx]},
		{"APersonRequeuesADeadLetter", requeue[Tx]},
		{"APersonDiscardsADeadLetter", discard[Tx]},
		{"APersonCannotTakeWhatIsLeased", personAndLease[Tx]},
		{"LeavingTheStateCancelsItsWork", cancelWork[Tx]},
		{"ClaimedWorkIsCancelledToo", cancelClaimed[Tx]},
		{"WorkThatWaitsForARepeatIsCancelledToo", cancelWaiting[Tx]},
		{"ACancelledDeadLetterIsDoneWith", cancelDead[Tx]},
	}
}

func rowComesBack[Tx any](b *bench[Tx]) {
	h := b.deal()
	row, empty := b.message(h, 1, "kafka"), b.work(h, 2, "ton")
	empty.Payload, empty.Correlation = nil, ""
	b.send(h, row, empty)
	for _, want := range []store.OutboxMessage{row, empty} {
		if got := b.letter(want.MessageID); text(got) != text(want) {
			b.Errorf("it is %s\nwant %s", text(got), text(want))
		}
	}
}

func claimLeases[Tx any](b *bench[Tx]) {
	h := b.deal()
	row := b.message(h, 1, "kafka")
	b.send(h, row)
	tasks := b.claims(901, epoch)
	if len(tasks) != 1 || tasks[0].Kind != store.TaskEffect || tasks[0].Token != uuid(901) || tasks[0].Err != nil || text(tasks[0].Effect) != text(row) {
		b.Fatalf("it claimed %s, want the row as it was before", text(tasks))
	}
	if got := b.letter(row.MessageID); got.State != "delivering" || got.Attempts != 1 || got.AvailableAt != row.AvailableAt {
		b.Fatalf("the claimed row is %s", text(got))
	}
	if again := b.claims(902, epoch); len(again) != 0 {
		b.Fatalf("it was claimed again: %s", text(again))
	}
}

func notBeforeDue[Tx any](b *bench[Tx]) {
	h := b.deal()
	row := b.message(h, 1, "kafka")
	row.AvailableAt = fsm.Some(epoch.Add(time.Microsecond))
	b.send(h, row)
	if tasks := b.claims(901, epoch); len(tasks) != 0 {
		b.Fatalf("it claimed %s", text(tasks))
	}
	if tasks := b.claims(901, epoch.Add(time.Microsecond)); len(tasks) != 1 {
		b.Fatalf("it claimed %s", text(tasks))
	}
}

// oldestFirst mixes machines and lanes.
func oldestFirst[Tx any](b *bench[Tx]) {
	h, w := b.deal(), b.walRecord("s3://a")
	var want []string
	var rows []store.OutboxMessage
	for i, r := range []head[Tx]{h, w, h, w, h} {
		row := b.message(r, i, "lane"+uuid(i).String())
		row.AvailableAt = fsm.Some(epoch.Add(-time.Duration(i) * time.Second))
		rows = append(rows, row)
		want = append([]string{row.MessageID}, want...)
	}
	for _, row := range rows {
		c := b.about(h)
		c.Outbox = []store.OutboxMessage{row}
		b.must(b.save(c))
	}
	if got := messages(b.claims(901, epoch)); !slices.Equal(got, want) {
		b.Fatalf("claimed %v, want %v", got, want)
	}
}

// sameAge sends the last first, each in a lane of its own.
func sameAge[Tx any](b *bench[Tx]) {
	h := b.deal()
	first, second := b.message(h, 1, "a"), b.message(h, 2, "b")
	h.version++
	third := b.message(h, 0, "c")
	b.send(h, third)
	b.send(h, second, first)
	if got, want := messages(b.claims(901, epoch)), []string{first.MessageID, second.MessageID, third.MessageID}; !slices.Equal(got, want) {
		b.Fatalf("claimed %v, want %v", got, want)
	}
}

func onlyTheseMachines[Tx any](b *bench[Tx]) {
	h, w := b.deal(), b.walRecord("s3://a")
	other := b.about(h)
	other.Outbox, other.SetDeadlines = []store.OutboxMessage{b.message(h, 1, "kafka")}, []store.Deadline{b.deadline(h, epoch)}
	b.must(b.save(other))
	of := b.message(w, 1, "kafka")
	b.send(w, of)
	c := b.claim(901, epoch)
	c.Destinations = slices.DeleteFunc(c.Destinations, func(l store.Destination) bool { return l.Machine != "wal" })
	c.Events = []store.Events{{Machine: "wal", Names: []string{"EXPIRE"}, States: b.statesOf("wal")}}
	tasks, err := b.Store.Claim(b.ctx, c)
	b.must(err)
	if len(tasks) != 1 || tasks[0].Effect.MessageID != of.MessageID {
		b.Fatalf("claimed %s", text(tasks))
	}
}

func limitsHold[Tx any](b *bench[Tx]) {
	h := b.deal()
	for i := range 5 {
		b.send(h, b.message(h, i, "lane"+uuid(i).String()))
	}
	c := b.about(h)
	c.SetDeadlines = []store.Deadline{b.deadline(h, epoch)}
	b.must(b.save(c))
	for _, tt := range []struct{ effects, deadlines, want int }{{2, 0, 2}, {0, 1, 1}, {9, 9, 3}} {
		claim := b.claim(901, epoch)
		claim.Effects, claim.Deadlines = tt.effects, tt.deadlines
		tasks, err := b.Store.Claim(b.ctx, claim)
		b.must(err)
		if len(tasks) != tt.want {
			b.Errorf("with %d effects and %d deadlines it claimed %d", tt.effects, tt.deadlines, len(tasks))
		}
	}
}

func deliveredIsDone[Tx any](b *bench[Tx]) {
	h := b.deal()
	row := b.message(h, 1, "kafka")
	b.send(h, row)
	task := b.claims(901, epoch)[0]
	b.must(b.settle(delivered(task, epoch)))
	got := b.letter(row.MessageID)
	if got.State != "delivered" || got.Attempts != 1 || got.DeliveredAt != fsm.Some(epoch) {
		b.Fatalf("it is %s", text(got))
	}
	if tasks := b.claims(902, epoch.AddDate(1, 0, 0)); len(tasks) != 0 {
		b.Fatalf("it was claimed again: %s", text(tasks))
	}
}

func retryWaits[Tx any](b *bench[Tx]) {
	h := b.deal()
	b.send(h, b.message(h, 1, "kafka"))
	later := epoch.Add(time.Second)
	task := b.claims(901, epoch)[0]
	b.must(b.settle(outcome(task, store.MessageState{State: "retry_wait", AvailableAt: fsm.Some(later), LastError: "no route"})))
	if tasks := b.claims(902, epoch); len(tasks) != 0 {
		b.Fatalf("it did not wait: %s", text(tasks))
	}
	tasks := b.claims(902, later)
	if len(tasks) != 1 || tasks[0].Effect.Attempts != 1 || tasks[0].Effect.LastError != "no route" {
		b.Fatalf("it claimed %s", text(tasks))
	}
}

// dead saves a message that became a dead letter.
func (b *bench[Tx]) dead(h head[Tx], seq int, lane string) store.OutboxMessage {
	b.Helper()
	return b.buried(h, b.message(h, seq, lane), "gave up")
}

// buried saves row as a message that became a dead letter.
func (b *bench[Tx]) buried(h head[Tx], row store.OutboxMessage, cause string) store.OutboxMessage {
	b.Helper()
	b.send(h, row)
	for _, task := range b.claims(990, epoch) {
		if task.Effect.MessageID == row.MessageID {
			b.must(b.settle(outcome(task, store.MessageState{State: "dead_letter", LastError: cause})))
		}
	}
	return b.letter(row.MessageID)
}

func person(row store.OutboxMessage, l store.MessageState) store.Settlement {
	return store.Settlement{Kind: store.TaskEffect, MessageID: row.MessageID, From: row.State, MessageState: l}
}

func requeue[Tx any](b *bench[Tx]) {
	row := b.dead(b.deal(), 1, "kafka")
	again := person(row, store.MessageState{State: "pending", AvailableAt: fsm.Some(epoch), LastError: row.LastError, Resolution: "ann: fixed"})
	b.must(b.settle(again))
	b.wants(b.settle(again), store.ErrConflict) // it is no dead letter any more
	if got := b.letter(row.MessageID); got.State != "pending" || got.Resolution != "ann: fixed" || got.Attempts != 0 {
		b.Fatalf("it is %s", text(got))
	}
	if tasks := b.claims(901, epoch); len(tasks) != 1 {
		b.Fatalf("it claimed %s", text(tasks))
	}
}

func discard[Tx any](b *bench[Tx]) {
	row := b.dead(b.deal(), 1, "kafka")
	if got := b.deadLetters(store.Read{}); !slices.Equal(got, []string{row.MessageID}) {
		b.Fatalf("the dead letters are %v", got)
	}
	l := row.MessageState
	l.DiscardedAt, l.Resolution = fsm.Some(epoch), "ann: moot"
	b.must(b.settle(person(row, l)))
	if got := b.deadLetters(store.Read{}); len(got) != 0 {
		b.Fatalf("the dead letters are %v", got)
	}
}

func personAndLease[Tx any](b *bench[Tx]) {
	h := b.deal()
	row := b.message(h, 1, "kafka")
	b.send(h, row)
	b.claims(901, epoch)
	taken := b.letter(row.MessageID)
	b.wants(b.settle(person(taken, store.MessageState{State: "pending", AvailableAt: fsm.Some(epoch)})), store.ErrConflict)
	if got := b.letter(row.MessageID); got.State != "delivering" {
		b.Fatalf("it is %s", text(got))
	}
}

// cancelWork leaves a state: its work goes, its messages stay, and so does what
// another record asked for.
func cancelWork[Tx any](b *bench[Tx]) {
	h, other := b.deal(), b.deal()
	work, message, foreign := b.work(h, 1, "ton"), b.message(h, 2, "kafka"), b.work(other, 1, "ton")
	b.send(h, work, message)
	b.send(other, foreign)
	c, h := b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
	c.CancelWork = true
	next := b.work(h, 1, "ton") // the new state has work of its own
	c.Outbox = []store.OutboxMessage{next}
	b.must(b.save(c))
	if !b.letter(work.MessageID).Cancelled {
		b.Error("the work of the old state is not cancelled")
	}
	got := messages(b.claims(901, epoch))
	slices.Sort(got)
	want := []string{message.MessageID, foreign.MessageID, next.MessageID}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		b.Fatalf("claimed %v, want %v", got, want)
	}
}

// cancelClaimed leaves a state while a worker is at its work: the row says so
// to the worker, is not recovered, and lets nobody into its lane before the
// worker is done or its lease over.
func cancelClaimed[Tx any](b *bench[Tx]) {
	h := b.deal()
	b.send(h, b.work(h, 1, "ton"))
	task := b.claims(901, epoch)[0]
	c, h := b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
	c.CancelWork = true
	next := b.message(h, 1, "ton")
	c.Outbox = []store.OutboxMessage{next}
	b.must(b.save(c))

	ref := &store.TaskRef{Kind: store.TaskEffect, MessageID: task.Effect.MessageID, Token: task.Token}
	if row := b.load(h, store.Query{Task: ref}); !row.Held || !row.Cancelled {
		b.Fatalf("held %t, cancelled %t", row.Held, row.Cancelled)
	}
	if tasks := b.claims(902, epoch); len(tasks) != 0 {
		b.Fatalf("two at once in one lane: %s", text(tasks))
	}
	if got := messages(b.claims(902, epoch.Add(time.Minute))); !slices.Equal(got, []string{next.MessageID}) {
		b.Fatalf("after the lease it claimed %v", got)
	}
	b.must(b.settle(delivered(task, epoch)))
	if got := b.letter(task.Effect.MessageID); !got.Cancelled || got.State != "delivered" {
		b.Fatalf("it is %s", text(got))
	}
}

// cancelWaiting leaves a state whose work has failed and is to be repeated.
func cancelWaiting[Tx any](b *bench[Tx]) {
	h := b.deal()
	b.send(h, b.work(h, 1, "ton"))
	task := b.claims(901, epoch)[0]
	b.must(b.settle(outcome(task, store.MessageState{State: "retry_wait", AvailableAt: fsm.Some(epoch), LastError: "x"})))
	c, _ := b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
	c.CancelWork = true
	b.must(b.save(c))
	if tasks := b.claims(902, epoch); len(tasks) != 0 {
		b.Fatalf("it is repeated: %s", text(tasks))
	}
}

// cancelDead leaves a state whose work is a dead letter: it is in nobody's way
// any more, and a person can't bring it back.
func cancelDead[Tx any](b *bench[Tx]) {
	h := b.deal()
	b.send(h, b.work(h, 1, "ton"))
	task := b.claims(901, epoch)[0]
	b.must(b.settle(outcome(task, store.MessageState{State: "dead_letter", LastError: "x"})))
	dead := b.letter(task.Effect.MessageID)
	c, h := b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
	next := b.message(h, 1, "ton")
	c.CancelWork, c.Outbox = true, []store.OutboxMessage{next}
	b.must(b.save(c))
	b.wants(b.settle(person(dead, store.MessageState{State: "pending", AvailableAt: fsm.Some(epoch)})), store.ErrConflict)
	if got := messages(b.claims(902, epoch)); !slices.Equal(got, []string{next.MessageID}) {
		b.Fatalf("claimed %v, want %s", got, next.MessageID)
	}
}
