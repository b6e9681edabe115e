package storetest

import (
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func outboxes[Tx any]() []storeCase[Tx] {
	return []storeCase[Tx]{
		{"AMessageIsReadBackUnchanged", messageIsReadBack[Tx]},
		{"AClaimLeasesAndCounts", claimLeases[Tx]},
		{"NothingIsClaimedBeforeItIsDue", notBeforeDue[Tx]},
		{"TheOldestComesFirst", oldestFirst[Tx]},
		{"OfTheSameAgeTheEarlierStepComesFirst", sameAge[Tx]},
		{"OnlyTheMachinesAskedForAreClaimed", onlyTheseMachines[Tx]},
		{"LimitsHold", limitsHold[Tx]},
		{"ADeliveredRowIsDone", deliveredIsDone[Tx]},
		{"ARetryWaits", retryWaits[Tx]},
		{"AnOperatorRequeuesADeadLetter", operatorRequeues[Tx]},
		{"AnOperatorDiscardsADeadLetter", operatorDiscards[Tx]},
		{"AnOperatorCannotTakeWhatIsLeased", operatorAndLease[Tx]},
		{"LeavingTheStateCancelsItsWork", cancelWork[Tx]},
		{"ClaimedWorkIsCancelledToo", cancelClaimed[Tx]},
		{"WorkThatWaitsForARetryIsCancelledToo", cancelWaiting[Tx]},
		{"ACancelledDeadLetterBlocksNothing", cancelDead[Tx]},
	}
}

func messageIsReadBack[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	row, empty := f.Message(h, 1, "kafka"), f.work(h, 2, "ton")
	empty.Payload, empty.Correlation = nil, ""
	f.send(h, row, empty)
	for _, want := range []store.OutboxMessage{row, empty} {
		if got := f.ReadMessage(want.MessageID); Text(got) != Text(want) {
			f.Errorf("it is %s\nwant %s", Text(got), Text(want))
		}
	}
}

func claimLeases[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	row := f.Message(h, 1, "kafka")
	f.send(h, row)
	tasks := f.claimAll(901, StartTime)
	if len(tasks) != 1 || tasks[0].Kind != store.TaskEffect || tasks[0].Token != UUID(901) || tasks[0].Err != nil || Text(tasks[0].Effect) != Text(row) {
		f.Fatalf("it claimed %s, want the row as it was before", Text(tasks))
	}
	if got := f.ReadMessage(row.MessageID); got.State != "delivering" || got.Attempts != 1 || got.AvailableAt != row.AvailableAt {
		f.Fatalf("the claimed row is %s", Text(got))
	}
	if again := f.claimAll(902, StartTime); len(again) != 0 {
		f.Fatalf("it was claimed again: %s", Text(again))
	}
}

func notBeforeDue[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	row := f.Message(h, 1, "kafka")
	row.AvailableAt = fsm.Some(StartTime.Add(time.Microsecond))
	f.send(h, row)
	if tasks := f.claimAll(901, StartTime); len(tasks) != 0 {
		f.Fatalf("it claimed %s", Text(tasks))
	}
	if tasks := f.claimAll(901, StartTime.Add(time.Microsecond)); len(tasks) != 1 {
		f.Fatalf("it claimed %s", Text(tasks))
	}
}

// oldestFirst mixes machines and ordering keys.
func oldestFirst[Tx any](f *Fixture[Tx]) {
	h, w := f.deal(), f.walRecord("s3://a")
	var want []string
	var rows []store.OutboxMessage
	for i, r := range []Versioned{h, w, h, w, h} {
		row := f.Message(r, i, "destination"+UUID(i).String())
		row.AvailableAt = fsm.Some(StartTime.Add(-time.Duration(i) * time.Second))
		rows = append(rows, row)
		want = append([]string{row.MessageID}, want...)
	}
	for _, row := range rows {
		c := f.EmptyCommit(h)
		c.Outbox = []store.OutboxMessage{row}
		f.Must(f.Save(c))
	}
	if got := messages(f.claimAll(901, StartTime)); !slices.Equal(got, want) {
		f.Fatalf("claimed %v, want %v", got, want)
	}
}

// sameAge saves the last message first, each with an ordering key of its own.
func sameAge[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	first, second := f.Message(h, 1, "a"), f.Message(h, 2, "b")
	h.version++
	third := f.Message(h, 0, "c")
	f.send(h, third)
	f.send(h, second, first)
	if got, want := messages(f.claimAll(901, StartTime)), []string{first.MessageID, second.MessageID, third.MessageID}; !slices.Equal(got, want) {
		f.Fatalf("claimed %v, want %v", got, want)
	}
}

func onlyTheseMachines[Tx any](f *Fixture[Tx]) {
	h, w := f.deal(), f.walRecord("s3://a")
	other := f.EmptyCommit(h)
	other.Outbox, other.SetDeadlines = []store.OutboxMessage{f.Message(h, 1, "kafka")}, []store.Deadline{f.Deadline(h, StartTime)}
	f.Must(f.Save(other))
	of := f.Message(w, 1, "kafka")
	f.send(w, of)
	c := f.Claim(901, StartTime)
	c.Destinations = slices.DeleteFunc(c.Destinations, func(l store.Destination) bool { return l.Machine != "wal" })
	c.Events = []store.Events{{Machine: "wal", Names: []string{"EXPIRE"}, States: f.statesOf("wal")}}
	tasks, err := f.Store.Claim(f.Context(), c)
	f.Must(err)
	if len(tasks) != 1 || tasks[0].Effect.MessageID != of.MessageID {
		f.Fatalf("claimed %s", Text(tasks))
	}
}

func limitsHold[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	for i := range 5 {
		f.send(h, f.Message(h, i, "destination"+UUID(i).String()))
	}
	c := f.EmptyCommit(h)
	c.SetDeadlines = []store.Deadline{f.Deadline(h, StartTime)}
	f.Must(f.Save(c))
	for _, tt := range []struct{ effects, deadlines, want int }{{2, 0, 2}, {0, 1, 1}, {9, 9, 3}} {
		claim := f.Claim(901, StartTime)
		claim.Effects, claim.Deadlines = tt.effects, tt.deadlines
		tasks, err := f.Store.Claim(f.Context(), claim)
		f.Must(err)
		if len(tasks) != tt.want {
			f.Errorf("with %d effects and %d deadlines it claimed %d", tt.effects, tt.deadlines, len(tasks))
		}
	}
}

func deliveredIsDone[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	row := f.Message(h, 1, "kafka")
	f.send(h, row)
	task := f.claimAll(901, StartTime)[0]
	f.Must(f.settle(delivered(task, StartTime)))
	got := f.ReadMessage(row.MessageID)
	if got.State != "delivered" || got.Attempts != 1 || got.DeliveredAt != fsm.Some(StartTime) {
		f.Fatalf("it is %s", Text(got))
	}
	if tasks := f.claimAll(902, StartTime.AddDate(1, 0, 0)); len(tasks) != 0 {
		f.Fatalf("it was claimed again: %s", Text(tasks))
	}
}

func retryWaits[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	f.send(h, f.Message(h, 1, "kafka"))
	later := StartTime.Add(time.Second)
	task := f.claimAll(901, StartTime)[0]
	f.Must(f.settle(outcome(task, store.MessageState{State: "retry_wait", AvailableAt: fsm.Some(later), LastError: "no route"})))
	if tasks := f.claimAll(902, StartTime); len(tasks) != 0 {
		f.Fatalf("it did not wait: %s", Text(tasks))
	}
	tasks := f.claimAll(902, later)
	if len(tasks) != 1 || tasks[0].Effect.Attempts != 1 || tasks[0].Effect.LastError != "no route" {
		f.Fatalf("it claimed %s", Text(tasks))
	}
}

// deadLetter saves a message that became a dead letter.
func (f *Fixture[Tx]) deadLetter(h Versioned, seq int, destination string) store.OutboxMessage {
	f.Helper()
	return f.deadLetterOf(h, f.Message(h, seq, destination), "gave up")
}

// deadLetterOf saves row as a message that became a dead letter.
func (f *Fixture[Tx]) deadLetterOf(h Versioned, row store.OutboxMessage, cause string) store.OutboxMessage {
	f.Helper()
	f.send(h, row)
	for _, task := range f.claimAll(990, StartTime) {
		if task.Effect.MessageID == row.MessageID {
			f.Must(f.settle(outcome(task, store.MessageState{State: "dead_letter", LastError: cause})))
		}
	}
	return f.ReadMessage(row.MessageID)
}

func byOperator(row store.OutboxMessage, l store.MessageState) store.Settlement {
	return store.Settlement{Kind: store.TaskEffect, MessageID: row.MessageID, From: row.State, MessageState: l}
}

func operatorRequeues[Tx any](f *Fixture[Tx]) {
	row := f.deadLetter(f.deal(), 1, "kafka")
	again := byOperator(row, store.MessageState{State: "pending", AvailableAt: fsm.Some(StartTime), LastError: row.LastError, Resolution: "ann: fixed"})
	f.Must(f.settle(again))
	f.WantError(f.settle(again), store.ErrConflict) // it is no dead letter any more
	if got := f.ReadMessage(row.MessageID); got.State != "pending" || got.Resolution != "ann: fixed" || got.Attempts != 0 {
		f.Fatalf("it is %s", Text(got))
	}
	if tasks := f.claimAll(901, StartTime); len(tasks) != 1 {
		f.Fatalf("it claimed %s", Text(tasks))
	}
}

func operatorDiscards[Tx any](f *Fixture[Tx]) {
	row := f.deadLetter(f.deal(), 1, "kafka")
	if got := f.deadLetters(store.Read{}); !slices.Equal(got, []string{row.MessageID}) {
		f.Fatalf("the dead letters are %v", got)
	}
	l := row.MessageState
	l.DiscardedAt, l.Resolution = fsm.Some(StartTime), "ann: moot"
	f.Must(f.settle(byOperator(row, l)))
	if got := f.deadLetters(store.Read{}); len(got) != 0 {
		f.Fatalf("the dead letters are %v", got)
	}
}

func operatorAndLease[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	row := f.Message(h, 1, "kafka")
	f.send(h, row)
	f.claimAll(901, StartTime)
	taken := f.ReadMessage(row.MessageID)
	f.WantError(f.settle(byOperator(taken, store.MessageState{State: "pending", AvailableAt: fsm.Some(StartTime)})), store.ErrConflict)
	if got := f.ReadMessage(row.MessageID); got.State != "delivering" {
		f.Fatalf("it is %s", Text(got))
	}
}

// cancelWork leaves a state. Its work is cancelled. Its other messages, and the work of
// other records, stay.
func cancelWork[Tx any](f *Fixture[Tx]) {
	h, other := f.deal(), f.deal()
	work, message, foreign := f.work(h, 1, "ton"), f.Message(h, 2, "kafka"), f.work(other, 1, "ton")
	f.send(h, work, message)
	f.send(other, foreign)
	c, h := f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
	c.CancelWork = true
	next := f.work(h, 1, "ton") // the new state has work of its own
	c.Outbox = []store.OutboxMessage{next}
	f.Must(f.Save(c))
	if !f.ReadMessage(work.MessageID).Cancelled {
		f.Error("the work of the old state is not cancelled")
	}
	got := messages(f.claimAll(901, StartTime))
	slices.Sort(got)
	want := []string{message.MessageID, foreign.MessageID, next.MessageID}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		f.Fatalf("claimed %v, want %v", got, want)
	}
}

// cancelClaimed leaves a state while a worker carries out its work. The worker sees the
// cancellation, the message is not claimed again, and the ordering key stays blocked
// until the worker settles or its lease ends.
func cancelClaimed[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	f.send(h, f.work(h, 1, "ton"))
	task := f.claimAll(901, StartTime)[0]
	c, h := f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
	c.CancelWork = true
	next := f.Message(h, 1, "ton")
	c.Outbox = []store.OutboxMessage{next}
	f.Must(f.Save(c))

	ref := &store.TaskRef{Kind: store.TaskEffect, MessageID: task.Effect.MessageID, Token: task.Token}
	if row := f.load(h, store.Query{Task: ref}); !row.Held || !row.Cancelled {
		f.Fatalf("held %t, cancelled %t", row.Held, row.Cancelled)
	}
	if tasks := f.claimAll(902, StartTime); len(tasks) != 0 {
		f.Fatalf("two at once of one ordering key: %s", Text(tasks))
	}
	if got := messages(f.claimAll(902, StartTime.Add(time.Minute))); !slices.Equal(got, []string{next.MessageID}) {
		f.Fatalf("after the lease it claimed %v", got)
	}
	f.Must(f.settle(delivered(task, StartTime)))
	if got := f.ReadMessage(task.Effect.MessageID); !got.Cancelled || got.State != "delivered" {
		f.Fatalf("it is %s", Text(got))
	}
}

// cancelWaiting leaves a state whose work has failed and waits for a retry.
func cancelWaiting[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	f.send(h, f.work(h, 1, "ton"))
	task := f.claimAll(901, StartTime)[0]
	f.Must(f.settle(outcome(task, store.MessageState{State: "retry_wait", AvailableAt: fsm.Some(StartTime), LastError: "x"})))
	c, _ := f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
	c.CancelWork = true
	f.Must(f.Save(c))
	if tasks := f.claimAll(902, StartTime); len(tasks) != 0 {
		f.Fatalf("it is repeated: %s", Text(tasks))
	}
}

// cancelDead leaves a state whose work is a dead letter. The dead letter blocks nothing
// any more, and an operator can't requeue it.
func cancelDead[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	f.send(h, f.work(h, 1, "ton"))
	task := f.claimAll(901, StartTime)[0]
	f.Must(f.settle(outcome(task, store.MessageState{State: "dead_letter", LastError: "x"})))
	dead := f.ReadMessage(task.Effect.MessageID)
	c, h := f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
	next := f.Message(h, 1, "ton")
	c.CancelWork, c.Outbox = true, []store.OutboxMessage{next}
	f.Must(f.Save(c))
	f.WantError(f.settle(byOperator(dead, store.MessageState{State: "pending", AvailableAt: fsm.Some(StartTime)})), store.ErrConflict)
	if got := messages(f.claimAll(902, StartTime)); !slices.Equal(got, []string{next.MessageID}) {
		f.Fatalf("claimed %v, want %s", got, next.MessageID)
	}
}
