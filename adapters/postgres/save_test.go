package postgres

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/internal/pgtest"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// TestRoundTrips counts what goes over the wire: an event is a read and one
// write.
func TestRoundTrips(t *testing.T) {
	d := openDatabase(t)
	d.migrated(t)
	p := pgtest.Proxy(t, d.dsn)
	s := d.storeThrough(t, p)
	s.notifier.busy = true // no NOTIFY among what is counted
	ctx := context.Background()
	event := func(n int, last bool) {
		t.Helper()
		must(t, s.InTx(ctx, func(tx pgx.Tx) error {
			if _, err := s.Load(ctx, tx, []store.Query{query(n)}); err != nil {
				return err
			}
			c := creation(t, n)
			c.SetDeadlines = []store.Deadline{deadlineOf(n, epoch)}
			c.IdempotencyKeys = []store.IdempotencyKey{{Machine: "deal", Key: id(n), RecordID: id(n), Event: "CREATE", Version: 1, CreatedAt: epoch}}
			c.Last = last
			return s.Save(ctx, tx, []store.Commit{c})
		}))
	}
	event(1, true) // prepares the statements
	event(4, false)
	if n := p.RoundTrips(func() { event(2, true) }); n != 2 {
		t.Errorf("an event that is the last write took %d round trips, want 2", n)
	}
	if n := p.RoundTrips(func() { event(3, false) }); n != 3 {
		t.Errorf("an event with a commit of its own took %d round trips, want 3", n)
	}
}

// TestConflictSkipsTheCommit saves a chain of two steps with the commit in the
// same pipeline. Another writer has taken the first step meanwhile, so the
// second step finds the record exactly as it expects it; neither may be stored.
func TestConflictSkipsTheCommit(t *testing.T) {
	d := openDatabase(t)
	s := d.migrated(t)
	must(t, save(s, creation(t, 1)))
	chain := store.Commit{Machine: "deal", Tables: deals().Tables(), ID: id(1), IDValue: id(1), Last: true}
	record := load(t, s, 1).Record
	for i, e := range []fsm.Payload{deal.SubmitOffer{}, deal.Withdraw{}} {
		event, err := fsm.EventOf(e)
		must(t, err)
		decision, err := deals().Fire(record, event, fsm.Input{By: deal.ByAdvertiser(7).Caller(), Now: epoch})
		must(t, err)
		record = decision.Record
		c := commitOf(1, int64(i+1), decision.Steps)
		if i == 0 {
			must(t, save(s, c)) // the other writer
			c.Steps[0].EventID = eventID(2, 2)
		}
		chain.Steps = append(chain.Steps, c.Steps...)
	}
	err := save(s, chain)
	var conflict *store.ConflictError
	if !errors.As(err, &conflict) || conflict.Expected != 1 || conflict.Version != 2 || conflict.State != "OFFER_PENDING" {
		t.Fatalf("the error is %v, want a conflict at version 2", err)
	}
	if row := load(t, s, 1); row.Version != 2 {
		t.Errorf("the record is at version %d, want 2", row.Version)
	}
	if n := d.count(t, "deal_events"); n != 2 {
		t.Errorf("there are %d history rows, want 2", n)
	}
}

// TestCommitThatFailsIsNoSuccess: a constraint that is checked only at commit,
// which all statements have passed before.
func TestCommitThatFailsIsNoSuccess(t *testing.T) {
	d := openDatabase(t)
	s := d.migrated(t)
	d.exec(t, `CREATE TABLE nowhere (message_id uuid PRIMARY KEY);
		ALTER TABLE fsm_outbox ADD FOREIGN KEY (message_id) REFERENCES nowhere DEFERRABLE INITIALLY DEFERRED`)
	for _, last := range []bool{true, false} {
		c := creation(t, 1)
		c.Last = last
		err := save(s, c)
		var unknown *UnknownOutcomeError
		if err == nil || errors.As(err, &unknown) {
			t.Errorf("last %v: the error is %v, want a refusal", last, err)
		}
		if n := d.count(t, "deals"); n != 0 {
			t.Errorf("last %v: %d deals were stored", last, n)
		}
	}
}

// TestUserQueriesAndSavesShareATransaction uses every door of the transaction
// that InTx hands out, each as the first.
func TestUserQueriesAndSavesShareATransaction(t *testing.T) {
	d := openDatabase(t)
	s := d.migrated(t)
	d.exec(t, "CREATE TABLE mine (n bigint)")
	ctx := context.Background()
	for name, first := range map[string]func(tx pgx.Tx) error{
		"exec": func(tx pgx.Tx) error { _, err := tx.Exec(ctx, "INSERT INTO mine VALUES (1)"); return err },
		"query": func(tx pgx.Tx) error {
			rows, err := tx.Query(ctx, "INSERT INTO mine VALUES (1) RETURNING n")
			if err != nil {
				return err
			}
			_, err = pgx.CollectRows(rows, pgx.RowTo[int64])
			return err
		},
		"row": func(tx pgx.Tx) error {
			var n int64
			return tx.QueryRow(ctx, "INSERT INTO mine VALUES (1) RETURNING n").Scan(&n)
		},
		"copy": func(tx pgx.Tx) error {
			_, err := tx.CopyFrom(ctx, pgx.Identifier{"mine"}, []string{"n"}, pgx.CopyFromRows([][]any{{int64(1)}}))
			return err
		},
		"prepare": func(tx pgx.Tx) error {
			if _, err := tx.Prepare(ctx, "mine", "INSERT INTO mine VALUES (1)"); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "mine")
			return err
		},
		"savepoint": func(tx pgx.Tx) error {
			return pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error { _, err := tx.Exec(ctx, "INSERT INTO mine VALUES (1)"); return err })
		},
		"batch": func(tx pgx.Tx) error {
			b := &pgx.Batch{}
			b.Queue("INSERT INTO mine VALUES (1)")
			return tx.SendBatch(ctx, b).Close()
		},
		"large object": func(tx pgx.Tx) error {
			objects := tx.LargeObjects()
			if _, err := objects.Create(ctx, 0); err != nil {
				return err
			}
			_, err := tx.Conn().Exec(ctx, "INSERT INTO mine VALUES (1)")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			d.exec(t, "TRUNCATE mine")
			errUndo := errors.New("undo")
			if err := s.InTx(ctx, func(tx pgx.Tx) error { return errors.Join(first(tx), errUndo) }); !errors.Is(err, errUndo) {
				t.Fatal(err)
			}
			if n := d.count(t, "mine"); n != 0 {
				t.Fatalf("%d rows are there after a rollback", n)
			}
			must(t, s.InTx(ctx, first))
			if n := d.count(t, "mine"); n != 1 {
				t.Errorf("%d rows are there after a commit, want 1", n)
			}
		})
	}
}

func load(t *testing.T, s *Store, n int) store.Row {
	t.Helper()
	var rows []store.Row
	ctx := context.Background()
	must(t, s.InTx(ctx, func(tx pgx.Tx) (err error) {
		rows, err = s.Load(ctx, tx, []store.Query{query(n)})
		return err
	}))
	return rows[0]
}
