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

// faultyStore is a worker's way to the database, on which the seed lets it fall. Once
// the worker is dead nothing it does reaches the database.
type faultyStore[Tx any] struct {
	store.Store[Tx]
	play   *play[Tx]
	worker string
	lack   lack // of the version of the worker
	dead   atomic.Bool
	// keepOpen: the transaction under way is not to be committed by Save.
	keepOpen atomic.Bool
	// after is what to note when the transaction under way is committed.
	after []func()
	// number is that of the transaction under way.
	number int
	// gate is where rounds that are under way at once wait for their turn.
	gate *gate
	// spoilt: the next transaction of several answers fails.
	spoilt bool
}

// InTx runs f, and lets others in before and after.
func (s *faultyStore[Tx]) InTx(ctx context.Context, f func(Tx) error) error {
	if s.gate != nil {
		s.gate.enter(ctx)
	}
	s.play.interlude()
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
	s.play.transactions++
	s.number = s.play.transactions
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
	s.play.interlude()
	return nil
}

// fault draws what goes wrong.
func (s *faultyStore[Tx]) fault() fault {
	if s.play.calm {
		return none
	}
	f := draw(s.play.dice, faults)
	if f != none {
		s.play.journal.count("a fault of the store")
		s.play.journal.count(string(f))
		s.play.journal.say("  fault: %s", f)
	}
	return f
}

// Save keeps the transaction open where it is to be undone: a store that commits
// within Save would not let it.
func (s *faultyStore[Tx]) Save(ctx context.Context, tx Tx, commits []store.Commit) error {
	if s.keepOpen.Load() {
		commits = slices.Clone(commits)
		commits[len(commits)-1].Last = false
	}
	if err := s.spoil(answersOf(commits)); err != nil {
		return err
	}
	number := s.number
	s.after = append(s.after, func() { s.play.outside.saved(number, commits) })
	return reworded(s.Store.Save(ctx, tx, commits), commits)
}

// answersOf counts the tasks of effects that commits end by an event.
func answersOf(commits []store.Commit) (n int) {
	for _, c := range commits {
		if c.Task != nil && c.Task.Kind == store.TaskEffect && len(c.Steps) > 0 {
			n++
		}
	}
	return n
}

var errWorded = errors.New("the database says no")

// reworded leaves out how a driver words a refusal: a record may keep it, and
// each store has its own words. A step that starts another record can meet several
// objections at once, of which each store names another: they become one.
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

// Claim leases work. What is due at the same time comes in an order that a store
// may choose; the play needs one for all stores.
func (s *faultyStore[Tx]) Claim(ctx context.Context, c store.Claim) ([]store.Task, error) {
	if s.gate != nil {
		c.Effects, c.Deadlines = 1, 0
	}
	s.play.interlude()
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
	s.play.noteTakeOvers(c, tasks)
	s.play.outside.claimed(c, tasks)
	if err := s.leave(ctx, c, tasks); err != nil {
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
	s.play.interlude()
	return tasks, nil
}

// inOrder is the order of a claim, and one for what is due at once.
func inOrder(a, b store.Task) int {
	return cmp.Or(
		-cmp.Compare(a.Kind, b.Kind), // effects before deadlines
		a.Effect.AvailableAt.V.Compare(b.Effect.AvailableAt.V), cmp.Compare(a.Effect.Version, b.Effect.Version),
		cmp.Compare(a.Effect.Seq, b.Effect.Seq), cmp.Compare(a.Effect.MessageID, b.Effect.MessageID),
		a.Deadline.DueAt.Compare(b.Deadline.DueAt), cmp.Compare(a.Deadline.Machine, b.Deadline.Machine),
		cmp.Compare(a.Deadline.RecordID, b.Deadline.RecordID), cmp.Compare(a.Deadline.Kind, b.Deadline.Kind),
	)
}

// Settle notes what it settled.
func (s *faultyStore[Tx]) Settle(ctx context.Context, tx Tx, t store.Settlement) error {
	s.after = append(s.after, func() { s.play.outside.settled(t) })
	return s.Store.Settle(ctx, tx, t)
}

// Read fails now and then. While an engine reads the pauses nothing else happens: its
// other callers wait for them.
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
	if !s.play.calm && s.play.dice.chance(20) {
		return store.Page{}, store.Failed("read", errInjected)
	}
	page, err := s.Store.Read(ctx, q)
	for i := range page.Records {
		s.unread(&page.Records[i], q.Machine)
	}
	return page, err
}

// Time is that of the database; it can't always be had. Nothing else happens
// meanwhile: an engine that asks makes its other callers wait.
func (s *faultyStore[Tx]) Time(context.Context) (time.Time, error) {
	if s.dead.Load() {
		return time.Time{}, errDead
	}
	if err := s.connect(); err != nil {
		return time.Time{}, err
	}
	if !s.play.calm && s.play.dice.chance(100) {
		s.play.journal.count("the store does not tell the time")
		return time.Time{}, store.Failed("time", errInjected)
	}
	return s.play.clock.Now(), nil
}
