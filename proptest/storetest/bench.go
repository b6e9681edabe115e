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

// epoch is when every test begins.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)

// bench is a migrated store with the machines that write to it.
type bench[Tx any] struct {
	*testing.T
	Subject[Tx]
	cast[Tx]
	ctx   context.Context
	ids   int
	lanes []store.Destination // of the machines, and of the messages so far
}

func newBench[Tx any](t *testing.T, open Open[Tx]) *bench[Tx] {
	t.Helper()
	t.Parallel()
	b := &bench[Tx]{T: t, Subject: open(t), cast: newCast[Tx](), ctx: t.Context()}
	b.knowMachines()
	b.must(b.Store.Migrate(b.ctx, store.Machines(b.machines())))
	return b
}

func (b *bench[Tx]) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// wants fails the test unless err is target.
func (b *bench[Tx]) wants(err, target error) {
	b.Helper()
	if !errors.Is(err, target) {
		b.Fatalf("the error is %v, want %v", err, target)
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

// id returns another id.
func (b *bench[Tx]) id() string {
	b.ids++
	return uuid(b.ids).String()
}

func uuid(n int) fsm.UUID {
	u := fsm.UUID{6: 0x40, 8: 0x80}
	u[12], u[13], u[14], u[15] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
	return u
}

// head is a record with its version.
type head[Tx any] struct {
	machine engine.Machine[Tx]
	id      string
	record  fsm.Record // nil: not created
	version int64
}

// state is that of the record; "" where there is none.
func (h head[Tx]) state() string {
	if h.record == nil {
		return ""
	}
	return h.record.StateName()
}

// commit decides an event and returns what is to be saved, and the record after
// it. Effects, deadlines and tables are for the test to add.
func (b *bench[Tx]) commit(h head[Tx], e fsm.Payload, by fsm.Caller, at time.Time) (store.Commit, head[Tx]) {
	b.Helper()
	key, err := h.machine.ParseID(h.id)
	b.must(err)
	event, err := fsm.EventOf(e)
	b.must(err)
	var d fsm.Decision
	if in := (fsm.Input{By: by, Now: at}); h.record == nil {
		d, err = h.machine.Create(h.id, event, in)
	} else {
		d, err = h.machine.Fire(h.record, event, in)
	}
	b.must(err)
	c := store.Commit{Machine: h.machine.Name(), Tables: h.machine.Tables(), ID: h.id, IDValue: key}
	before := h.record
	for _, s := range d.Steps {
		h.version++
		b.ids++
		c.Steps = append(c.Steps, store.StepWrite{
			HistoryRow: store.HistoryRow{
				EventID: uuid(b.ids), Version: h.version, Transition: s.Transition, From: s.From, Event: s.Event, To: s.To,
				By: s.By, Payload: s.Payload, Correlation: "c-1", At: at,
			},
			Entered: !s.Internal, Record: s.Record, Before: before,
		})
		before = s.Record
	}
	h.record = d.Record
	return c, h
}

// fire saves an event and returns the record after it.
func (b *bench[Tx]) fire(h head[Tx], e fsm.Payload, by fsm.Caller) head[Tx] {
	b.Helper()
	c, next := b.commit(h, e, by, epoch)
	b.must(b.save(c))
	return next
}

// save writes commits in a transaction of their own.
func (b *bench[Tx]) save(commits ...store.Commit) error { return saveTo(b.ctx, b.Store, commits...) }

func saveTo[Tx any](ctx context.Context, s store.Store[Tx], commits ...store.Commit) error {
	return s.InTx(ctx, func(tx Tx) error { return s.Save(ctx, tx, commits) })
}

// new is a record of m that does not exist yet.
func (b *bench[Tx]) new(m engine.Machine[Tx]) head[Tx] { return head[Tx]{machine: m, id: b.id()} }

// The parties of every deal.
var (
	advertiser = deal.ByAdvertiser(7).Caller()
	owner      = deal.ByOwner(8).Caller()
)

// deal saves a new one.
func (b *bench[Tx]) deal() head[Tx] {
	b.Helper()
	return b.fire(b.new(b.deals), deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
}

// load reads a record, and what else the query asks for.
func (b *bench[Tx]) load(h head[Tx], more store.Query) store.Row {
	b.Helper()
	var rows []store.Row
	b.must(b.Store.InTx(b.ctx, func(tx Tx) (err error) {
		rows, err = b.Store.Load(b.ctx, tx, []store.Query{b.query(h, more)})
		return err
	}))
	if len(rows) != 1 {
		b.Fatalf("one query gives %d rows", len(rows))
	}
	return rows[0]
}

func (b *bench[Tx]) query(h head[Tx], more store.Query) store.Query {
	b.Helper()
	key, err := h.machine.ParseID(h.id)
	b.must(err)
	more.Machine, more.Tables, more.ID, more.IDValue, more.Into = h.machine.Name(), h.machine.Tables(), h.id, key, h.machine.Blank()
	return more
}

// stands fails the test unless the record is in the database as h says.
func (b *bench[Tx]) stands(h head[Tx]) {
	b.Helper()
	row := b.load(h, store.Query{})
	switch {
	case h.record == nil && row.Record == nil:
	case h.record == nil:
		b.Fatalf("there is a record in %s", row.Record.StateName())
	case row.Err != nil || row.Record == nil:
		b.Fatalf("the record is not there: %v", row.Err)
	case row.Version != h.version || text(row.Record) != text(h.record):
		b.Fatalf("there is version %d: %s\nwant version %d: %s", row.Version, text(row.Record), h.version, text(h.record))
	}
}

// text renders anything for comparison.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%#v: %v", v, err)
	}
	return string(b)
}

// history reads all of a record's history.
func (b *bench[Tx]) history(h head[Tx]) []store.HistoryRow {
	b.Helper()
	q := b.query(h, store.Query{})
	page, err := b.Store.Read(b.ctx, store.Read{Kind: store.ReadHistory, Machine: q.Machine, Tables: q.Tables, ID: q.ID, IDValue: q.IDValue, Limit: 1000})
	b.must(err)
	return page.History
}

// message is an effect that h's last step asks for: due at once.
func (b *bench[Tx]) message(h head[Tx], seq int, lane string) store.OutboxMessage {
	b.ids++
	b.know(h.machine.Name(), lane, "notify_owner")
	return store.OutboxMessage{
		MessageID: uuid(b.ids).String(), Machine: h.machine.Name(), RecordID: h.id, RecordState: h.state(), Version: h.version, Seq: seq,
		Effect: "notify_owner", Destination: lane, Delivery: fsm.Keyed, Payload: json.RawMessage(`{"owner_id":8}`), Correlation: "c-1", CreatedAt: epoch,
		MessageState: store.MessageState{State: "pending", AvailableAt: fsm.Some(epoch)},
	}
}

// work is an effect that belongs to the state.
func (b *bench[Tx]) work(h head[Tx], seq int, lane string) store.OutboxMessage {
	row := b.message(h, seq, lane)
	row.Work = true
	return row
}

// send saves rows of the outbox for a record that is there.
func (b *bench[Tx]) send(h head[Tx], rows ...store.OutboxMessage) {
	b.Helper()
	c := b.about(h)
	c.Outbox = rows
	b.must(b.save(c))
}

// about is a commit without steps.
func (b *bench[Tx]) about(h head[Tx]) store.Commit {
	b.Helper()
	q := b.query(h, store.Query{})
	return store.Commit{Machine: q.Machine, Tables: q.Tables, ID: q.ID, IDValue: q.IDValue}
}

// deadline is a deadline of h.
func (b *bench[Tx]) deadline(h head[Tx], at time.Time) store.Deadline {
	return store.Deadline{
		Machine: h.machine.Name(), RecordID: h.id, RecordState: h.state(), Kind: store.DeadlineTimeout, Version: h.version, DueAt: at,
		Event: fsm.Event{Name: "EXPIRE", Payload: json.RawMessage(`{}`)}, Correlation: "c-1",
	}
}

// claims leases everything that is due at a time, for a minute.
func (b *bench[Tx]) claims(token int, at time.Time) []store.Task {
	b.Helper()
	tasks, err := b.Store.Claim(b.ctx, b.claim(token, at))
	b.must(err)
	return tasks
}

// statesOf lists the states of a machine.
func (b *bench[Tx]) statesOf(machine string) []string {
	for _, m := range b.machines() {
		if m.Name() == machine {
			return m.States()
		}
	}
	return nil
}

// know makes later claims ask for an effect.
func (b *bench[Tx]) know(machine, lane, effect string) {
	for i := range b.lanes {
		if l := &b.lanes[i]; l.Machine == machine && l.Name == lane {
			l.Effects = append(l.Effects, effect)
			return
		}
	}
	b.lanes = append(b.lanes, store.Destination{Machine: machine, Name: lane, Effects: []string{effect}, States: b.statesOf(machine), Most: 100})
}

// knowMachines makes later claims ask for the effects of the machines.
func (b *bench[Tx]) knowMachines() {
	for _, m := range b.machines() {
		for _, info := range m.Effects() {
			if info.Kind == fsm.EffectCall {
				b.know(m.Name(), cmp.Or(info.Destination, info.Name), info.Name)
			}
		}
	}
}

// claim asks for everything that the machines know and this bench has saved.
func (b *bench[Tx]) claim(token int, at time.Time) store.Claim {
	c := store.Claim{Worker: "w", Token: uuid(token), Now: at, Until: at.Add(time.Minute), Destinations: slices.Clone(b.lanes), Effects: 100, Suspects: 100, Deadlines: 100}
	for _, m := range b.machines() {
		c.Events = append(c.Events, store.Events{Machine: m.Name(), Names: []string{"EXPIRE"}, States: m.States()})
	}
	return c
}

// settle stores the outcome of a task.
func (b *bench[Tx]) settle(s store.Settlement) error {
	return b.Store.InTx(b.ctx, func(tx Tx) error { return b.Store.Settle(b.ctx, tx, s) })
}

// delivered is the good end of a claimed effect.
func delivered(t store.Task, at time.Time) store.Settlement {
	return outcome(t, store.MessageState{State: "delivered", DeliveredAt: fsm.Some(at)})
}

// outcome is an end of a claimed effect.
func outcome(t store.Task, l store.MessageState) store.Settlement {
	l.Attempts, l.Resolution = t.Effect.Attempts+1, t.Effect.Resolution
	return store.Settlement{Kind: store.TaskEffect, Token: t.Token, MessageID: t.Effect.MessageID, MessageState: l}
}

// letter reads a row of the outbox.
func (b *bench[Tx]) letter(messageID string) store.OutboxMessage {
	b.Helper()
	page, err := b.Store.Read(b.ctx, store.Read{Kind: store.ReadMessage, MessageID: messageID, Limit: 1})
	b.must(err)
	if len(page.Messages) != 1 {
		b.Fatalf("%d rows of the outbox have the id %s", len(page.Messages), messageID)
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
