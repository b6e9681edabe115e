package storetest

import (
	"cmp"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func leases[Tx any]() []storeCase[Tx] {
	return []storeCase[Tx]{
		{"AClaimCanBeAskedForAgain", claimAgain[Tx]},
		{"AMessageIsInsertedClaimed", insertClaimed[Tx]},
		{"SomeMessagesAreInsertedClaimed", insertSomeClaimed[Tx]},
		{"OnlyPendingIsReported", onlyPending[Tx]},
		{"AnExpiredLeaseIsClaimedAgain", expiredLease[Tx]},
		{"AWorkerThatLostItsLeaseSettlesNothing", lostLease[Tx]},
		{"AWorkerThatLostItsLeaseSavesNothing", lostLeaseSaves[Tx]},
		{"ARenewedLeaseHolds", renewedLease[Tx]},
		{"ALostLeaseCannotBeRenewed", renewLost[Tx]},
		{"ACancelledLeaseThatIsOverCannotBeRenewed", renewCancelled[Tx]},
		{"SettlingTwiceIsALostLease", settleTwice[Tx]},
		{"AnAnswerAndItsTaskAreOneTransaction", answerAndTask[Tx]},
		{"AHeldTaskIsReported", heldIsReported[Tx]},
	}
}

// claimedTwice saves one message that two workers have claimed in turn. The lease of the
// first worker ended.
func (f *Fixture[Tx]) claimedTwice() (h Versioned, first, second store.Task) {
	f.Helper()
	h = f.deal()
	f.send(h, f.Message(h, 1, "kafka"))
	first = f.claimAll(901, StartTime)[0]
	again := f.claimAll(902, StartTime.Add(time.Minute))
	if len(again) != 1 {
		f.Fatalf("after the lease it claimed %s", Text(again))
	}
	return h, first, again[0]
}

func expiredLease[Tx any](f *Fixture[Tx]) {
	_, _, second := f.claimedTwice()
	if second.Effect.State != "delivering" || second.Effect.Attempts != 1 {
		f.Fatalf("the second claim does not say that one was cut short: %s", Text(second))
	}
	if got := f.ReadMessage(second.Effect.MessageID); got.Attempts != 2 {
		f.Fatalf("it counts %d attempts", got.Attempts)
	}
}

func lostLease[Tx any](f *Fixture[Tx]) {
	_, first, second := f.claimedTwice()
	f.WantError(f.settle(delivered(first, StartTime)), store.ErrLeaseLost)
	if got := f.ReadMessage(second.Effect.MessageID); got.State != "delivering" {
		f.Fatalf("it is %s", Text(got))
	}
	f.Must(f.settle(delivered(second, StartTime)))
	f.WantError(f.settle(outcome(first, store.MessageState{State: "dead_letter"})), store.ErrLeaseLost)
	if got := f.ReadMessage(second.Effect.MessageID); got.State != "delivered" {
		f.Fatalf("it is %s", Text(got))
	}
}

func lostLeaseSaves[Tx any](f *Fixture[Tx]) {
	h, first, _ := f.claimedTwice()
	c, _ := f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
	s := delivered(first, StartTime)
	c.Task = &s
	f.WantError(f.Save(c), store.ErrLeaseLost)
	f.wantStored(h)
	if n := len(f.history(h)); n != 1 {
		f.Fatalf("the history has %d rows", n)
	}
}

func renewedLease[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	c := f.EmptyCommit(h)
	c.Outbox, c.SetDeadlines = []store.OutboxMessage{f.Message(h, 1, "kafka")}, []store.Deadline{f.Deadline(h, StartTime)}
	f.Must(f.Save(c))
	until := StartTime.Add(time.Hour)
	for _, t := range f.claimAll(901, StartTime) {
		f.Must(f.settle(renewal(t, until)))
	}
	if tasks := f.claimAll(902, until.Add(-time.Microsecond)); len(tasks) != 0 {
		f.Fatalf("claimed %s", Text(tasks))
	}
	if tasks := f.claimAll(902, until); len(tasks) != 2 {
		f.Fatalf("claimed %s", Text(tasks))
	}
}

func renewal(t store.Task, until time.Time) store.Settlement {
	return store.Settlement{
		Kind: t.Kind, Token: t.Token, Renew: until, MessageID: t.Effect.MessageID,
		Machine: t.Deadline.Machine, RecordID: t.Deadline.RecordID, Deadline: t.Deadline.Kind,
	}
}

func renewLost[Tx any](f *Fixture[Tx]) {
	_, first, second := f.claimedTwice()
	f.WantError(f.settle(renewal(first, StartTime.AddDate(1, 0, 0))), store.ErrLeaseLost)
	f.Must(f.settle(delivered(second, StartTime)))
	f.WantError(f.settle(renewal(second, StartTime.AddDate(1, 0, 0))), store.ErrLeaseLost)
}

// renewCancelled renews a lease of a cancelled effect after its end. The next message of
// the ordering key may be claimed by then, so the renewal fails.
func renewCancelled[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	work, behind := f.work(h, 1, "ton"), f.Message(h, 2, "ton")
	f.send(h, work)
	task := f.claimAll(901, StartTime)[0]
	c, _ := f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
	c.CancelWork, c.Outbox = true, []store.OutboxMessage{behind}
	f.Must(f.Save(c))
	r := renewal(task, StartTime.Add(time.Hour))
	r.Now = StartTime
	f.Must(f.settle(r))
	if tasks := f.claimAll(902, StartTime.Add(time.Minute)); len(tasks) != 0 {
		f.Fatalf("claimed %s beside what is still under way", Text(tasks))
	}
	r.Now, r.Renew = StartTime.Add(time.Hour), StartTime.Add(2*time.Hour)
	f.WantError(f.settle(r), store.ErrLeaseLost)
	if tasks := f.claimAll(902, StartTime.Add(time.Hour)); len(tasks) != 1 || tasks[0].Effect.MessageID != behind.MessageID {
		f.Fatalf("claimed %s", Text(tasks))
	}
}

func settleTwice[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	f.send(h, f.Message(h, 1, "kafka"))
	task := f.claimAll(901, StartTime)[0]
	f.Must(f.settle(delivered(task, StartTime)))
	f.WantError(f.settle(delivered(task, StartTime.Add(time.Second))), store.ErrLeaseLost)
	if got := f.ReadMessage(task.Effect.MessageID); got.DeliveredAt != fsm.Some(StartTime) {
		f.Fatalf("it is %s", Text(got))
	}
}

func answerAndTask[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	f.send(h, f.work(h, 1, "ton"))
	task := f.claimAll(901, StartTime)[0]
	c, next := f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
	s := delivered(task, StartTime)
	c.Task, c.CancelWork = &s, true

	refused := c
	refused.IdempotencyKeys = []store.IdempotencyKey{key(h, "k"), key(h, "k")} // fails last
	f.WantError(f.Save(refused), store.ErrKeyUsed)
	f.wantStored(h)
	if got := f.ReadMessage(task.Effect.MessageID); got.State != "delivering" {
		f.Fatalf("the event was not saved and its task is %s", Text(got))
	}

	f.Must(f.Save(c))
	f.wantStored(next)
	// The task is settled before the step, so the step does not cancel it.
	if got := f.ReadMessage(task.Effect.MessageID); got.State != "delivered" || got.Cancelled {
		f.Fatalf("the event was saved and its task is %s", Text(got))
	}
}

func heldIsReported[Tx any](f *Fixture[Tx]) {
	h, first, second := f.claimedTwice()
	held := func(t store.Task) bool {
		return f.load(h, store.Query{Task: &store.TaskRef{Kind: store.TaskEffect, MessageID: t.Effect.MessageID, Token: t.Token}}).Held
	}
	if held(first) || !held(second) {
		f.Fatalf("the first holds it: %t, the second: %t", held(first), held(second))
	}
	f.Must(f.settle(delivered(second, StartTime)))
	if held(second) {
		f.Fatal("it is held after it was settled")
	}
}

// insertedClaimed returns the message as a step inserts it that has already claimed it
// for a worker.
func insertedClaimed(row store.OutboxMessage, token int) store.OutboxMessage {
	row.State, row.Attempts = "delivering", 1
	row.Lease = &store.Lease{Token: UUID(token), Until: StartTime.Add(time.Minute), Worker: "w"}
	return row
}

// insertClaimed inserts claimed messages with a creation, with a step and without a step.
// They behave as if they were claimed later.
func insertClaimed[Tx any](f *Fixture[Tx]) {
	creation, h := f.commit(f.new(f.Deals), deal.Create{OwnerID: 8, PriceNano: 100}, Advertiser, StartTime)
	first := f.Message(h, 0, "kafka")
	creation.Outbox = []store.OutboxMessage{insertedClaimed(first, 901)}
	f.Must(f.Save(creation))
	step, h := f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
	second := f.Message(h, 0, "ton")
	step.Outbox = []store.OutboxMessage{insertedClaimed(second, 902)}
	f.Must(f.Save(step))
	third := f.Message(h, 1, "other")
	f.send(h, insertedClaimed(third, 903))

	if tasks := f.claimAll(910, StartTime.Add(time.Minute-time.Microsecond)); len(tasks) != 0 {
		f.Fatalf("it claimed %s", Text(tasks))
	}
	for i, row := range []store.OutboxMessage{first, second, third} {
		if got := f.ReadMessage(row.MessageID); Text(got) != Text(storedClaimed(row)) {
			f.Errorf("it is %s\nwant %s", Text(got), Text(storedClaimed(row)))
		}
		held := f.load(h, store.Query{Task: &store.TaskRef{Kind: store.TaskEffect, MessageID: row.MessageID, Token: UUID(901 + i)}})
		if !held.Held {
			f.Errorf("message %d is not held", i)
		}
	}
	task := store.Task{Kind: store.TaskEffect, Token: UUID(901), Effect: first}
	f.WantError(f.settle(delivered(store.Task{Kind: store.TaskEffect, Token: UUID(902), Effect: first}, StartTime)), store.ErrLeaseLost)
	f.Must(f.settle(delivered(task, StartTime)))
	if tasks := f.claimAll(911, StartTime.Add(time.Minute)); len(tasks) != 2 || tasks[0].Effect.State != "delivering" {
		f.Fatalf("with the leases over it claimed %s", Text(tasks))
	}
}

// storedClaimed is what a read returns for insertedClaimed.
func storedClaimed(row store.OutboxMessage) store.OutboxMessage {
	row.State, row.Attempts = "delivering", 1
	return row
}

func insertSomeClaimed[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	held, waits := f.Message(h, 0, "a"), f.Message(h, 1, "a")
	free := f.Message(h, 2, "b")
	step, _ := f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
	step.Outbox = []store.OutboxMessage{insertedClaimed(held, 901), waits, free}
	f.Must(f.Save(step))
	if got := messages(f.claimAll(902, StartTime)); !slices.Equal(got, []string{free.MessageID}) {
		f.Fatalf("claimed %v, want %s, which is the first of its ordering key", got, free.MessageID)
	}
	f.Must(f.settle(delivered(store.Task{Kind: store.TaskEffect, Token: UUID(901), Effect: held}, StartTime)))
	if got := messages(f.claimAll(903, StartTime)); !slices.Equal(got, []string{waits.MessageID}) {
		f.Fatalf("claimed %v, want %s", got, waits.MessageID)
	}
}

// onlyPending asks for Query.OnlyPending after each change of a message.
func onlyPending[Tx any](f *Fixture[Tx]) {
	h, other := f.deal(), f.deal()
	is := func(want bool, what string, task *store.TaskRef) {
		f.Helper()
		if got := f.load(h, store.Query{OnlyPending: true, Task: task}).OnlyPending; got != want {
			f.Errorf("%s: alone is %v", what, got)
		}
	}
	is(true, "a record without messages", nil)
	f.send(other, f.Message(other, 0, "kafka"))
	is(true, "another record's message", nil)
	row := f.Message(h, 0, "kafka")
	f.send(h, insertedClaimed(row, 901))
	task := store.Task{Kind: store.TaskEffect, Token: UUID(901), Effect: row}
	own := &store.TaskRef{Kind: store.TaskEffect, MessageID: row.MessageID, Token: UUID(901)}
	is(false, "a claimed message", nil)
	is(true, "the task of the message itself", own)
	dead := f.deadLetter(h, 1, "ton")
	is(false, "that task and a dead letter", own)
	f.Must(f.settle(delivered(task, StartTime)))
	is(false, "a dead letter", nil)
	discarded := dead.MessageState
	discarded.DiscardedAt, discarded.Resolution = fsm.Some(StartTime), "enough"
	f.Must(f.settle(byOperator(dead, discarded)))
	is(true, "a message that is done and one that was discarded", nil)
	f.send(h, f.work(h, 2, "x"))
	is(false, "work that waits", nil)
	c := f.EmptyCommit(h)
	c.CancelWork = true
	f.Must(f.Save(c))
	is(true, "work that was cancelled", nil)
	if f.load(h, store.Query{}).OnlyPending {
		f.Error("it is reported though the query does not ask")
	}
}

// claimAgain repeats a claim with the same token, as a worker does that did not get the
// answer.
func claimAgain[Tx any](f *Fixture[Tx]) {
	h, other := f.deal(), f.deal()
	f.send(h, f.Message(h, 1, "kafka"))
	f.send(other, f.Message(other, 1, "kafka"))
	granted := f.claimAll(901, StartTime)
	f.send(h, f.Message(h, 2, "ton")) // is not claimed with them
	for token, want := range map[int][]store.Task{901: granted, 902: nil} {
		c := f.Claim(token, StartTime.Add(time.Second))
		c.Again = true
		again, err := f.Store.Claim(f.Context(), c)
		f.Must(err)
		slices.SortFunc(again, func(x, y store.Task) int { return cmp.Compare(x.Effect.MessageID, y.Effect.MessageID) })
		slices.SortFunc(want, func(x, y store.Task) int { return cmp.Compare(x.Effect.MessageID, y.Effect.MessageID) })
		if Text(again) != Text(want) {
			f.Errorf("token %d: it was granted %s\nwant %s", token, Text(again), Text(want))
		}
	}
	if tasks := f.claimAll(903, StartTime.Add(time.Minute)); len(tasks) != 1 || tasks[0].Effect.Destination != "ton" {
		f.Errorf("the leases were not renewed: claimed %s", Text(tasks))
	}
	f.Must(f.settle(delivered(granted[0], StartTime)))
}
