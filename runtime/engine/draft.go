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
	record  fsm.Record // after it; nil: nothing was decided
	version int64
	entered time.Time // when its state was entered
	onlyPending   bool      // nothing else of the record was open in the outbox before
	left    bool      // a state was left
	closed  bool      // handlers run within the transaction that may lead the record on
	steps   int       // so many of the steps are written
	writes  int       // and so many of the writes
}

// place is where a record is.
type place struct{ machine, id string }

func (d *pendingWrite) place() place { return place{d.Machine, d.ID} }

// row is what a load finds once d is written, for a task that is one of its effects
// (1) or for none (0).
func (d *pendingWrite) row(own int) (row store.Row, known bool) {
	if d.record == nil || d.closed {
		return store.Row{}, false
	}
	return store.Row{
		Record: copied(d.record), Version: d.version, EnteredAt: d.entered, OnlyPending: d.onlyPending && len(d.Outbox) == own,
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
func (d *pendingWrite) merge(next pendingWrite) {
	if next.left {
		d.Outbox = slices.DeleteFunc(slices.Clone(d.Outbox), func(m store.OutboxMessage) bool { return m.Work })
	}
	d.SetDeadlines = slices.DeleteFunc(slices.Clone(d.SetDeadlines), func(t store.Deadline) bool {
		return slices.Contains(next.ClearDeadlines, t.Kind) || slices.ContainsFunc(next.SetDeadlines, func(n store.Deadline) bool { return n.Kind == t.Kind })
	})
	if d.creates() {
		next.ClearDeadlines = nil // it has none
	}
	for _, kind := range next.ClearDeadlines {
		if !slices.Contains(d.ClearDeadlines, kind) {
			d.ClearDeadlines = append(d.ClearDeadlines, kind)
		}
	}
	d.Steps, d.Writes, d.Outbox = append(d.Steps, next.Steps...), append(d.Writes, next.Writes...), append(d.Outbox, next.Outbox...)
	d.SetDeadlines, d.IdempotencyKeys = append(d.SetDeadlines, next.SetDeadlines...), append(d.IdempotencyKeys, next.IdempotencyKeys...)
	d.CancelWork = d.CancelWork || next.CancelWork
	d.record, d.version, d.entered = next.record, next.version, next.entered
	d.left, d.closed = d.left || next.left, d.closed || next.closed
}

func (d *pendingWrite) creates() bool { return len(d.Steps) > 0 && d.Steps[0].Version == 1 }

// front is the part of d that others may have to see within the transaction: the
// record, its history, and rows beside it.
func (d *pendingWrite) recordWrites() (c store.Commit, some bool) {
	c = store.Commit{
		Machine: d.Machine, Tables: d.Tables, ID: d.ID, IDValue: d.IDValue, Steps: d.Steps[d.steps:], Writes: d.Writes[d.writes:], NoWakeup: true,
	}
	return c, len(c.Steps)+len(c.Writes) > 0
}

// rest is what is not written yet.
func (d *pendingWrite) rest() (c store.Commit, some bool) {
	c = d.Commit
	c.Steps, c.Writes = d.Steps[d.steps:], d.Writes[d.writes:]
	some = len(c.Steps)+len(c.Writes)+len(c.Outbox)+len(c.ClearDeadlines)+len(c.SetDeadlines)+len(c.IdempotencyKeys) > 0
	return c, some || c.Task != nil || c.CancelWork
}

// wrote notes that the front is in the database.
func (d *pendingWrite) markWritten() { d.steps, d.writes = len(d.Steps), len(d.Writes) }

// heads are the effects of d that nothing stands before in their lane. What is open
// of a record beside this event may stand in any of its lanes; and a handler inside
// the transaction may lead the record on, so that its work is nobody's.
func (d *pendingWrite) heads() (heads []*store.OutboxMessage) {
	if d.closed || !d.onlyPending {
		return nil
	}
	seen := map[string]bool{}
	for i := range d.Outbox {
		if msg := &d.Outbox[i]; !seen[msg.Destination] {
			seen[msg.Destination] = true
			heads = append(heads, msg)
		}
	}
	return heads
}

// loud reports whether d leaves something for a worker to look for: an effect that
// nobody has in hand, an event that it raised, or, since an effect has ended, the
// next of its lane.
func (d *pendingWrite) needsWakeup() bool {
	waits := func(msg store.OutboxMessage) bool { return msg.Lease == nil }
	raised := func(t store.Deadline) bool { return t.Kind == store.DeadlineRaise }
	unblocks := d.Task != nil && d.Task.Kind == store.TaskEffect && !d.onlyPending
	return unblocks || slices.ContainsFunc(d.Outbox, waits) || slices.ContainsFunc(d.SetDeadlines, raised)
}
