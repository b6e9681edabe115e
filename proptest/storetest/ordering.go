package storetest

import (
	"slices"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func orderingKeys[Tx any]() []storeCase[Tx] {
	return []storeCase[Tx]{
		{"OneOrderingKeyIsInOrder", keyInOrder[Tx]},
		{"OrderIsThatOfTheSteps", orderOfSteps[Tx]},
		{"OrderingKeysAreIndependent", keysIndependent[Tx]},
		{"ARetryBlocksItsOrderingKey", retryBlocks[Tx]},
		{"ADeadLetterBlocksUntilRequeued", deadLetterRequeued[Tx]},
		{"ADeadLetterBlocksUntilDiscarded", deadLetterDiscarded[Tx]},
		{"CancelledWorkBlocksNothing", cancelledBlocksNothing[Tx]},
	}
}

// keyInOrder saves the last message first. The order of claims is that of the step.
func keyInOrder[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	first, second, third := f.Message(h, 1, "kafka"), f.Message(h, 2, "kafka"), f.Message(h, 3, "kafka")
	f.send(h, third)
	f.send(h, second, first)
	for i, want := range []store.OutboxMessage{first, second, third} {
		tasks := f.claimAll(901+i, StartTime)
		if got := messages(tasks); !slices.Equal(got, []string{want.MessageID}) {
			f.Fatalf("turn %d: claimed %v, want %s", i, got, want.MessageID)
		}
		f.Must(f.settle(delivered(tasks[0], StartTime)))
	}
}

// orderOfSteps has a message with a small sequence number in a later step and one with a
// large number in an earlier step.
func orderOfSteps[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	early := f.Message(h, 9, "kafka")
	h = f.saveEvent(h, deal.SubmitOffer{}, Advertiser)
	late := f.Message(h, 1, "kafka")
	f.send(h, late, early)
	if got := messages(f.claimAll(901, StartTime)); !slices.Equal(got, []string{early.MessageID}) {
		f.Fatalf("claimed %v, want %s", got, early.MessageID)
	}
}

func keysIndependent[Tx any](f *Fixture[Tx]) {
	h, other := f.deal(), f.deal()
	f.send(h, f.Message(h, 1, "kafka"), f.Message(h, 2, "ton"))
	f.send(other, f.Message(other, 1, "kafka"))
	if tasks := f.claimAll(901, StartTime); len(tasks) != 3 {
		f.Fatalf("claimed %s", Text(tasks))
	}
}

func retryBlocks[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	f.send(h, f.Message(h, 1, "kafka"), f.Message(h, 2, "kafka"))
	task := f.claimAll(901, StartTime)[0]
	f.Must(f.settle(outcome(task, store.MessageState{State: "retry_wait", AvailableAt: fsm.Some(StartTime.AddDate(0, 0, 1)), LastError: "x"})))
	if tasks := f.claimAll(902, StartTime); len(tasks) != 0 {
		f.Fatalf("it was overtaken by %s", Text(tasks))
	}
}

func deadLetterRequeued[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	row := f.deadLetter(h, 1, "kafka")
	behind := f.Message(h, 2, "kafka")
	f.send(h, behind)
	if tasks := f.claimAll(901, StartTime); len(tasks) != 0 {
		f.Fatalf("it was overtaken by %s", Text(tasks))
	}
	f.Must(f.settle(byOperator(row, store.MessageState{State: "pending", AvailableAt: fsm.Some(StartTime), LastError: row.LastError, Resolution: "ann: fixed"})))
	tasks := f.claimAll(901, StartTime)
	if got := messages(tasks); !slices.Equal(got, []string{row.MessageID}) {
		f.Fatalf("claimed %v, want %s", got, row.MessageID)
	}
	f.Must(f.settle(delivered(tasks[0], StartTime)))
	if got := messages(f.claimAll(902, StartTime)); !slices.Equal(got, []string{behind.MessageID}) {
		f.Fatalf("claimed %v, want %s", got, behind.MessageID)
	}
}

func deadLetterDiscarded[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	row := f.deadLetter(h, 1, "kafka")
	behind := f.Message(h, 2, "kafka")
	f.send(h, behind)
	l := row.MessageState
	l.DiscardedAt, l.Resolution = fsm.Some(StartTime), "ann: moot"
	f.Must(f.settle(byOperator(row, l)))
	if got := messages(f.claimAll(901, StartTime)); !slices.Equal(got, []string{behind.MessageID}) {
		f.Fatalf("claimed %v, want %s", got, behind.MessageID)
	}
}

func cancelledBlocksNothing[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	f.send(h, f.work(h, 1, "ton"))
	c, h := f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
	c.CancelWork = true
	next := f.Message(h, 1, "ton")
	c.Outbox = []store.OutboxMessage{next}
	f.Must(f.Save(c))
	if got := messages(f.claimAll(901, StartTime)); !slices.Equal(got, []string{next.MessageID}) {
		f.Fatalf("claimed %v, want %s", got, next.MessageID)
	}
}
