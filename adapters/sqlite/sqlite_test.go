package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/proptest/enginecases"
	"github.com/fsmgen/fsmgen/proptest/storetest"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func TestStore(t *testing.T) { storetest.Run(t, template(t)) }

func TestEngine(t *testing.T) { enginecases.Run(t, template(t)) }

// template creates every table once, in an empty file that each case copies. Creating
// the tables takes longer than most cases.
func template(t *testing.T) storetest.Open[*sql.Tx] {
	t.Helper()
	path := filepath.Join(t.TempDir(), "template.db")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Migrate(t.Context(), store.Machines(storetest.Machines[*sql.Tx]())), s.Close()); err != nil {
		t.Fatal(err)
	}
	made, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return func(t *testing.T) storetest.Subject[*sql.Tx] { return subject(t, made) }
}

// subject returns the Subject of a new file with this content.
func subject(t *testing.T, content []byte) storetest.Subject[*sql.Tx] {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return subjectOf(t, open(t, path, sqlite.Options{}), path)
}

// subjectOf returns the Subject of a store and its file.
func subjectOf(t *testing.T, db *sqlite.Store, path string) storetest.Subject[*sql.Tx] {
	t.Helper()
	other := sync.OnceValue(func() *sql.DB { return raw(t, path) })
	return storetest.Subject[*sql.Tx]{
		Store:  db,
		Reopen: func(t *testing.T) store.Store[*sql.Tx] { return open(t, path, sqlite.Options{}) },
		Exec: func(ctx context.Context, tx *sql.Tx, statement string) error {
			_, err := tx.ExecContext(ctx, statement)
			return err
		},
		Break:         fill,
		Count:         func(t *testing.T, from string) int { return countIn(t, other(), from) },
		ExecUnchecked: func(t *testing.T, table, statement string) { execUnchecked(t, path, table, statement) },
		AllowAnyRows:  func(t *testing.T) { allowAnyRows(t, path) },
		MigrateTo:     db.MigrateTo,
		Version:       11,
	}
}

// fill writes more than fits into the file.
func fill(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, `PRAGMA max_page_count = 1; CREATE TABLE filler (b blob); INSERT INTO filler VALUES (zeroblob(10000000))`)
	_, back := tx.ExecContext(context.WithoutCancel(ctx), "PRAGMA max_page_count = 1073741823")
	return errors.Join(err, back)
}

// open opens a store that is closed with the test.
func open(t testing.TB, path string, o sqlite.Options) *sqlite.Store {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// raw is a connection that knows nothing of the store.
func raw(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_busy_timeout=5000")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func count(t testing.TB, path, from string) int {
	t.Helper()
	return countIn(t, raw(t, path), from)
}

func countIn(t testing.TB, db *sql.DB, from string) (n int) {
	t.Helper()
	if err := db.QueryRow("SELECT count(*) FROM " + from).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// execUnchecked runs a statement without the triggers and CHECKs of a table, as the
// owner of the file can.
func execUnchecked(t testing.TB, path, table, statement string) {
	t.Helper()
	db := raw(t, path)
	rows, err := db.Query("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?", table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	run := []string{"PRAGMA ignore_check_constraints = ON"}
	var back []string
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			t.Fatal(err)
		}
		run, back = append(run, fmt.Sprintf("DROP TRIGGER %q", name)), append(back, text)
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	for _, s := range append(append(run, statement), back...) {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// allowAnyRows drops the triggers that Migrate writes.
func allowAnyRows(t testing.TB, path string) {
	t.Helper()
	db := raw(t, path)
	rows, err := db.Query(`SELECT name FROM sqlite_schema WHERE type = 'trigger'
		AND (name GLOB 'fsm_*_cause' OR name GLOB 'fsm_message_*' OR name GLOB 'fsm_deadline_*' OR name GLOB 'fsm_moved_*'
			OR name GLOB 'fsm_cleared_*' OR name GLOB 'fsm_key_*')`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		t.Fatal("there are no rules to drop")
	}
	for _, name := range names {
		if _, err := db.Exec("DROP TRIGGER " + name); err != nil {
			t.Fatal(err)
		}
	}
}
