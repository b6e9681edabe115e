package engine

import (
	"reflect"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// pendingWrite is the accumulated write for one record in a transaction, and the record as a load
// would find it afterwards. Part of the write may already be flushed.
type pendingWrite struct {
	store.Commit
	record      fsm.Record // after it; nil: nothing was decided
	version     int64
	entered     time.Time // when its state was entered
	onlyPending bool      // nothing else of the record was open in the outbox before
	left        bool      // a state was left
	closed      bool      // handlers run within the transaction that may lead the record on
	steps       int       // number of Steps that are written
	writes      int       // number of Writes that are written
}

// place names a record.
type place struct{ machine, id string }

func (w *pendingWrite) place() place { return place{w.Machine, w.ID} }

// row returns what a load finds after w is written: for a task whose message is in w (own is 1),
// or for no task (0). known is false if only a load can tell.
func (w *pendingWrite) row(own int) (row store.Row, known bool) {
	if w.record == nil || w.closed {
		return store.Row{}, false
	}
	return store.Row{
		Record: copied(w.record), Version: w.version, EnteredAt: w.entered, OnlyPending: w.onlyPending && len(w.Outbox) == own,
	}, true
}

// copied returns a copy of a record that callers may change.
func copied(r fsm.Record) fsm.Record {
	original := reflect.ValueOf(r).Elem()
	own := reflect.New(original.Type())
	own.Elem().Set(original)
	return own.Interface().(fsm.Record)
}

// merge adds the next write of the same record. Messages and deadlines that next takes back are
// never written. Copies of w stay as they are.
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

// recordWrites returns the unwritten part of w that statements in the transaction may have to see:
// the record, its history, and rows of the caller's own.
func (w *pendingWrite) recordWrites() (c store.Commit, some bool) {
	c = store.Commit{
		Machine: w.Machine, Tables: w.Tables, ID: w.ID, IDValue: w.IDValue, Steps: w.Steps[w.steps:], Writes: w.Writes[w.writes:], NoWakeup: true,
	}
	return c, len(c.Steps)+len(c.Writes) > 0
}

// rest returns everything of w that is not written yet.
func (w *pendingWrite) rest() (c store.Commit, some bool) {
	c = w.Commit
	c.Steps, c.Writes = w.Steps[w.steps:], w.Writes[w.writes:]
	some = len(c.Steps)+len(c.Writes)+len(c.Outbox)+len(c.ClearDeadlines)+len(c.SetDeadlines)+len(c.IdempotencyKeys) > 0
	return c, some || c.Task != nil || c.CancelWork
}

// markWritten notes that recordWrites is in the database.
func (w *pendingWrite) markWritten() { w.steps, w.writes = len(w.Steps), len(w.Writes) }

// heads returns the messages of w that are the first of their ordering key. If other messages of
// the record are open, any of them may be before these, so there are none; nor are there any if a
// handler inside the transaction may change the record.
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

// needsWakeup reports whether w leaves something for a worker to claim: a message without a lease,
// a raised event, or, since a message was settled, the next one of its ordering key.
func (w *pendingWrite) needsWakeup() bool {
	waits := func(msg OutboxMessage) bool { return msg.Lease == nil }
	raised := func(t store.Deadline) bool { return t.Kind == store.DeadlineRaise }
	unblocks := w.Task != nil && w.Task.Kind == store.TaskEffect && !w.onlyPending
	return unblocks || slices.ContainsFunc(w.Outbox, waits) || slices.ContainsFunc(w.SetDeadlines, raised)
}
