package storetest

import (
	"time"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// commit decides an event. It returns the commit of the step and the record after it. The
// caller adds effects, deadlines and table writes.
func (f *Fixture[Tx]) commit(h Versioned, e fsm.Payload, by fsm.Caller, at time.Time) (store.Commit, Versioned) {
	f.Helper()
	key, err := h.machine.ParseID(h.id)
	f.Must(err)
	event, err := fsm.EventOf(e)
	f.Must(err)
	var d fsm.Decision
	if in := (fsm.Input{By: by, Now: at}); h.record == nil {
		d, err = h.machine.Create(h.id, event, in)
	} else {
		d, err = h.machine.Fire(h.record, event, in)
	}
	f.Must(err)
	c := store.Commit{Machine: h.machine.Name(), Tables: h.machine.Tables(), ID: h.id, IDValue: key}
	before := h.record
	for _, s := range d.Steps {
		h.version++
		f.lastID++
		c.Steps = append(c.Steps, store.StepWrite{
			HistoryRow: store.HistoryRow{
				EventID: UUID(f.lastID), Version: h.version, Transition: s.Transition, From: s.From, Event: s.Event, To: s.To,
				By: s.By, Payload: s.Payload, Correlation: "c-1", At: at,
			},
			Entered: !s.Internal, Record: s.Record, Before: before,
		})
		before = s.Record
	}
	h.record = d.Record
	return c, h
}

// saveEvent saves the step of an event and returns the record after it.
func (f *Fixture[Tx]) saveEvent(h Versioned, e fsm.Payload, by fsm.Caller) Versioned {
	f.Helper()
	c, next := f.commit(h, e, by, StartTime)
	f.Must(f.Save(c))
	return next
}

// new returns a record of m that is not created yet.
func (f *Fixture[Tx]) new(m Machine) Versioned {
	return Versioned{machine: m, id: f.NewID()}
}

// deal saves a new deal.
func (f *Fixture[Tx]) deal() Versioned {
	f.Helper()
	return f.saveEvent(f.new(f.Deals), deal.Create{OwnerID: 8, PriceNano: 100}, Advertiser)
}

// load loads a record. more says what else the query asks for.
func (f *Fixture[Tx]) load(h Versioned, more store.Query) store.Row {
	f.Helper()
	var rows []store.Row
	f.Must(f.Store.InTx(f.Context(), func(tx Tx) (err error) {
		rows, err = f.Store.Load(f.Context(), tx, []store.Query{f.query(h, more)})
		return err
	}))
	if len(rows) != 1 {
		f.Fatalf("one query gives %d rows", len(rows))
	}
	return rows[0]
}

// wantStored fails the test unless the database has exactly the record and version of h.
func (f *Fixture[Tx]) wantStored(h Versioned) {
	f.Helper()
	row := f.load(h, store.Query{})
	switch {
	case h.record == nil && row.Record == nil:
	case h.record == nil:
		f.Fatalf("there is a record in %s", row.Record.StateName())
	case row.Err != nil || row.Record == nil:
		f.Fatalf("the record is not there: %v", row.Err)
	case row.Version != h.version || Text(row.Record) != Text(h.record):
		f.Fatalf("there is version %d: %s\nwant version %d: %s", row.Version, Text(row.Record), h.version, Text(h.record))
	}
}

// history reads all of a record's history.
func (f *Fixture[Tx]) history(h Versioned) []store.HistoryRow {
	f.Helper()
	q := f.query(h, store.Query{})
	page, err := f.Store.Read(f.Context(), store.Read{Kind: store.ReadHistory, Machine: q.Machine, Tables: q.Tables, ID: q.ID, IDValue: q.IDValue, Limit: 1000})
	f.Must(err)
	return page.History
}

// work returns an effect that is cancelled when the record leaves its state.
func (f *Fixture[Tx]) work(h Versioned, seq int, destination string) store.OutboxMessage {
	row := f.Message(h, seq, destination)
	row.Work = true
	return row
}

// send saves messages of a record that exists.
func (f *Fixture[Tx]) send(h Versioned, rows ...store.OutboxMessage) {
	f.Helper()
	c := f.EmptyCommit(h)
	c.Outbox = rows
	f.Must(f.Save(c))
}

// claimAll leases everything that is due at the given time, for a minute.
func (f *Fixture[Tx]) claimAll(token int, at time.Time) []store.Task {
	f.Helper()
	tasks, err := f.Store.Claim(f.Context(), f.Claim(token, at))
	f.Must(err)
	return tasks
}

// settle stores the outcome of a task.
func (f *Fixture[Tx]) settle(s store.Settlement) error {
	return f.Store.InTx(f.Context(), func(tx Tx) error { return f.Store.Settle(f.Context(), tx, s) })
}

// delivered returns the settlement of a claimed effect that succeeded.
func delivered(t store.Task, at time.Time) store.Settlement {
	return outcome(t, store.MessageState{State: "delivered", DeliveredAt: fsm.Some(at)})
}

// outcome returns a settlement of a claimed effect.
func outcome(t store.Task, l store.MessageState) store.Settlement {
	l.Attempts, l.Resolution = t.Effect.Attempts+1, t.Effect.Resolution
	return store.Settlement{Kind: store.TaskEffect, Token: t.Token, MessageID: t.Effect.MessageID, MessageState: l}
}

// messages returns the message ids of tasks.
func messages(tasks []store.Task) []string {
	ids := []string{}
	for _, t := range tasks {
		if t.Kind == store.TaskEffect {
			ids = append(ids, t.Effect.MessageID)
		}
	}
	return ids
}
