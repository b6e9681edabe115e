package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// fault is what goes wrong with a transaction or a claim.
type fault string

// The faults.
const (
	none      fault = ""
	refused   fault = "the store fails at once"
	undone    fault = "the store fails before the commit"
	unknown   fault = "the store fails after the commit"
	conflict  fault = "the commit is a conflict"
	dies      fault = "the worker dies before the commit"
	diesAfter fault = "the worker dies after the commit"
)

var faults = []weighted[fault]{{900, none}, {15, refused}, {20, undone}, {25, unknown}, {25, conflict}, {7, dies}, {8, diesAfter}}

// What a store says about the faults.
var (
	errInjected = errors.New("injected")
	errDead     = errors.New("this worker is dead")
)

// faultyStore is a worker's store with random faults. Once the worker is dead nothing it
// does reaches the database.
type faultyStore[Tx any] struct {
	store.Store[Tx]
	run    *run[Tx]
	worker string
	lack   lack // what the version of the worker lacks
	dead   atomic.Bool
	// keepOpen tells Save not to commit the open transaction.
	keepOpen atomic.Bool
	// after is called when the open transaction is committed.
	after []func()
	// number is that of the open transaction.
	number int
	// gate orders concurrent rounds.
	gate *gate
	// failNext makes the next transaction with several answers fail.
	failNext bool
}

// InTx runs f with faults. Other actions may run before and after.
func (s *faultyStore[Tx]) InTx(ctx context.Context, f func(Tx) error) error {
	if s.gate != nil {
		s.gate.enter(ctx)
	}
	s.run.interleave()
	if s.dead.Load() {
		return errDead
	}
	if err := s.reach(); err != nil {
		return err
	}
	fault := s.fault()
	if fault == refused {
		return store.Failed("begin", errInjected)
	}
	s.keepOpen.Store(fault == undone || fault == conflict || fault == dies)
	s.after = nil
	s.run.transactions++
	s.number = s.run.transactions
	err := s.Store.InTx(ctx, func(tx Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		switch fault {
		case undone:
			return store.Failed("commit", errInjected)
		case conflict:
			return fmt.Errorf("%w: %w", store.ErrConflict, errInjected)
		case dies:
			s.dead.Store(true)
			return errDead
		}
		return nil
	})
	s.keepOpen.Store(false)
	if err != nil {
		return err
	}
	for _, note := range s.after {
		note()
	}
	switch fault {
	case unknown:
		return store.Failed("commit", errInjected)
	case diesAfter:
		s.dead.Store(true)
		return errDead
	}
	s.run.interleave()
	return nil
}

// fault chooses what goes wrong.
func (s *faultyStore[Tx]) fault() fault {
	if s.run.noFaults {
		return none
	}
	f := draw(s.run.rng, faults)
	if f != none {
		s.run.log.count("a fault of the store")
		s.run.log.count(string(f))
		s.run.log.printf("  fault: %s", f)
	}
	return f
}

// Save keeps the transaction open if it is to be rolled back, since a store may commit
// within Save.
func (s *faultyStore[Tx]) Save(ctx context.Context, tx Tx, commits []store.Commit) error {
	if s.keepOpen.Load() {
		commits = slices.Clone(commits)
		commits[len(commits)-1].Last = false
	}
	if err := s.failOnce(answersOf(commits)); err != nil {
		return err
	}
	number := s.number
	s.after = append(s.after, func() { s.run.outside.saved(number, commits) })
	return reworded(s.Store.Save(ctx, tx, commits), commits)
}

// answersOf counts the effect tasks that the commits end with an event.
func answersOf(commits []store.Commit) (n int) {
	for _, c := range commits {
		if c.Task != nil && c.Task.Kind == store.TaskEffect && len(c.Steps) > 0 {
			n++
		}
	}
	return n
}

var errWorded = errors.New("the database says no")

// reworded replaces the words of the driver in a refusal. A record may store them, and
// each store has its own. A step that starts another record can be refused for several
// reasons, of which each store may report another: they become one.
func reworded(err error, commits []store.Commit) error {
	var refused *store.RefusedError
	var unique *store.UniqueError
	created := func(c store.Commit) bool { return len(c.Steps) > 0 && c.Steps[0].Version == 1 }
	starts := len(commits) > 1 && slices.ContainsFunc(commits, created)
	switch {
	case starts && (errors.Is(err, store.ErrRefused) || errors.Is(err, store.ErrExists)):
		return &store.RefusedError{Machine: commits[0].Machine, ID: commits[0].ID, Err: errWorded}
	case errors.As(err, &refused):
		return &store.RefusedError{Machine: refused.Machine, ID: refused.ID, Err: errWorded}
	case errors.As(err, &unique):
		return &store.UniqueError{Machine: unique.Machine, ID: unique.ID, Constraint: unique.Constraint, Err: errWorded}
	}
	return err
}

// Claim leases tasks. A store may choose the order of tasks that are due at the same
// time. A run needs one order for all stores.
func (s *faultyStore[Tx]) Claim(ctx context.Context, c store.Claim) ([]store.Task, error) {
	if s.gate != nil {
		c.Effects, c.Deadlines = 1, 0
	}
	s.run.interleave()
	if s.dead.Load() {
		return nil, errDead
	}
	if err := s.reach(); err != nil {
		return nil, err
	}
	fault := s.fault()
	if fault == refused || fault == undone || fault == conflict {
		return nil, store.Failed("claim", errInjected)
	}
	tasks, err := s.Store.Claim(ctx, c)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(tasks, inOrder)
	s.run.noteTakeOvers(c, tasks)
	s.run.outside.claimed(c, tasks)
	if err := s.checkLeft(ctx, c, tasks); err != nil {
		return nil, err
	}
	if s.gate != nil {
		s.gate.claimed = append(s.gate.claimed, tasks...)
	}
	switch fault {
	case unknown:
		return nil, store.Failed("claim", errInjected)
	case dies, diesAfter:
		s.dead.Store(true)
		return nil, errDead
	}
	s.run.interleave()
	return tasks, nil
}

// inOrder is the order of a claim, extended to tasks that are due at the same time.
func inOrder(a, b store.Task) int {
	return cmp.Or(
		-cmp.Compare(a.Kind, b.Kind), // effects before deadlines
		a.Effect.AvailableAt.V.Compare(b.Effect.AvailableAt.V), cmp.Compare(a.Effect.Version, b.Effect.Version),
		cmp.Compare(a.Effect.Seq, b.Effect.Seq), cmp.Compare(a.Effect.MessageID, b.Effect.MessageID),
		a.Deadline.DueAt.Compare(b.Deadline.DueAt), cmp.Compare(a.Deadline.Machine, b.Deadline.Machine),
		cmp.Compare(a.Deadline.RecordID, b.Deadline.RecordID), cmp.Compare(a.Deadline.Kind, b.Deadline.Kind),
	)
}

// Settle records the settlement when the transaction commits.
func (s *faultyStore[Tx]) Settle(ctx context.Context, tx Tx, t store.Settlement) error {
	s.after = append(s.after, func() { s.run.outside.settled(t) })
	return s.Store.Settle(ctx, tx, t)
}

// Read fails now and then. No other action runs while an engine reads the pauses, since
// its other callers wait for them.
func (s *faultyStore[Tx]) Read(ctx context.Context, q store.Read) (store.Page, error) {
	if s.dead.Load() {
		return store.Page{}, errDead
	}
	reach := s.reach
	if q.Kind == store.ReadPauses {
		reach = s.connect
	}
	if err := reach(); err != nil {
		return store.Page{}, err
	}
	if !s.run.noFaults && s.run.rng.chance(20) {
		return store.Page{}, store.Failed("read", errInjected)
	}
	page, err := s.Store.Read(ctx, q)
	for i := range page.Records {
		s.unread(&page.Records[i], q.Machine)
	}
	return page, err
}

// Time is the time of the database. It fails now and then. No other action runs
// meanwhile, since the other callers of an engine wait for it.
func (s *faultyStore[Tx]) Time(context.Context) (time.Time, error) {
	if s.dead.Load() {
		return time.Time{}, errDead
	}
	if err := s.connect(); err != nil {
		return time.Time{}, err
	}
	if !s.run.noFaults && s.run.rng.chance(100) {
		s.run.log.count("the store does not tell the time")
		return time.Time{}, store.Failed("time", errInjected)
	}
	return s.run.clock.Now(), nil
}
