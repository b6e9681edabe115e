package storetest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// startTime is when every test begins.
var startTime = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)

// fixture is a migrated store with the machines that write to it.
type fixture[Tx any] struct {
	*testing.T
	Subject[Tx]
	machineSet[Tx]
	ctx          context.Context
	lastID       int
	destinations []store.Destination // of the machines, and of the messages so far
}

func newFixture[Tx any](t *testing.T, open Open[Tx]) *fixture[Tx] {
	t.Helper()
	t.Parallel()
	f := &fixture[Tx]{T: t, Subject: open(t), machineSet: newMachineSet[Tx](), ctx: t.Context()}
	f.addMachineEffects()
	f.must(f.Store.Migrate(f.ctx, store.Machines(f.machines())))
	return f
}

func (f *fixture[Tx]) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// wantError fails the test unless errors.Is(err, target).
func (f *fixture[Tx]) wantError(err, target error) {
	f.Helper()
	if !errors.Is(err, target) {
		f.Fatalf("the error is %v, want %v", err, target)
	}
}

// as returns the error of type E in err.
func as[E error](t testing.TB, err error) E {
	t.Helper()
	var e E
	if !errors.As(err, &e) {
		t.Fatalf("the error is %v (%T), want a %T", err, err, e)
	}
	return e
}

// newID returns an unused record id.
func (f *fixture[Tx]) newID() string {
	f.lastID++
	return uuid(f.lastID).String()
}

func uuid(n int) fsm.UUID {
	u := fsm.UUID{6: 0x40, 8: 0x80}
	u[12], u[13], u[14], u[15] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
	return u
}

// versioned is a record with its version.
type versioned[Tx any] struct {
	machine engine.Machine[Tx]
	id      string
	record  fsm.Record // nil: not created
	version int64
}

// state is that of the record; "" where there is none.
func (h versioned[Tx]) state() string {
	if h.record == nil {
		return ""
	}
	return h.record.StateName()
}

// commit decides an event. It returns the commit of the step and the record after it. The
// caller adds effects, deadlines and table writes.
func (f *fixture[Tx]) commit(h versioned[Tx], e fsm.Payload, by fsm.Caller, at time.Time) (store.Commit, versioned[Tx]) {
	f.Helper()
	key, err := h.machine.ParseID(h.id)
	f.must(err)
	event, err := fsm.EventOf(e)
	f.must(err)
	var d fsm.Decision
	if in := (fsm.Input{By: by, Now: at}); h.record == nil {
		d, err = h.machine.Create(h.id, event, in)
	} else {
		d, err = h.machine.Fire(h.record, event, in)
	}
	f.must(err)
	c := store.Commit{Machine: h.machine.Name(), Tables: h.machine.Tables(), ID: h.id, IDValue: key}
	before := h.record
	for _, s := range d.Steps {
		h.version++
		f.lastID++
		c.Steps = append(c.Steps, store.StepWrite{
			HistoryRow: store.HistoryRow{
				EventID: uuid(f.lastID), Version: h.version, Transition: s.Transition, From: s.From, Event: s.Event, To: s.To,
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
func (f *fixture[Tx]) saveEvent(h versioned[Tx], e fsm.Payload, by fsm.Caller) versioned[Tx] {
	f.Helper()
	c, next := f.commit(h, e, by, startTime)
	f.must(f.save(c))
	return next
}

// save writes commits in one transaction.
func (f *fixture[Tx]) save(commits ...store.Commit) error { return saveTo(f.ctx, f.Store, commits...) }

func saveTo[Tx any](ctx context.Context, s store.Store[Tx], commits ...store.Commit) error {
	return s.InTx(ctx, func(tx Tx) error { return s.Save(ctx, tx, commits) })
}

// new returns a record of m that is not created yet.
func (f *fixture[Tx]) new(m engine.Machine[Tx]) versioned[Tx] {
	return versioned[Tx]{machine: m, id: f.newID()}
}

// The parties of every deal.
var (
	advertiser = deal.ByAdvertiser(7).Caller()
	owner      = deal.ByOwner(8).Caller()
)

// deal saves a new deal.
func (f *fixture[Tx]) deal() versioned[Tx] {
	f.Helper()
	return f.saveEvent(f.new(f.deals), deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
}

// load loads a record. more says what else the query asks for.
func (f *fixture[Tx]) load(h versioned[Tx], more store.Query) store.Row {
	f.Helper()
	var rows []store.Row
	f.must(f.Store.InTx(f.ctx, func(tx Tx) (err error) {
		rows, err = f.Store.Load(f.ctx, tx, []store.Query{f.query(h, more)})
		return err
	}))
	if len(rows) != 1 {
		f.Fatalf("one query gives %d rows", len(rows))
	}
	return rows[0]
}

func (f *fixture[Tx]) query(h versioned[Tx], more store.Query) store.Query {
	f.Helper()
	key, err := h.machine.ParseID(h.id)
	f.must(err)
	more.Machine, more.Tables, more.ID, more.IDValue, more.Into = h.machine.Name(), h.machine.Tables(), h.id, key, h.machine.Blank()
	return more
}

// wantStored fails the test unless the database has exactly the record and version of h.
func (f *fixture[Tx]) wantStored(h versioned[Tx]) {
	f.Helper()
	row := f.load(h, store.Query{})
	switch {
	case h.record == nil && row.Record == nil:
	case h.record == nil:
		f.Fatalf("there is a record in %s", row.Record.StateName())
	case row.Err != nil || row.Record == nil:
		f.Fatalf("the record is not there: %v", row.Err)
	case row.Version != h.version || text(row.Record) != text(h.record):
		f.Fatalf("there is version %d: %s\nwant version %d: %s", row.Version, text(row.Record), h.version, text(h.record))
	}
}

// text renders any value for comparison.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%#v: %v", v, err)
	}
	return string(b)
}

// history reads all of a record's history.
func (f *fixture[Tx]) history(h versioned[Tx]) []store.HistoryRow {
	f.Helper()
	q := f.query(h, store.Query{})
	page, err := f.Store.Read(f.ctx, store.Read{Kind: store.ReadHistory, Machine: q.Machine, Tables: q.Tables, ID: q.ID, IDValue: q.IDValue, Limit: 1000})
	f.must(err)
	return page.History
}

// message returns an effect of h's last step that is due now.
func (f *fixture[Tx]) message(h versioned[Tx], seq int, destination string) store.OutboxMessage {
	f.lastID++
	f.addEffect(h.machine.Name(), destination, "notify_owner")
	return store.OutboxMessage{
		MessageID: uuid(f.lastID).String(), Machine: h.machine.Name(), RecordID: h.id, RecordState: h.state(), Version: h.version, Seq: seq,
		Effect: "notify_owner", Destination: destination, Delivery: fsm.Keyed, Payload: json.RawMessage(`{"owner_id":8}`), Correlation: "c-1", CreatedAt: startTime,
		MessageState: store.MessageState{State: "pending", AvailableAt: fsm.Some(startTime)},
	}
}

// work returns an effect that is cancelled when the record leaves its state.
func (f *fixture[Tx]) work(h versioned[Tx], seq int, destination string) store.OutboxMessage {
	row := f.message(h, seq, destination)
	row.Work = true
	return row
}

// send saves messages of a record that exists.
func (f *fixture[Tx]) send(h versioned[Tx], rows ...store.OutboxMessage) {
	f.Helper()
	c := f.emptyCommit(h)
	c.Outbox = rows
	f.must(f.save(c))
}

// emptyCommit returns a commit without steps for the record of h.
func (f *fixture[Tx]) emptyCommit(h versioned[Tx]) store.Commit {
	f.Helper()
	q := f.query(h, store.Query{})
	return store.Commit{Machine: q.Machine, Tables: q.Tables, ID: q.ID, IDValue: q.IDValue}
}

// deadline returns a deadline of h.
func (f *fixture[Tx]) deadline(h versioned[Tx], at time.Time) store.Deadline {
	return store.Deadline{
		Machine: h.machine.Name(), RecordID: h.id, RecordState: h.state(), Kind: store.DeadlineTimeout, Version: h.version, DueAt: at,
		Event: fsm.Event{Name: "EXPIRE", Payload: json.RawMessage(`{}`)}, Correlation: "c-1",
	}
}

// claimAll leases everything that is due at the given time, for a minute.
func (f *fixture[Tx]) claimAll(token int, at time.Time) []store.Task {
	f.Helper()
	tasks, err := f.Store.Claim(f.ctx, f.claim(token, at))
	f.must(err)
	return tasks
}

// statesOf lists the states of a machine.
func (f *fixture[Tx]) statesOf(machine string) []string {
	for _, m := range f.machines() {
		if m.Name() == machine {
			return m.States()
		}
	}
	return nil
}

// addEffect makes later claims include an effect.
func (f *fixture[Tx]) addEffect(machine, destination, effect string) {
	for i := range f.destinations {
		if l := &f.destinations[i]; l.Machine == machine && l.Name == destination {
			l.Effects = append(l.Effects, effect)
			return
		}
	}
	f.destinations = append(f.destinations, store.Destination{Machine: machine, Name: destination, Effects: []string{effect}, States: f.statesOf(machine), Most: 100})
}

// addMachineEffects makes later claims include the effects of the machines.
func (f *fixture[Tx]) addMachineEffects() {
	for _, m := range f.machines() {
		for _, info := range m.Effects() {
			if info.Kind == fsm.EffectCall {
				f.addEffect(m.Name(), cmp.Or(info.Destination, info.Name), info.Name)
			}
		}
	}
}

// claim returns a claim for all effects of the machines and of the messages that the
// fixture has made.
func (f *fixture[Tx]) claim(token int, at time.Time) store.Claim {
	c := store.Claim{Worker: "w", Token: uuid(token), Now: at, Until: at.Add(time.Minute), Destinations: slices.Clone(f.destinations), Effects: 100, Suspects: 100, Deadlines: 100}
	for _, m := range f.machines() {
		c.Events = append(c.Events, store.Events{Machine: m.Name(), Names: []string{"EXPIRE"}, States: m.States()})
	}
	return c
}

// settle stores the outcome of a task.
func (f *fixture[Tx]) settle(s store.Settlement) error {
	return f.Store.InTx(f.ctx, func(tx Tx) error { return f.Store.Settle(f.ctx, tx, s) })
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

// readMessage reads a message by its id.
func (f *fixture[Tx]) readMessage(messageID string) store.OutboxMessage {
	f.Helper()
	page, err := f.Store.Read(f.ctx, store.Read{Kind: store.ReadMessage, MessageID: messageID, Limit: 1})
	f.must(err)
	if len(page.Messages) != 1 {
		f.Fatalf("%d rows of the outbox have the id %s", len(page.Messages), messageID)
	}
	return page.Messages[0]
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
