package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func newStore(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestPollingNeverScans reads the plans of what idle workers ask again and
// again, and of what every event writes: each goes by an index. So it does when
// an operator has the tables analyzed while all rows are due at once, and the
// planner thinks that an index is of no use.
func TestPollingNeverScans(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	deals := deal.Define[*sql.Tx](nil, deal.DefaultParams())
	if err := s.Migrate(t.Context(), []store.Machine{deals}); err != nil {
		t.Fatal(err)
	}
	t.Run("as made", func(t *testing.T) { plansGoByIndex(t, s, newStatements(deals.Tables())) })
	err := s.inTx(t.Context(), func(tx *sql.Tx) error {
		if err := dropRules(t.Context(), tx); err != nil { // the messages are made up
			return err
		}
		return s.Save(t.Context(), tx, []store.Commit{much(1000)})
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.writer.Exec("ANALYZE"); err != nil {
		t.Fatal(err)
	}
	t.Run("analyzed", func(t *testing.T) { plansGoByIndex(t, s, newStatements(deals.Tables())) })
}

// much is a commit with so many messages and deadlines that are due.
func much(n int) store.Commit {
	c := store.Commit{Machine: "deal", ID: "r"}
	for i := range n {
		id := fmt.Sprint(i)
		row := store.OutboxMessage{MessageID: id, Machine: "deal", RecordID: id, Effect: "e", Destination: "l", Delivery: fsm.Keyed}
		row.MessageState = store.MessageState{State: "pending", AvailableAt: fsm.Some(row.CreatedAt)}
		c.Outbox = append(c.Outbox, row)
		c.SetDeadlines = append(c.SetDeadlines, store.Deadline{Machine: "deal", RecordID: id, Kind: store.DeadlineTimeout, DueAt: row.CreatedAt, Event: fsm.Event{Name: "EXPIRE"}})
	}
	return c
}

func plansGoByIndex(t *testing.T, s *Store, st *statements) {
	for name, tt := range map[string]struct{ query, index string }{
		"destinations with effects":   {destinationsWithEffects, "fsm_outbox_due"},
		"machines with deadlines":     {machinesWithDeadlines, "fsm_deadlines_due"},
		"effects that are due":        {dueEffects, "fsm_outbox_due"},
		"the head of an ordering key": {dueEffects, "fsm_outbox_ordering_key"},
		"deadlines that are due":      {dueDeadlines, "fsm_deadlines_due"},
		"work to cancel":              {cancelWork, "fsm_outbox_ordering_key"},
		"what waits behind a head":    {firstParked, "fsm_outbox_parked"},
		"parking":                     {park, "fsm_outbox USING PRIMARY KEY"},
		"dead letters":                {deadLetters, "fsm_outbox_dead"},
		"settling":                    {settleEffect + ofWorker, "fsm_outbox USING PRIMARY KEY"},
		"loading":                     {st.load, "deals USING PRIMARY KEY"},
		"records above an id":         {st.list[0][1], "deals USING PRIMARY KEY (deal_id>?)"},
		"moving":                      {st.updates.text([]int{1, 2}), "deals USING PRIMARY KEY"},
		"history":                     {st.history, "h USING PRIMARY KEY (deal_id=? AND version>?)"},
	} {
		plan := explain(t, s, tt.query)
		if scans(plan) || !strings.Contains(plan, tt.index) {
			t.Errorf("%s does not go by %s:\n%s", name, tt.index, plan)
		}
		if strings.HasPrefix(name, "effects") && strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s are sorted:\n%s", name, plan)
		}
	}
}

// firstParked is what the trigger fsm_outbox_unpark looks for.
const firstParked = `SELECT message_id FROM fsm_outbox AS p
	WHERE p.machine = ?1 AND p.record_id = ?2 AND p.destination = ?3 AND p.parked = 1 AND p.cancelled = 0
	ORDER BY p.version, p.seq LIMIT 1`

// scans reports whether a plan reads a table from end to end: not a list
// that was given, and not the index that holds dead letters alone.
func scans(plan string) bool {
	for _, line := range strings.Split(plan, "\n") {
		if strings.Contains(line, "SCAN") && !strings.Contains(line, "VIRTUAL TABLE") && !strings.Contains(line, "USING INDEX fsm_outbox_dead") {
			return true
		}
	}
	return false
}

// explain returns the plan of a statement.
func explain(t *testing.T, s *Store, query string) string {
	t.Helper()
	args := []any{"deal", "~", 1, "[]", "l", false, "[]"} // of a machine, until a time that is later than any
	if query == deadLetters {
		args = deadLetterValues(store.Read{Filter: store.Filter{Machine: "deal"}, AfterMessage: &store.OutboxMessage{}, Limit: 1})
	} else {
		args = args[:highest(query)]
	}
	if !strings.Contains(query, "?1") {
		args = slices.Repeat([]any{1}, strings.Count(query, "?"))
	}
	var plan strings.Builder
	err := each(context.Background(), s.writer, func(c *cells) {
		c.at = 3
		plan.WriteString(c.text() + "\n")
	}, "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return plan.String()
}

// highest is the number of the last numbered parameter.
func highest(query string) (n int) {
	for strings.Contains(query, fmt.Sprintf("?%d", n+1)) {
		n++
	}
	return n
}

// TestMigrationsAreAllThere compares the files with the list of names.
func TestMigrationsAreAllThere(t *testing.T) {
	t.Parallel()
	files, err := migrations.ReadDir("migrations")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 2*known {
		t.Errorf("there are %d files for %d migrations", len(files), known)
	}
	for _, name := range names {
		for _, way := range []string{".up.sql", ".down.sql"} {
			if _, err := migrations.ReadFile(path.Join("migrations", name+way)); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestAReadOnlyFile makes the connection that writes one that must not.
func TestAReadOnlyFile(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	if err := s.Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.writer.Exec("PRAGMA query_only = ON"); err != nil {
		t.Fatal(err)
	}
	err := s.InTx(t.Context(), func(tx *sql.Tx) error {
		return s.Save(t.Context(), tx, []store.Commit{{Machine: "m", ID: "r", IdempotencyKeys: []store.IdempotencyKey{{Machine: "m", Key: "k"}}}})
	})
	if !errors.Is(err, ErrReadOnly) || !errors.Is(err, store.ErrStore) {
		t.Fatalf("the error is %v", err)
	}
}

// TestTablesOfAnotherVersion has a machine meet tables that lack what it needs,
// and one that refers to a machine which is not there.
func TestTablesOfAnotherVersion(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	ctx := t.Context()
	deals := deal.Define[*sql.Tx](nil, deal.DefaultParams())
	unpacks := unpack.Define[*sql.Tx](nil, unpack.DefaultParams())
	var table *store.TableError
	if err := s.Migrate(ctx, []store.Machine{unpacks}); !errors.As(err, &table) || table.Table != "unpacked_images" || table.Missing[0] != "images" {
		t.Fatalf("the error is %v", err)
	}
	if err := s.Migrate(ctx, []store.Machine{deals}); err != nil {
		t.Fatal(err)
	}
	err := s.InTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DROP TRIGGER deal_update; ALTER TABLE deals DROP COLUMN publish_at")
		return err
	})
	if err == nil {
		t.Fatal("a CHECK names the column: it can't be dropped")
	}
	err = s.InTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "ALTER TABLE deals RENAME COLUMN publish_at TO posted_at")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Migrate(ctx, []store.Machine{deals}); !errors.As(err, &table) || table.Machine != "deal" || table.Missing[0] != "publish_at" {
		t.Fatalf("the error is %v", err)
	}
}
