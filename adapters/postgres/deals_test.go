package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// epoch is when every test begins.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)

// deals is the machine of these tests. Its handlers are missing: a store calls
// none.
func deals() engine.Machine[pgx.Tx] { return deal.Define[pgx.Tx](nil, deal.DefaultParams()) }

// migrated opens a store with the tables of deals. The messages of these tests are
// made up.
func (d *database) migrated(t testing.TB) *Store {
	t.Helper()
	s := d.store(t)
	if err := s.Migrate(context.Background(), []store.Machine{deals()}); err != nil {
		t.Fatal(err)
	}
	d.allowAnyRows(t)
	return s
}

// id returns the n-th id.
func id(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// creation is the first step of the n-th deal, with one message.
func creation(t testing.TB, n int) store.Commit {
	t.Helper()
	event, err := fsm.EventOf(deal.Create{OwnerID: 8, PriceNano: 100})
	if err != nil {
		t.Fatal(err)
	}
	m := deals()
	d, err := m.Create(id(n), event, fsm.Input{By: deal.ByAdvertiser(7).Caller(), Now: epoch})
	if err != nil {
		t.Fatal(err)
	}
	c := commitOf(n, 0, d.Steps)
	c.Outbox = []store.OutboxMessage{message(n, 1)}
	return c
}

// commitOf turns steps that follow version into a commit.
func commitOf(n int, version int64, steps []fsm.Step) store.Commit {
	c := store.Commit{Machine: "deal", Tables: deals().Tables(), ID: id(n), IDValue: id(n)}
	for _, s := range steps {
		version++
		c.Steps = append(c.Steps, store.StepWrite{
			HistoryRow: store.HistoryRow{
				EventID: eventID(n, version), Version: version, Transition: s.Transition, From: s.From, Event: s.Event, To: s.To,
				By: s.By, Payload: s.Payload, Correlation: "c-1", At: epoch,
			},
			Entered: !s.Internal, Record: s.Record,
		})
	}
	return c
}

func eventID(n int, version int64) fsm.UUID {
	return fsm.UUID{6: 0x40, 8: 0x80, 9: byte(version >> 24), 10: byte(version >> 16), 11: byte(version >> 8), 12: byte(version), 13: byte(n >> 16), 14: byte(n >> 8), 15: byte(n)}
}

// message is an effect of the n-th deal that is due at once.
func message(n int, version int64) store.OutboxMessage {
	return store.OutboxMessage{
		MessageID: eventID(n, version).String(), Machine: "deal", RecordID: id(n), Version: version, Seq: 1,
		Effect: "notify_owner", Destination: "kafka", Delivery: fsm.Keyed, Payload: json.RawMessage(`{"owner_id":8}`), Correlation: "c-1", CreatedAt: epoch,
		MessageState: store.MessageState{State: "pending", AvailableAt: fsm.Some(epoch)},
	}
}

// deadlineOf returns a deadline of the n-th deal.
func deadlineOf(n int, at time.Time) store.Deadline {
	return store.Deadline{
		Machine: "deal", RecordID: id(n), Kind: store.DeadlineTimeout, Version: 1, DueAt: at,
		Event: fsm.Event{Name: "EXPIRE", Payload: json.RawMessage(`{}`)}, Correlation: "c-1",
	}
}

// query asks for the n-th deal.
func query(n int) store.Query {
	m := deals()
	return store.Query{Machine: "deal", Tables: m.Tables(), ID: id(n), IDValue: id(n), Into: m.Blank()}
}

func save(s *Store, commits ...store.Commit) error {
	ctx := context.Background()
	return s.InTx(ctx, func(tx pgx.Tx) error { return s.Save(ctx, tx, commits) })
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// claim leases what is due at epoch, for a minute.
func claim(token byte, limit int) store.Claim {
	return store.Claim{
		Worker: "w", Token: fsm.UUID{6: 0x40, 8: 0x80, 15: token}, Now: epoch, Until: epoch.Add(time.Minute),
		Destinations: []store.Destination{{Machine: "deal", Name: "kafka", Effects: []string{"notify_owner"}, Most: limit}},
		Effects:      limit, Suspects: limit, Events: []store.Events{{Machine: "deal", Names: []string{"EXPIRE"}}}, Deadlines: limit,
	}
}
