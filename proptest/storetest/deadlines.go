package storetest

import (
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func deadlines[Tx any]() []storeCase[Tx] {
	return []storeCase[Tx]{
		{"ADueDeadlineIsClaimed", dueDeadline[Tx]},
		{"ASetDeadlineReplaces", deadlineReplaces[Tx]},
		{"ADeadlineOfAnEarlierStepChangesNothing", deadlineOfAnEarlierStep[Tx]},
		{"ANewDeadlineEndsTheLease", newDeadlineEndsLease[Tx]},
		{"ClearingRemoves", clearDeadline[Tx]},
		{"KindsAreIndependent", kindsIndependent[Tx]},
		{"AnExpiredLeaseIsClaimedAgain", deadlineRecovered[Tx]},
		{"ALateDeadlineIsFenced", lateDeadline[Tx]},
		{"AFiredDeadlineIsConsumedWithItsEvent", firedDeadline[Tx]},
		{"TheEarliestComesFirst", earliestFirst[Tx]},
	}
}

// dealWithDeadline saves a deal with a deadline that is due now.
func (f *fixture[Tx]) dealWithDeadline() (versioned[Tx], store.Deadline) {
	f.Helper()
	c, h := f.commit(f.deal(), deal.SubmitOffer{}, advertiser, startTime)
	t := f.deadline(h, startTime)
	c.SetDeadlines = []store.Deadline{t}
	f.must(f.save(c))
	return h, t
}

func consumed(t store.Task) store.Settlement {
	d := t.Deadline
	return store.Settlement{Kind: store.TaskDeadline, Token: t.Token, Machine: d.Machine, RecordID: d.RecordID, Deadline: d.Kind}
}

func dueDeadline[Tx any](f *fixture[Tx]) {
	_, want := f.dealWithDeadline()
	if tasks := f.claimAll(901, startTime.Add(-time.Microsecond)); len(tasks) != 0 {
		f.Fatalf("claimed too early: %s", text(tasks))
	}
	tasks := f.claimAll(901, startTime)
	if len(tasks) != 1 || tasks[0].Kind != store.TaskDeadline || tasks[0].Token != uuid(901) || text(tasks[0].Deadline) != text(want) {
		f.Fatalf("claimed %s, want %s", text(tasks), text(want))
	}
	if again := f.claimAll(902, startTime); len(again) != 0 {
		f.Fatalf("claimed again: %s", text(again))
	}
	f.must(f.settle(consumed(tasks[0])))
	f.wantCount("fsm_deadlines", 0)
}

func deadlineReplaces[Tx any](f *fixture[Tx]) {
	h, t := f.dealWithDeadline()
	t.DueAt, t.Version = startTime.Add(time.Hour), 3
	c := f.emptyCommit(h)
	c.SetDeadlines = []store.Deadline{t}
	f.must(f.save(c))
	f.wantCount("fsm_deadlines", 1)
	if tasks := f.claimAll(901, startTime); len(tasks) != 0 {
		f.Fatalf("the old deadline fires: %s", text(tasks))
	}
	if tasks := f.claimAll(901, t.DueAt); len(tasks) != 1 || tasks[0].Deadline.Version != 3 {
		f.Fatalf("claimed %s", text(tasks))
	}
}

// deadlineOfAnEarlierStep sets a deadline of an earlier step, and one of the same step.
// Neither replaces the stored deadline.
func deadlineOfAnEarlierStep[Tx any](f *fixture[Tx]) {
	h, t := f.dealWithDeadline()
	c := f.emptyCommit(h)
	for _, version := range []int64{t.Version, t.Version - 1} {
		again := t
		again.DueAt, again.Version = startTime.Add(time.Hour), version
		c.SetDeadlines = []store.Deadline{again}
		f.must(f.save(c))
	}
	if tasks := f.claimAll(901, startTime); len(tasks) != 1 || text(tasks[0].Deadline) != text(t) {
		f.Fatalf("claimed %s, want %s", text(tasks), text(t))
	}
}

// newDeadlineEndsLease replaces a deadline that a worker has claimed. The new one is due
// before the lease would end.
func newDeadlineEndsLease[Tx any](f *fixture[Tx]) {
	h, t := f.dealWithDeadline()
	held := f.claimAll(901, startTime)[0]
	t.DueAt, t.Version = startTime.Add(time.Second), t.Version+1
	c := f.emptyCommit(h)
	c.SetDeadlines = []store.Deadline{t}
	f.must(f.save(c))
	f.wantError(f.settle(consumed(held)), store.ErrLeaseLost)
	if tasks := f.claimAll(902, t.DueAt); len(tasks) != 1 {
		f.Fatalf("claimed %s", text(tasks))
	}
}

func clearDeadline[Tx any](f *fixture[Tx]) {
	h, _ := f.dealWithDeadline()
	c, _ := f.commit(h, deal.Accept{}, owner, startTime)
	c.ClearDeadlines = []store.DeadlineKind{store.DeadlineTimeout, store.DeadlineRaise}
	f.must(f.save(c))
	f.wantCount("fsm_deadlines", 0)
}

func kindsIndependent[Tx any](f *fixture[Tx]) {
	h, t := f.dealWithDeadline()
	t.Kind = store.DeadlineRaise
	c := f.emptyCommit(h)
	c.SetDeadlines = []store.Deadline{t}
	f.must(f.save(c))
	f.wantCount("fsm_deadlines", 2)
	c.SetDeadlines, c.ClearDeadlines = nil, []store.DeadlineKind{store.DeadlineTimeout}
	f.must(f.save(c))
	tasks := f.claimAll(901, startTime)
	if len(tasks) != 1 || tasks[0].Deadline.Kind != store.DeadlineRaise {
		f.Fatalf("claimed %s", text(tasks))
	}
}

func deadlineRecovered[Tx any](f *fixture[Tx]) {
	f.dealWithDeadline()
	first := f.claimAll(901, startTime)[0]
	again := f.claimAll(902, startTime.Add(time.Minute))
	if len(again) != 1 {
		f.Fatalf("after the lease it claimed %s", text(again))
	}
	f.wantError(f.settle(consumed(first)), store.ErrLeaseLost)
	f.must(f.settle(consumed(again[0])))
}

// lateDeadline leaves the state, and sets another deadline, while a worker holds the
// first one.
func lateDeadline[Tx any](f *fixture[Tx]) {
	h, t := f.dealWithDeadline()
	task := f.claimAll(901, startTime)[0]
	c, h := f.commit(h, deal.CounterOffer{PriceNano: 90}, owner, startTime)
	t.Version, t.DueAt = h.version, startTime.Add(time.Hour)
	c.ClearDeadlines, c.SetDeadlines = []store.DeadlineKind{store.DeadlineTimeout}, []store.Deadline{t}
	f.must(f.save(c))

	if row := f.load(h, store.Query{Task: &store.TaskRef{Kind: store.TaskDeadline, Deadline: t.Kind, Token: task.Token}}); row.Held {
		f.Error("the old deadline is still held")
	}
	late, _ := f.commit(h, deal.Expire{}, deal.BySystem().Caller(), startTime)
	s := consumed(task)
	late.Task = &s
	f.wantError(f.save(late), store.ErrLeaseLost)
	f.wantStored(h)
	f.wantCount("fsm_deadlines", 1)
}

func firedDeadline[Tx any](f *fixture[Tx]) {
	h, t := f.dealWithDeadline()
	task := f.claimAll(901, startTime)[0]
	if row := f.load(h, store.Query{Task: &store.TaskRef{Kind: store.TaskDeadline, Deadline: t.Kind, Token: task.Token}}); !row.Held {
		f.Error("a claimed deadline is not held")
	}
	c, next := f.commit(h, deal.Expire{}, deal.BySystem().Caller(), startTime)
	s := consumed(task)
	c.Task, c.ClearDeadlines = &s, []store.DeadlineKind{store.DeadlineTimeout}
	f.must(f.save(c))
	f.wantStored(next)
	f.wantCount("fsm_deadlines", 0)
}

func earliestFirst[Tx any](f *fixture[Tx]) {
	var want []string
	for i, r := range []versioned[Tx]{f.deal(), f.walRecord("s3://a"), f.deal()} {
		c := f.emptyCommit(r)
		c.SetDeadlines = []store.Deadline{f.deadline(r, startTime.Add(-time.Duration(i)*time.Hour))}
		f.must(f.save(c))
		want = append([]string{r.id}, want...)
	}
	var got []string
	for _, t := range f.claimAll(901, startTime) {
		got = append(got, t.Deadline.RecordID)
	}
	if text(got) != text(want) {
		f.Fatalf("claimed %v, want %v", got, want)
	}
}
