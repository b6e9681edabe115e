package postgres

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// registrations is a machine whose records have lists and JSON.
func registrations() engine.Machine[pgx.Tx] {
	return registration.Define[pgx.Tx](nil, registration.DefaultParams())
}

// registering opens a store with the tables of registrations and of deals, and
// one that effects write to.
func (d *database) registering(t testing.TB) *Store {
	t.Helper()
	s := d.store(t)
	must(t, s.Migrate(context.Background(), []store.Machine{deals(), registrations()}))
	d.allowAnyRows(t)
	d.exec(t, `CREATE TABLE nodes (node_id varchar(12) PRIMARY KEY, registration_id uuid NOT NULL, number bigint, record jsonb, seen_at timestamptz, tags text[])`)
	return s
}

// caller is who fires an event: operators create and register.
func caller(e fsm.Payload) fsm.Caller {
	switch e.(type) {
	case registration.Create, registration.Register:
		return fsm.Caller{Role: "external", ID: "op"}
	}
	return fsm.System()
}

// then fires events at a record, one after the other.
func then(t testing.TB, c *store.Commit, record fsm.Record, events ...fsm.Payload) {
	t.Helper()
	for _, payload := range events {
		event, err := fsm.EventOf(payload)
		must(t, err)
		in := fsm.Input{By: caller(payload), Now: epoch}
		var d fsm.Decision
		if record == nil {
			d, err = registrations().Create(c.ID, event, in)
		} else {
			d, err = registrations().Fire(record, event, in)
		}
		must(t, err)
		for _, s := range d.Steps {
			c.Steps = append(c.Steps, store.StepWrite{
				HistoryRow: store.HistoryRow{
					Transition: s.Transition, From: s.From, Event: s.Event, To: s.To,
					By: s.By, Payload: s.Payload, Correlation: "c-1", At: epoch,
				},
				Entered: !s.Internal, Record: s.Record, Before: record,
			})
			record = s.Record
		}
	}
}

// numbered sets the versions of the steps of the n-th registration.
func numbered(n int, after int64, c store.Commit) store.Commit {
	for i := range c.Steps {
		after++
		c.Steps[i].Version, c.Steps[i].EventID = after, eventID(n, after)
	}
	return c
}

func registrationOf(n int) store.Commit {
	return store.Commit{Machine: "registration", Tables: registrations().Tables(), ID: id(n), IDValue: id(n)}
}

// token is the lease of the worker of these tests.
var token = fsm.UUID{6: 0x40, 8: 0x80, 15: 1}

// registered is the n-th registration as a caller leaves it: a chain of five
// steps, a row of another table, and an effect that is held.
func registered(t testing.TB, n int) store.Commit {
	t.Helper()
	c := registrationOf(n)
	then(t, &c, nil, registration.Create{NodeID: fmt.Sprint("node-", n)}, register(n),
		registration.ValidationPassed{ValidationResult: registration.ValidationOutcomePassed}, registration.PostgresSucceeded{PostgresApplied: true})
	c = numbered(n, 0, c)
	c.Writes = []fsm.TableWrite{node(n)}
	m := message(n, 5)
	m.Machine, m.State, m.Attempts = "registration", "delivering", 1
	m.Lease = &store.Lease{Token: token, Until: epoch.Add(time.Minute), Worker: "w"}
	work := message(n, 6)
	work.Machine, work.Version, work.Seq, work.Work = "registration", 5, 2, true
	c.Outbox = []store.OutboxMessage{m, work}
	arm := deadlineOf(n, epoch.Add(time.Minute))
	arm.Machine = "registration"
	c.SetDeadlines = []store.Deadline{arm}
	return c
}

// register is an event whose optional fields differ with n.
func register(n int) registration.Register {
	e := registration.Register{
		Payload: fsm.Some(fsm.JSON(`{"a": 1}`)), DeploymentID: fsm.Some("d"), Environment: fsm.Some("e"), NetworkID: fsm.Some("n"),
		ConsulServiceID: fsm.Some(fmt.Sprint("service ", n)), ConsulServiceName: fsm.Some("name"),
		PostgresRecord: fsm.Some(fsm.JSON(`{"a": [1, "é"]}`)),
	}
	if n%3 > 0 {
		lists := [][]string{{}, {"", "NULL", "null"}, {`a "quoted", {list}`, `back\slash`, " spaces\n"}, {"é"}}
		e.ConsulTags = fsm.Some(lists[n%len(lists)])
	}
	return e
}

// node is a row of the table nodes.
func node(n int) fsm.TableWrite {
	w := fsm.TableWrite{Table: "nodes", Op: fsm.EffectUpsert, Key: []fsm.Column{{Name: "node_id", Value: fmt.Sprint("node-", n)}}}
	w.Columns = []fsm.Column{
		{Name: "registration_id", Value: id(n)}, {Name: "number", Value: int64(1)<<62 + int64(n)},
		{Name: "record", Value: `{"n": 1}`}, {Name: "seen_at", Value: epoch}, {Name: "tags", Value: []string{"a", `"`}},
	}
	if n%2 == 0 {
		for i := range w.Columns[1:] {
			w.Columns[i+1].Value = nil
		}
	}
	return w
}

// answered is the answer of the effect that registered leaves.
func answered(t testing.TB, n int, record fsm.Record) store.Commit {
	t.Helper()
	c := registrationOf(n)
	then(t, &c, record, registration.ConsulSucceeded{ConsulApplied: true})
	c = numbered(n, 5, c)
	c.CancelWork = true
	c.ClearDeadlines = []store.DeadlineKind{store.DeadlineTimeout, store.DeadlineRaise}
	c.Task = &store.Settlement{
		Kind: store.TaskEffect, Token: token, MessageID: eventID(n, 5).String(), Machine: "registration", RecordID: id(n),
		MessageState: store.MessageState{State: "delivered", Attempts: 1, AvailableAt: fsm.Some(epoch), DeliveredAt: fsm.Some(epoch)},
	}
	return c
}
