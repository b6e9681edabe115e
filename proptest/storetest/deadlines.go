package storetest

import (
	"time"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
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
func (f *Fixture[Tx]) dealWithDeadline() (Versioned, store.Deadline) {
	f.Helper()
	c, h := f.commit(f.deal(), deal.SubmitOffer{}, Advertiser, StartTime)
	t := f.Deadline(h, StartTime)
	c.SetDeadlines = []store.Deadline{t}
	f.Must(f.Save(c))
	return h, t
}

func consumed(t store.Task) store.Settlement {
	d := t.Deadline
	return store.Settlement{Kind: store.TaskDeadline, Token: t.Token, Machine: d.Machine, RecordID: d.RecordID, Deadline: d.Kind}
}

func dueDeadline[Tx any](f *Fixture[Tx]) {
	_, want := f.dealWithDeadline()
	if tasks := f.claimAll(901, StartTime.Add(-time.Microsecond)); len(tasks) != 0 {
		f.Fatalf("claimed too early: %s", Text(tasks))
	}
	tasks := f.claimAll(901, StartTime)
	if len(tasks) != 1 || tasks[0].Kind != store.TaskDeadline || tasks[0].Token != UUID(901) || Text(tasks[0].Deadline) != Text(want) {
		f.Fatalf("claimed %s, want %s", Text(tasks), Text(want))
	}
	if again := f.claimAll(902, StartTime); len(again) != 0 {
		f.Fatalf("claimed again: %s", Text(again))
	}
	f.Must(f.settle(consumed(tasks[0])))
	f.WantCount("fsm_deadlines", 0)
}

func deadlineReplaces[Tx any](f *Fixture[Tx]) {
	h, t := f.dealWithDeadline()
	t.DueAt, t.Version = StartTime.Add(time.Hour), 3
	c := f.EmptyCommit(h)
	c.SetDeadlines = []store.Deadline{t}
	f.Must(f.Save(c))
	f.WantCount("fsm_deadlines", 1)
	if tasks := f.claimAll(901, StartTime); len(tasks) != 0 {
		f.Fatalf("the old deadline fires: %s", Text(tasks))
	}
	if tasks := f.claimAll(901, t.DueAt); len(tasks) != 1 || tasks[0].Deadline.Version != 3 {
		f.Fatalf("claimed %s", Text(tasks))
	}
}

// deadlineOfAnEarlierStep sets a deadline of an earlier step, and one of the same step.
// Neither replaces the stored deadline.
func deadlineOfAnEarlierStep[Tx any](f *Fixture[Tx]) {
	h, t := f.dealWithDeadline()
	c := f.EmptyCommit(h)
	for _, version := range []int64{t.Version, t.Version - 1} {
		again := t
		again.DueAt, again.Version = StartTime.Add(time.Hour), version
		c.SetDeadlines = []store.Deadline{again}
		f.Must(f.Save(c))
	}
	if tasks := f.claimAll(901, StartTime); len(tasks) != 1 || Text(tasks[0].Deadline) != Text(t) {
		f.Fatalf("claimed %s, want %s", Text(tasks), Text(t))
	}
}

// newDeadlineEndsLease replaces a deadline that a worker has claimed. The new one is due
// before the lease would end.
func newDeadlineEndsLease[Tx any](f *Fixture[Tx]) {
	h, t := f.dealWithDeadline()
	held := f.claimAll(901, StartTime)[0]
	t.DueAt, t.Version = StartTime.Add(time.Second), t.Version+1
	c := f.EmptyCommit(h)
	c.SetDeadlines = []store.Deadline{t}
	f.Must(f.Save(c))
	f.WantError(f.settle(consumed(held)), store.ErrLeaseLost)
	if tasks := f.claimAll(902, t.DueAt); len(tasks) != 1 {
		f.Fatalf("claimed %s", Text(tasks))
	}
}

func clearDeadline[Tx any](f *Fixture[Tx]) {
	h, _ := f.dealWithDeadline()
	c, _ := f.commit(h, deal.Accept{}, Owner, StartTime)
	c.ClearDeadlines = []store.DeadlineKind{store.DeadlineTimeout, store.DeadlineRaise}
	f.Must(f.Save(c))
	f.WantCount("fsm_deadlines", 0)
}

func kindsIndependent[Tx any](f *Fixture[Tx]) {
	h, t := f.dealWithDeadline()
	t.Kind = store.DeadlineRaise
	c := f.EmptyCommit(h)
	c.SetDeadlines = []store.Deadline{t}
	f.Must(f.Save(c))
	f.WantCount("fsm_deadlines", 2)
	c.SetDeadlines, c.ClearDeadlines = nil, []store.DeadlineKind{store.DeadlineTimeout}
	f.Must(f.Save(c))
	tasks := f.claimAll(901, StartTime)
	if len(tasks) != 1 || tasks[0].Deadline.Kind != store.DeadlineRaise {
		f.Fatalf("claimed %s", Text(tasks))
	}
}

func deadlineRecovered[Tx any](f *Fixture[Tx]) {
	f.dealWithDeadline()
	first := f.claimAll(901, StartTime)[0]
	again := f.claimAll(902, StartTime.Add(time.Minute))
	if len(again) != 1 {
		f.Fatalf("after the lease it claimed %s", Text(again))
	}
	f.WantError(f.settle(consumed(first)), store.ErrLeaseLost)
	f.Must(f.settle(consumed(again[0])))
}

// lateDeadline leaves the state, and sets another deadline, while a worker holds the
// first one.
func lateDeadline[Tx any](f *Fixture[Tx]) {
	h, t := f.dealWithDeadline()
	task := f.claimAll(901, StartTime)[0]
	c, h := f.commit(h, deal.CounterOffer{PriceNano: 90}, Owner, StartTime)
	t.Version, t.DueAt = h.version, StartTime.Add(time.Hour)
	c.ClearDeadlines, c.SetDeadlines = []store.DeadlineKind{store.DeadlineTimeout}, []store.Deadline{t}
	f.Must(f.Save(c))

	if row := f.load(h, store.Query{Task: &store.TaskRef{Kind: store.TaskDeadline, Deadline: t.Kind, Token: task.Token}}); row.Held {
		f.Error("the old deadline is still held")
	}
	late, _ := f.commit(h, deal.Expire{}, deal.BySystem().Caller(), StartTime)
	s := consumed(task)
	late.Task = &s
	f.WantError(f.Save(late), store.ErrLeaseLost)
	f.wantStored(h)
	f.WantCount("fsm_deadlines", 1)
}

func firedDeadline[Tx any](f *Fixture[Tx]) {
	h, t := f.dealWithDeadline()
	task := f.claimAll(901, StartTime)[0]
	if row := f.load(h, store.Query{Task: &store.TaskRef{Kind: store.TaskDeadline, Deadline: t.Kind, Token: task.Token}}); !row.Held {
		f.Error("a claimed deadline is not held")
	}
	c, next := f.commit(h, deal.Expire{}, deal.BySystem().Caller(), StartTime)
	s := consumed(task)
	c.Task, c.ClearDeadlines = &s, []store.DeadlineKind{store.DeadlineTimeout}
	f.Must(f.Save(c))
	f.wantStored(next)
	f.WantCount("fsm_deadlines", 0)
}

func earliestFirst[Tx any](f *Fixture[Tx]) {
	var want []string
	for i, r := range []Versioned{f.deal(), f.walRecord("s3://a"), f.deal()} {
		c := f.EmptyCommit(r)
		c.SetDeadlines = []store.Deadline{f.Deadline(r, StartTime.Add(-time.Duration(i)*time.Hour))}
		f.Must(f.Save(c))
		want = append([]string{r.id}, want...)
	}
	var got []string
	for _, t := range f.claimAll(901, StartTime) {
		got = append(got, t.Deadline.RecordID)
	}
	if Text(got) != Text(want) {
		f.Fatalf("claimed %v, want %v", got, want)
	}
}
