package storetest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// StartTime is when every test begins.
var StartTime = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)

// Fixture is a migrated store with the machines that write to it. The cases of this
// package use it, and so do those of package enginecases. It is the testing.T of its case
// and is used by one goroutine.
type Fixture[Tx any] struct {
	*testing.T
	Subject[Tx]
	machineSet[Tx]
	lastID       int
	destinations []store.Destination // of the machines, and of the messages so far
}

// NewFixture opens a subject and creates the tables of the machines. The test runs in
// parallel with others.
func NewFixture[Tx any](t *testing.T, open Open[Tx]) *Fixture[Tx] {
	t.Helper()
	t.Parallel()
	f := &Fixture[Tx]{T: t, Subject: open(t), machineSet: newMachineSet[Tx]()}
	f.addMachineEffects()
	f.Must(f.Store.Migrate(f.Context(), store.Machines(f.machines())))
	return f
}

// Must fails the test if err is not nil.
func (f *Fixture[Tx]) Must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// WantError fails the test unless errors.Is(err, target).
func (f *Fixture[Tx]) WantError(err, target error) {
	f.Helper()
	if !errors.Is(err, target) {
		f.Fatalf("the error is %v, want %v", err, target)
	}
}

// As returns the error of type E in err.
func As[E error](t testing.TB, err error) E {
	t.Helper()
	var e E
	if !errors.As(err, &e) {
		t.Fatalf("the error is %v (%T), want a %T", err, err, e)
	}
	return e
}

// NewID returns an unused record id.
func (f *Fixture[Tx]) NewID() string {
	f.lastID++
	return UUID(f.lastID).String()
}

// UUID returns the nth id of the fixtures.
func UUID(n int) fsm.UUID {
	u := fsm.UUID{6: 0x40, 8: 0x80}
	u[12], u[13], u[14], u[15] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
	return u
}

// Versioned is a record with its version.
type Versioned struct {
	machine Machine
	id      string
	record  fsm.Record // nil: not created
	version int64
}

// Existing returns a record of the database that another than the fixture has written.
func Existing(m Machine, id string, version int64) Versioned {
	return Versioned{machine: m, id: id, version: version}
}

// state is that of the record; "" where there is none.
func (h Versioned) state() string {
	if h.record == nil {
		return ""
	}
	return h.record.StateName()
}

// Save writes commits in one transaction.
func (f *Fixture[Tx]) Save(commits ...store.Commit) error {
	return saveTo(f.Context(), f.Store, commits...)
}

func saveTo[Tx any](ctx context.Context, s store.Store[Tx], commits ...store.Commit) error {
	return s.InTx(ctx, func(tx Tx) error { return s.Save(ctx, tx, commits) })
}

// The parties of every deal.
var (
	Advertiser = deal.ByAdvertiser(7).Caller()
	Owner      = deal.ByOwner(8).Caller()
)

func (f *Fixture[Tx]) query(h Versioned, more store.Query) store.Query {
	f.Helper()
	key, err := h.machine.ParseID(h.id)
	f.Must(err)
	more.Machine, more.Tables, more.ID, more.IDValue, more.Into = h.machine.Name(), h.machine.Tables(), h.id, key, h.machine.Blank()
	return more
}

// Text renders any value for comparison.
func Text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%#v: %v", v, err)
	}
	return string(b)
}

// Message returns an effect of h's last step that is due now.
func (f *Fixture[Tx]) Message(h Versioned, seq int, destination string) store.OutboxMessage {
	f.lastID++
	f.addEffect(h.machine.Name(), destination, "notify_owner")
	return store.OutboxMessage{
		MessageID: UUID(f.lastID).String(), Machine: h.machine.Name(), RecordID: h.id, RecordState: h.state(), Version: h.version, Seq: seq,
		Effect: "notify_owner", Destination: destination, Delivery: fsm.Keyed, Payload: json.RawMessage(`{"owner_id":8}`), Correlation: "c-1", CreatedAt: StartTime,
		MessageState: store.MessageState{State: "pending", AvailableAt: fsm.Some(StartTime)},
	}
}

// EmptyCommit returns a commit without steps for the record of h.
func (f *Fixture[Tx]) EmptyCommit(h Versioned) store.Commit {
	f.Helper()
	q := f.query(h, store.Query{})
	return store.Commit{Machine: q.Machine, Tables: q.Tables, ID: q.ID, IDValue: q.IDValue}
}

// Deadline returns a deadline of h.
func (f *Fixture[Tx]) Deadline(h Versioned, at time.Time) store.Deadline {
	return store.Deadline{
		Machine: h.machine.Name(), RecordID: h.id, RecordState: h.state(), Kind: store.DeadlineTimeout, Version: h.version, DueAt: at,
		Event: fsm.Event{Name: "EXPIRE", Payload: json.RawMessage(`{}`)}, Correlation: "c-1",
	}
}

// statesOf lists the states of a machine.
func (f *Fixture[Tx]) statesOf(machine string) []string {
	for _, m := range f.machines() {
		if m.Name() == machine {
			return m.States()
		}
	}
	return nil
}

// addEffect makes later claims include an effect.
func (f *Fixture[Tx]) addEffect(machine, destination, effect string) {
	for i := range f.destinations {
		if l := &f.destinations[i]; l.Machine == machine && l.Name == destination {
			l.Effects = append(l.Effects, effect)
			return
		}
	}
	f.destinations = append(f.destinations, store.Destination{Machine: machine, Name: destination, Effects: []string{effect}, States: f.statesOf(machine), Most: 100})
}

// addMachineEffects makes later claims include the effects of the machines.
func (f *Fixture[Tx]) addMachineEffects() {
	for _, m := range f.machines() {
		for _, info := range m.Effects() {
			if info.Kind == fsm.EffectCall {
				f.addEffect(m.Name(), cmp.Or(info.Destination, info.Name), info.Name)
			}
		}
	}
}

// Claim returns a claim for all effects of the machines and of the messages that the
// fixture has made.
func (f *Fixture[Tx]) Claim(token int, at time.Time) store.Claim {
	c := store.Claim{Worker: "w", Token: UUID(token), Now: at, Until: at.Add(time.Minute), Destinations: slices.Clone(f.destinations), Effects: 100, Suspects: 100, Deadlines: 100}
	for _, m := range f.machines() {
		c.Events = append(c.Events, store.Events{Machine: m.Name(), Names: []string{"EXPIRE"}, States: m.States()})
	}
	return c
}

// ReadMessage reads a message by its id.
func (f *Fixture[Tx]) ReadMessage(messageID string) store.OutboxMessage {
	f.Helper()
	page, err := f.Store.Read(f.Context(), store.Read{Kind: store.ReadMessage, MessageID: messageID, Limit: 1})
	f.Must(err)
	if len(page.Messages) != 1 {
		f.Fatalf("%d rows of the outbox have the id %s", len(page.Messages), messageID)
	}
	return page.Messages[0]
}

// WantImages fails the test unless want rows of images have this status.
func (f *Fixture[Tx]) WantImages(id, status string, want int) {
	f.Helper()
	f.WantCount(fmt.Sprintf("images WHERE image_id = '%s' AND download_status = '%s'", id, status), want)
}

// WantCount fails the test unless a query finds want rows.
func (f *Fixture[Tx]) WantCount(from string, want int) {
	f.Helper()
	if n := f.Count(f.T, from); n != want {
		f.Fatalf("there are %d %s, want %d", n, from, want)
	}
}

// Corrupt writes an unknown state into the record of a machine.
func (f *Fixture[Tx]) Corrupt(m Machine, id string) {
	f.Helper()
	t := m.Tables()
	f.ExecUnchecked(f.T, t.Record, fmt.Sprintf("UPDATE %s SET %s = 'nowhere' WHERE %s = '%s'", t.Record, t.State, t.ID, id))
}

// callers is the number of concurrent calls.
const callers = 8

// Concurrently calls do from several goroutines at once, half of them with another store
// on the same database. It returns how many calls succeeded. Any error that is not
// expected fails the test.
func (f *Fixture[Tx]) Concurrently(do func(s store.Store[Tx], i int) error, expected ...error) (won int) {
	f.Helper()
	stores := []store.Store[Tx]{f.Store, f.Reopen(f.T)}
	begin := make(chan struct{})
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			<-begin
			errs[i] = do(stores[i%len(stores)], i)
		})
	}
	close(begin)
	wg.Wait()
	for _, err := range errs {
		if err == nil {
			won++
		} else if !isAny(err, expected) {
			f.Errorf("unexpected: %v", err)
		}
	}
	return won
}

func isAny(err error, targets []error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}
