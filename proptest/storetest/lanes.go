package storetest

import (
	"slices"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func lanes[Tx any]() []test[Tx] {
	return []test[Tx]{
		{"OneLaneIsInOrder", laneInOrder[Tx]},
		{"OrderIsThatOfTheSteps", laneOfSteps[Tx]},
		{"LanesAreIndependent", lanesIndependent[Tx]},
		{"ARetryHoldsTheLane", retryHolds[Tx]},
		{"ADeadLetterBlocksUntilRequeued", deadLetterRequeued[Tx]},
		{"ADeadLetterBlocksUntilDiscarded", deadLetterDiscarded[Tx]},
		{"CancelledWorkBlocksNothing", cancelledBlocksNothing[Tx]},
	}
}

// laneInOrder sends the last first: the order is that of the step.
func laneInOrder[Tx any](b *bench[Tx]) {
	h := b.deal()
	first, second, third := b.message(h, 1, "kafka"), b.message(h, 2, "kafka"), b.message(h, 3, "kafka")
	b.send(h, third)
	b.send(h, second, first)
	for i, want := range []store.OutboxMessage{first, second, third} {
		tasks := b.claims(901+i, epoch)
		if got := messages(tasks); !slices.Equal(got, []string{want.MessageID}) {
			b.Fatalf("turn %d: claimed %v, want %s", i, got, want.MessageID)
		}
		b.must(b.settle(delivered(tasks[0], epoch)))
	}
}

// laneOfSteps has a small place in a later step behind a large one in an
// earlier.
func laneOfSteps[Tx any](b *bench[Tx]) {
	h := b.deal()
	early := b.message(h, 9, "kafka")
	h = b.fire(h, deal.SubmitOffer{}, advertiser)
	late := b.message(h, 1, "kafka")
	b.send(h, late, early)
	if got := messages(b.claims(901, epoch)); !slices.Equal(got, []string{early.MessageID}) {
		b.Fatalf("claimed %v, want %s", got, early.MessageID)
	}
}

func lanesIndependent[Tx any](b *bench[Tx]) {
	h, other := b.deal(), b.deal()
	b.send(h, b.message(h, 1, "kafka"), b.message(h, 2, "ton"))
	b.send(other, b.message(other, 1, "kafka"))
	if tasks := b.claims(901, epoch); len(tasks) != 3 {
		b.Fatalf("claimed %s", text(tasks))
	}
}

func retryHolds[Tx any](b *bench[Tx]) {
	h := b.deal()
	b.send(h, b.message(h, 1, "kafka"), b.message(h, 2, "kafka"))
	task := b.claims(901, epoch)[0]
	b.must(b.settle(outcome(task, store.MessageState{State: "retry_wait", AvailableAt: fsm.Some(epoch.AddDate(0, 0, 1)), LastError: "x"})))
	if tasks := b.claims(902, epoch); len(tasks) != 0 {
		b.Fatalf("it was overtaken by %s", text(tasks))
	}
}

func deadLetterRequeued[Tx any](b *bench[Tx]) {
	h := b.deal()
	row := b.dead(h, 1, "kafka")
	behind := b.message(h, 2, "kafka")
	b.send(h, behind)
	if tasks := b.claims(901, epoch); len(tasks) != 0 {
		b.Fatalf("it was overtaken by %s", text(tasks))
	}
	b.must(b.settle(person(row, store.MessageState{State: "pending", AvailableAt: fsm.Some(epoch), LastError: row.LastError, Resolution: "ann: fixed"})))
	tasks := b.claims(901, epoch)
	if got := messages(tasks); !slices.Equal(got, []string{row.MessageID}) {
		b.Fatalf("claimed %v, want %s", got, row.MessageID)
	}
	b.must(b.settle(delivered(tasks[0], epoch)))
	if got := messages(b.claims(902, epoch)); !slices.Equal(got, []string{behind.MessageID}) {
		b.Fatalf("claimed %v, want %s", got, behind.MessageID)
	}
}

func deadLetterDiscarded[Tx any](b *bench[Tx]) {
	h := b.deal()
	row := b.dead(h, 1, "kafka")
	behind := b.message(h, 2, "kafka")
	b.send(h, behind)
	l := row.MessageState
	l.DiscardedAt, l.Resolution = fsm.Some(epoch), "ann: moot"
	b.must(b.settle(person(row, l)))
	if got := messages(b.claims(901, epoch)); !slices.Equal(got, []string{behind.MessageID}) {
		b.Fatalf("claimed %v, want %s", got, behind.MessageID)
	}
}

func cancelledBlocksNothing[Tx any](b *bench[Tx]) {
	h := b.deal()
	b.send(h, b.work(h, 1, "ton"))
	c, h := b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
	c.CancelWork = true
	next := b.message(h, 1, "ton")
	c.Outbox = []store.OutboxMessage{next}
	b.must(b.save(c))
	if got := messages(b.claims(901, epoch)); !slices.Equal(got, []string{next.MessageID}) {
		b.Fatalf("claimed %v, want %s", got, next.MessageID)
	}
}
