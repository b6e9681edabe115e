package crash

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// failpointStore is a store with points before and after everything that makes something
// durable.
type failpointStore[Tx any] struct {
	store.Store[Tx]
	failpoints *failpoints
	claims     func(by time.Time) // called before a claim, if no transaction is under way; may be nil

	underWay atomic.Int64 // transactions, up to the last point after their commit

	mu    sync.Mutex
	notes map[any]*note // of the transactions under way
}

// note collects the subjects of a transaction and the points that it passes.
type note struct {
	subjects []subject
	leased   []subject // effects that it stores as claimed
	points   []Hit
}

// subject is something that a transaction makes durable.
type subject struct {
	machine string
	kind    Kind
	label   string
}

func newFailpointStore[Tx any](db store.Store[Tx], c *failpoints) *failpointStore[Tx] {
	return &failpointStore[Tx]{Store: db, failpoints: c, notes: map[any]*note{}}
}

// InTx has points around the transaction and right before its commit.
func (s *failpointStore[Tx]) InTx(ctx context.Context, f func(Tx) error) error {
	s.underWay.Add(1)
	defer s.underWay.Add(-1)
	n := &note{}
	if err := s.hit(n, TxBefore); err != nil {
		return err
	}
	err := s.Store.InTx(ctx, func(tx Tx) error {
		s.remember(tx, n)
		defer s.forget(tx)
		if err := f(tx); err != nil {
			return err
		}
		return s.hit(n, CommitBefore)
	})
	if err == nil {
		err = s.hit(n, CommitAfter)
	}
	if err == nil {
		err = s.failpoints.shared.reach(ClaimAfter, n.leased...)
	}
	if err != nil {
		return err
	}
	return s.report(n)
}

// Load has a point before it.
func (s *failpointStore[Tx]) Load(ctx context.Context, tx Tx, queries []store.Query) ([]store.Row, error) {
	if err := s.hit(s.noteOf(tx), LoadBefore); err != nil {
		return nil, err
	}
	return s.Store.Load(ctx, tx, queries)
}

// Save has points around it.
func (s *failpointStore[Tx]) Save(ctx context.Context, tx Tx, commits []store.Commit) error {
	n := s.noteOf(tx)
	for i, c := range commits {
		n.subjects = append(n.subjects, subjectsOf(c, i > 0)...)
		for _, row := range c.Outbox {
			if row.Lease != nil {
				n.leased = append(n.leased, subject{row.Machine, Kind(row.Delivery), row.Effect})
			}
		}
	}
	if s.failpoints.commitsApart() && len(commits) > 0 {
		commits[len(commits)-1].Last = false
	}
	if err := s.hit(n, SaveBefore); err != nil {
		return err
	}
	if err := s.Store.Save(ctx, tx, commits); err != nil {
		return err
	}
	return s.hit(n, SaveAfter)
}

// Settle has points around it.
func (s *failpointStore[Tx]) Settle(ctx context.Context, tx Tx, t store.Settlement) error {
	n := s.noteOf(tx)
	n.subjects = append(n.subjects, subject{kind: settled(t), label: t.MessageID})
	if err := s.hit(n, SettleBefore); err != nil {
		return err
	}
	if err := s.Store.Settle(ctx, tx, t); err != nil {
		return err
	}
	return s.hit(n, SettleAfter)
}

// Claim has points around it. They count for what is claimed.
func (s *failpointStore[Tx]) Claim(ctx context.Context, c store.Claim) ([]store.Task, error) {
	if s.claims != nil && s.underWay.Load() == 0 {
		s.claims(c.Now)
	}
	before := s.failpoints.hit(ClaimBefore)
	tasks, err := s.Store.Claim(ctx, c)
	if err != nil || len(tasks) == 0 {
		return tasks, err
	}
	after := s.failpoints.hit(ClaimAfter)
	for _, t := range tasks {
		x := subject{t.Effect.Machine, Kind(t.Effect.Delivery), t.Effect.Effect}
		if t.Kind == store.TaskDeadline {
			x = subject{t.Deadline.Machine, Deadline, t.Deadline.Event.Name}
		}
		err = errors.Join(err, s.failpoints.pass(ClaimBefore, before, x), s.failpoints.pass(ClaimAfter, after, x), s.failpoints.shared.reach(ClaimAfter, x))
	}
	return tasks, err
}

func (s *failpointStore[Tx]) hit(n *note, p Point) error {
	n.points = append(n.points, Hit{p, s.failpoints.hit(p)})
	return s.failpoints.shared.reach(p, n.subjects...)
}

func (s *failpointStore[Tx]) remember(tx Tx, n *note) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes[tx] = n
}

func (s *failpointStore[Tx]) forget(tx Tx) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.notes, tx)
}

// noteOf returns the note of a transaction, a new one for a caller's own transaction.
func (s *failpointStore[Tx]) noteOf(tx Tx) *note {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.notes[tx]; n != nil {
		return n
	}
	return &note{}
}

// report logs the points of a transaction for each of its subjects. A transaction without
// a subject made nothing durable.
func (s *failpointStore[Tx]) report(n *note) error {
	if !s.failpoints.record {
		return nil
	}
	for _, x := range n.subjects {
		if x.machine == "" { // a settlement names its message only
			page, err := s.Read(context.Background(), store.Read{Kind: store.ReadMessage, MessageID: x.label, Limit: 1})
			if err != nil {
				return err
			}
			for _, row := range page.Messages {
				x.machine, x.label = row.Machine, row.Effect
			}
		}
		for _, p := range n.points {
			if err := s.failpoints.pass(p.Point, p.N, x); err != nil {
				return err
			}
		}
	}
	return nil
}

// subjectsOf returns the subjects of a commit. started says that another commit starts
// the record.
func subjectsOf(c store.Commit, started bool) []subject {
	if len(c.Steps) == 0 {
		if c.Task != nil && c.Task.Kind == store.TaskEffect {
			return []subject{{c.Machine, settled(*c.Task), c.Task.MessageID}}
		}
		return nil
	}
	first := c.Steps[0]
	x := subject{c.Machine, Fire, first.Transition}
	switch {
	case started:
		x.kind = Started
	case c.Task != nil && c.Task.Kind == store.TaskDeadline:
		x.kind = Deadline
	case c.Task != nil:
		x.kind = Answer
	case first.From == "":
		x.kind = Create
	}
	out := []subject{x}
	if len(c.Steps) > 1 {
		out = append(out, subject{c.Machine, Chain, first.Transition})
	}
	return out
}

// settled returns the kind of a settlement.
func settled(t store.Settlement) Kind {
	switch t.MessageState.State {
	case "retry_wait":
		return Retry
	case "dead_letter":
		return DeadLetter
	case "pending":
		return Requeue
	}
	return Deliver
}
