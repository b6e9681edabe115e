package storetest

import (
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func deadlines[Tx any]() []test[Tx] {
	return []test[Tx]{
		{"ADueDeadlineIsClaimed", dueDeadline[Tx]},
		{"AnArmingReplaces", armingReplaces[Tx]},
		{"AnArmingOfAnEarlierStepChangesNothing", armingOfAnEarlierStep[Tx]},
		{"AnArmingKeepsNoLease", armingKeepsNoLease[Tx]},
		{"DisarmingRemoves", disarming[Tx]},
		{"KindsAreIndependent", kindsIndependent[Tx]},
		{"AnExpiredLeaseIsClaimedAgain", deadlineRecovered[Tx]},
		{"ALateDeadlineIsFenced", lateDeadline[Tx]},
		{"AFiredDeadlineIsConsumedWithItsEvent", firedDeadline[Tx]},
		{"TheEarliestComesFirst", earliestFirst[Tx]},
	}
}

// armed saves a deal with a deadline that is due now.
func (b *bench[Tx]) armed() (head[Tx], store.Deadline) {
	b.Helper()
	c, h := b.commit(b.deal(), deal.SubmitOffer{}, advertiser, epoch)
	t := b.deadline(h, epoch)
	c.SetDeadlines = []store.Deadline{t}
	b.must(b.save(c))
	return h, t
}

func consumed(t store.Task) store.Settlement {
	d := t.Deadline
	return store.Settlement{Kind: store.TaskDeadline, Token: t.Token, Machine: d.Machine, RecordID: d.RecordID, Deadline: d.Kind}
}

func dueDeadline[Tx any](b *bench[Tx]) {
	_, want := b.armed()
	if tasks := b.claims(901, epoch.Add(-time.Microsecond)); len(tasks) != 0 {
		b.Fatalf("claimed too early: %s", text(tasks))
	}
	tasks := b.claims(901, epoch)
	if len(tasks) != 1 || tasks[0].Kind != store.TaskDeadline || tasks[0].Token != uuid(901) || text(tasks[0].Deadline) != text(want) {
		b.Fatalf("claimed %s, want %s", text(tasks), text(want))
	}
	if again := b.claims(902, epoch); len(again) != 0 {
		b.Fatalf("claimed again: %s", text(again))
	}
	b.must(b.settle(consumed(tasks[0])))
	b.counts("fsm_deadlines", 0)
}

func armingReplaces[Tx any](b *bench[Tx]) {
	h, t := b.armed()
	t.DueAt, t.Version = epoch.Add(time.Hour), 3
	c := b.about(h)
	c.SetDeadlines = []store.Deadline{t}
	b.must(b.save(c))
	b.counts("fsm_deadlines", 1)
	if tasks := b.claims(901, epoch); len(tasks) != 0 {
		b.Fatalf("the old arming fires: %s", text(tasks))
	}
	if tasks := b.claims(901, t.DueAt); len(tasks) != 1 || tasks[0].Deadline.Version != 3 {
		b.Fatalf("claimed %s", text(tasks))
	}
}

// armingOfAnEarlierStep leaves the deadline of a later step as it is, and so does
// one of the same step.
func armingOfAnEarlierStep[Tx any](b *bench[Tx]) {
	h, t := b.armed()
	c := b.about(h)
	for _, version := range []int64{t.Version, t.Version - 1} {
		again := t
		again.DueAt, again.Version = epoch.Add(time.Hour), version
		c.SetDeadlines = []store.Deadline{again}
		b.must(b.save(c))
	}
	if tasks := b.claims(901, epoch); len(tasks) != 1 || text(tasks[0].Deadline) != text(t) {
		b.Fatalf("claimed %s, want %s", text(tasks), text(t))
	}
}

// armingKeepsNoLease arms again what a worker holds: it is due before the lease
// would be over.
func armingKeepsNoLease[Tx any](b *bench[Tx]) {
	h, t := b.armed()
	held := b.claims(901, epoch)[0]
	t.DueAt, t.Version = epoch.Add(time.Second), t.Version+1
	c := b.about(h)
	c.SetDeadlines = []store.Deadline{t}
	b.must(b.save(c))
	b.wants(b.settle(consumed(held)), store.ErrLeaseLost)
	if tasks := b.claims(902, t.DueAt); len(tasks) != 1 {
		b.Fatalf("claimed %s", text(tasks))
	}
}

func disarming[Tx any](b *bench[Tx]) {
	h, _ := b.armed()
	c, _ := b.commit(h, deal.Accept{}, owner, epoch)
	c.ClearDeadlines = []store.DeadlineKind{store.DeadlineTimeout, store.DeadlineRaise}
	b.must(b.save(c))
	b.counts("fsm_deadlines", 0)
}

func kindsIndependent[Tx any](b *bench[Tx]) {
	h, t := b.armed()
	t.Kind = store.DeadlineRaise
	c := b.about(h)
	c.SetDeadlines = []store.Deadline{t}
	b.must(b.save(c))
	b.counts("fsm_deadlines", 2)
	c.SetDeadlines, c.ClearDeadlines = nil, []store.DeadlineKind{store.DeadlineTimeout}
	b.must(b.save(c))
	tasks := b.claims(901, epoch)
	if len(tasks) != 1 || tasks[0].Deadline.Kind != store.DeadlineRaise {
		b.Fatalf("claimed %s", text(tasks))
	}
}

func deadlineRecovered[Tx any](b *bench[Tx]) {
	b.armed()
	first := b.claims(901, epoch)[0]
	again := b.claims(902, epoch.Add(time.Minute))
	if len(again) != 1 {
		b.Fatalf("after the lease it claimed %s", text(again))
	}
	b.wants(b.settle(consumed(first)), store.ErrLeaseLost)
	b.must(b.settle(consumed(again[0])))
}

// lateDeadline leaves the state, and arms another deadline, while a worker holds
// the first one.
func lateDeadline[Tx any](b *bench[Tx]) {
	h, t := b.armed()
	task := b.claims(901, epoch)[0]
	c, h := b.commit(h, deal.CounterOffer{PriceNano: 90}, owner, epoch)
	t.Version, t.DueAt = h.version, epoch.Add(time.Hour)
	c.ClearDeadlines, c.SetDeadlines = []store.DeadlineKind{store.DeadlineTimeout}, []store.Deadline{t}
	b.must(b.save(c))

	if row := b.load(h, store.Query{Task: &store.TaskRef{Kind: store.TaskDeadline, Deadline: t.Kind, Token: task.Token}}); row.Held {
		b.Error("the old arming is still held")
	}
	late, _ := b.commit(h, deal.Expire{}, deal.BySystem().Caller(), epoch)
	s := consumed(task)
	late.Task = &s
	b.wants(b.save(late), store.ErrLeaseLost)
	b.stands(h)
	b.counts("fsm_deadlines", 1)
}

func firedDeadline[Tx any](b *bench[Tx]) {
	h, t := b.armed()
	task := b.claims(901, epoch)[0]
	if row := b.load(h, store.Query{Task: &store.TaskRef{Kind: store.TaskDeadline, Deadline: t.Kind, Token: task.Token}}); !row.Held {
		b.Error("a claimed deadline is not held")
	}
	c, next := b.commit(h, deal.Expire{}, deal.BySystem().Caller(), epoch)
	s := consumed(task)
	c.Task, c.ClearDeadlines = &s, []store.DeadlineKind{store.DeadlineTimeout}
	b.must(b.save(c))
	b.stands(next)
	b.counts("fsm_deadlines", 0)
}

func earliestFirst[Tx any](b *bench[Tx]) {
	var want []string
	for i, r := range []head[Tx]{b.deal(), b.walRecord("s3://a"), b.deal()} {
		c := b.about(r)
		c.SetDeadlines = []store.Deadline{b.deadline(r, epoch.Add(-time.Duration(i)*time.Hour))}
		b.must(b.save(c))
		want = append([]string{r.id}, want...)
	}
	var got []string
	for _, t := range b.claims(901, epoch) {
		got = append(got, t.Deadline.RecordID)
	}
	if text(got) != text(want) {
		b.Fatalf("claimed %v, want %v", got, want)
	}
}
