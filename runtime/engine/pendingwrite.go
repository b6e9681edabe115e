package engine

import (
	"reflect"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// draft is what the events of a transaction come to for one record: its commit, of
// which the database may have the beginning, and what a load would find after it.
type pendingWrite struct {
	store.Commit
	record      fsm.Record // after it; nil: nothing was decided
	version     int64
	entered     time.Time // when its state was entered
	onlyPending bool      // nothing else of the record was open in the outbox before
	left        bool      // a state was left
	closed      bool      // handlers run within the transaction that may lead the record on
	steps       int       // so many of the steps are written
	writes      int       // and so many of the writes
}

// place is where a record is.
type place struct{ machine, id string }

func (w *pendingWrite) place() place { return place{w.Machine, w.ID} }

// row is what a load finds once d is written, for a task that is one of its effects
// (1) or for none (0).
func (w *pendingWrite) row(own int) (row store.Row, known bool) {
	if w.record == nil || w.closed {
		return store.Row{}, false
	}
	return store.Row{
		Record: copied(w.record), Version: w.version, EnteredAt: w.entered, OnlyPending: w.onlyPending && len(w.Outbox) == own,
	}, true
}

// copied is a record that nobody else has: callers may do with theirs as they
// like.
func copied(r fsm.Record) fsm.Record {
	original := reflect.ValueOf(r).Elem()
	own := reflect.New(original.Type())
	own.Elem().Set(original)
	return own.Interface().(fsm.Record)
}

// follow adds what comes after d: what it takes back was never written. It leaves
// alone what copies of d have.
func (w *pendingWrite) merge(next pendingWrite) {
	if next.left {
		w.Outbox = slices.DeleteFunc(slices.Clone(w.Outbox), func(m OutboxMessage) bool { return m.Work })
	}
	w.SetDeadlines = slices.DeleteFunc(slices.Clone(w.SetDeadlines), func(t store.Deadline) bool {
		return slices.Contains(next.ClearDeadlines, t.Kind) || slices.ContainsFunc(next.SetDeadlines, func(n store.Deadline) bool { return n.Kind == t.Kind })
	})
	if w.creates() {
		next.ClearDeadlines = nil // it has none
	}
	for _, kind := range next.ClearDeadlines {
		if !slices.Contains(w.ClearDeadlines, kind) {
			w.ClearDeadlines = append(w.ClearDeadlines, kind)
		}
	}
	w.Steps, w.Writes, w.Outbox = append(w.Steps, next.Steps...), append(w.Writes, next.Writes...), append(w.Outbox, next.Outbox...)
	w.SetDeadlines, w.IdempotencyKeys = append(w.SetDeadlines, next.SetDeadlines...), append(w.IdempotencyKeys, next.IdempotencyKeys...)
	w.CancelWork = w.CancelWork || next.CancelWork
	w.record, w.version, w.entered = next.record, next.version, next.entered
	w.left, w.closed = w.left || next.left, w.closed || next.closed
}

func (w *pendingWrite) creates() bool { return len(w.Steps) > 0 && w.Steps[0].Version == 1 }

// front is the part of d that others may have to see within the transaction: the
// record, its history, and rows beside it.
func (w *pendingWrite) recordWrites() (c store.Commit, some bool) {
	c = store.Commit{
		Machine: w.Machine, Tables: w.Tables, ID: w.ID, IDValue: w.IDValue, Steps: w.Steps[w.steps:], Writes: w.Writes[w.writes:], NoWakeup: true,
	}
	return c, len(c.Steps)+len(c.Writes) > 0
}

// rest is what is not written yet.
func (w *pendingWrite) rest() (c store.Commit, some bool) {
	c = w.Commit
	c.Steps, c.Writes = w.Steps[w.steps:], w.Writes[w.writes:]
	some = len(c.Steps)+len(c.Writes)+len(c.Outbox)+len(c.ClearDeadlines)+len(c.SetDeadlines)+len(c.IdempotencyKeys) > 0
	return c, some || c.Task != nil || c.CancelWork
}

// wrote notes that the front is in the database.
func (w *pendingWrite) markWritten() { w.steps, w.writes = len(w.Steps), len(w.Writes) }

// heads are the effects of d that nothing stands before in their lane. What is open
// of a record beside this event may stand in any of its lanes; and a handler inside
// the transaction may lead the record on, so that its work is nobody's.
func (w *pendingWrite) heads() (heads []*OutboxMessage) {
	if w.closed || !w.onlyPending {
		return nil
	}
	seen := map[string]bool{}
	for i := range w.Outbox {
		if msg := &w.Outbox[i]; !seen[msg.Destination] {
			seen[msg.Destination] = true
			heads = append(heads, msg)
		}
	}
	return heads
}

// loud reports whether d leaves something for a worker to look for: an effect that
// nobody has in hand, an event that it raised, or, since an effect has ended, the
// next of its lane.
func (w *pendingWrite) needsWakeup() bool {
	waits := func(msg OutboxMessage) bool { return msg.Lease == nil }
	raised := func(t store.Deadline) bool { return t.Kind == store.DeadlineRaise }
	unblocks := w.Task != nil && w.Task.Kind == store.TaskEffect && !w.onlyPending
	return unblocks || slices.ContainsFunc(w.Outbox, waits) || slices.ContainsFunc(w.SetDeadlines, raised)
}
