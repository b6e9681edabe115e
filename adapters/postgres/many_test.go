package postgres

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// crowd is more than one statement a record is for.
const crowd = 4 * several

// offered creates as many deals as a crowd has, and returns what moves each of
// them on.
func offered(t *testing.T, s *Store) []store.Commit {
	t.Helper()
	var creations, offers []store.Commit
	for n := range crowd {
		creations = append(creations, creation(t, n))
	}
	must(t, save(s, creations...))
	event, err := fsm.EventOf(deal.SubmitOffer{})
	must(t, err)
	for n := range crowd {
		decision, err := deals().Fire(load(t, s, n).Record, event, fsm.Input{By: deal.ByAdvertiser(7).Caller(), Now: epoch.AddDate(0, 0, 1)})
		must(t, err)
		c := commitOf(n, 1, decision.Steps)
		c.Outbox = []store.OutboxMessage{message(n, 2)}
		offers = append(offers, c)
	}
	return offers
}

// dump lists the rows of tables, each in an order of its own.
func (d *database) dump(t *testing.T, queries ...string) (rows []string) {
	t.Helper()
	for _, query := range queries {
		found, err := d.pool.Query(context.Background(), "SELECT to_jsonb(x)::text FROM "+query)
		must(t, err)
		texts, err := pgx.CollectRows(found, pgx.RowTo[string])
		must(t, err)
		rows = append(rows, texts...)
	}
	return rows
}

// TestManyStepsAreAsOneByOne: what one statement writes for all is what each
// would have got by itself.
func TestManyStepsAreAsOneByOne(t *testing.T) {
	written := func(write func(*Store, []store.Commit)) (rows []string) {
		d := openDatabase(t)
		s := d.migrated(t)
		write(s, offered(t, s))
		return d.dump(t, "deals AS x ORDER BY deal_id", "deal_events AS x ORDER BY deal_id, version", "fsm_outbox AS x ORDER BY message_id")
	}
	alone := written(func(s *Store, offers []store.Commit) {
		for _, c := range offers {
			must(t, save(s, c))
		}
	})
	together := written(func(s *Store, offers []store.Commit) {
		must(t, save(s, offers...))
		if s.texts.typesOf("deals") == nil {
			t.Error("they were not written together")
		}
	})
	if len(alone) != 5*crowd || !reflect.DeepEqual(alone, together) {
		t.Errorf("together:\n%v\nalone:\n%v", together, alone)
	}
}

// TestALockedRecordDelaysOthersBriefly: one of many that another transaction has locked is a
// conflict soon, and without it the others are written; by itself it waits.
func TestALockedRecordDelaysOthersBriefly(t *testing.T) {
	d := openDatabase(t)
	s := d.migrated(t)
	offers := offered(t, s)
	other, err := d.pool.Begin(t.Context())
	must(t, err)
	_, err = other.Exec(t.Context(), "SELECT 1 FROM deals WHERE deal_id = $1 FOR UPDATE", offers[0].ID)
	must(t, err)
	offers[0].ShortLockWait = true
	if err := save(s, offers...); !errors.Is(err, store.ErrConflict) || !strings.Contains(err.Error(), "lock timeout") {
		t.Errorf("all of them: %v", err)
	}
	must(t, save(s, offers[1:]...))
	written := make(chan error, 1)
	offers[0].ShortLockWait = false
	go func() { written <- save(s, offers[0]) }()
	progress.Until(t, "a writer that waits for the lock", func() (any, bool) {
		var n int
		must(t, d.pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE $1 = ANY(pg_blocking_pids(pid))", other.Conn().PgConn().PID()).Scan(&n))
		return n, n > 0
	})
	must(t, other.Rollback(t.Context()))
	must(t, <-written)
}

// TestOneOfManyIsTaken: the conflict says which record another writer took.
func TestOneOfManyIsTaken(t *testing.T) {
	d := openDatabase(t)
	s := d.migrated(t)
	offers := offered(t, s)
	must(t, save(s, offers[5]))
	offers[5].Steps[0].EventID = eventID(99, 2)
	err := save(s, offers...)
	var conflict *store.ConflictError
	want := store.ConflictError{Machine: "deal", ID: id(5), Expected: 1, Version: 2, State: "OFFER_PENDING"}
	if !errors.As(err, &conflict) || *conflict != want {
		t.Fatalf("the error is %v, want %v", err, &want)
	}
	if n := d.count(t, "deals WHERE version = 2"); n != 1 {
		t.Errorf("%d deals have moved on, want the one", n)
	}
}

// TestOneOfManyIsRefused: what the table refuses for one is refused for all.
func TestOneOfManyIsRefused(t *testing.T) {
	d := openDatabase(t)
	s := d.migrated(t)
	offers := offered(t, s)
	offers[5].Steps[0].Event = "AGREE"
	err := save(s, offers...)
	var refused *store.RefusedError
	if !errors.As(err, &refused) || refused.Machine != "deal" || refused.ID != "" {
		t.Fatalf("the error is %v, want a refusal that names the machine", err)
	}
	if n := d.count(t, "deals WHERE version = 2"); n != 0 {
		t.Errorf("%d deals have moved on", n)
	}
}

// TestManyTasksAreSettled settles a claim in one statement, and nothing of one
// whose lease is lost in part.
func TestManyTasksAreSettled(t *testing.T) {
	d := openDatabase(t)
	s := d.migrated(t)
	var commits []store.Commit
	for n := range crowd {
		commits = append(commits, creation(t, n))
	}
	must(t, save(s, commits...))
	tasks, err := s.Claim(context.Background(), claim(1, crowd))
	must(t, err)
	commits = nil
	for _, task := range tasks {
		commits = append(commits, store.Commit{Machine: "deal", ID: task.Effect.RecordID, Task: &store.Settlement{
			Kind: store.TaskEffect, Token: task.Token, MessageID: task.Effect.MessageID,
			MessageState: store.MessageState{State: "delivered", Attempts: 1, AvailableAt: fsm.Some(epoch), DeliveredAt: fsm.Some(epoch), LastError: "note"},
		}})
	}
	lost := *commits[5].Task
	lost.Token[0]++
	held := commits[5].Task
	commits[5].Task = &lost
	if err := save(s, commits...); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("the error is %v, want a lost lease", err)
	}
	if n := d.count(t, "fsm_outbox WHERE state = 'delivering'"); n != crowd {
		t.Errorf("%d messages are being delivered, want all %d", n, crowd)
	}
	commits[5].Task = held
	must(t, save(s, commits...))
	const done = "fsm_outbox WHERE state = 'delivered' AND attempts = 1 AND delivered_at IS NOT NULL AND last_error = 'note' AND lease_token IS NULL"
	if n := d.count(t, done); n != crowd {
		t.Errorf("%d messages are delivered, want all %d", n, crowd)
	}
}

// TestManyLoads asks for many records at once, some of them twice or not there.
func TestManyLoads(t *testing.T) {
	d := openDatabase(t)
	s := d.migrated(t)
	for n := range crowd {
		must(t, save(s, creation(t, n)))
	}
	wanted := []int{7, 3, 900, 3, 0, 11, 901}
	queries := make([]store.Query, len(wanted))
	for i, n := range wanted {
		queries[i] = query(n)
	}
	queries[4].IdempotencyKeys = []string{"call:none"} // asks for more than the record
	var rows []store.Row
	must(t, s.InTx(context.Background(), func(tx pgx.Tx) (err error) {
		rows, err = s.Load(context.Background(), tx, queries)
		return err
	}))
	for i, n := range wanted {
		switch r, _ := rows[i].Record.(*deal.Record); {
		case n >= crowd && (rows[i].Record != nil || rows[i].Version != 0):
			t.Errorf("row %d is %+v, and there is no deal %d", i, rows[i], n)
		case n < crowd && (r == nil || fmt.Sprint(r.DealID) != id(n) || rows[i].Version != 1):
			t.Errorf("row %d is %+v, want deal %d", i, rows[i], n)
		}
	}
}
