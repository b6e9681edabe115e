package simulate_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/proptest"
	"github.com/fsmgen/fsmgen/proptest/simulate"
	"github.com/fsmgen/fsmgen/runtime/engine"
)

type sqliteMachines = []engine.Machine[*sql.Tx]

// onSQLite runs on SQLite files, each a copy of one that was prepared for the same
// machines.
func onSQLite(t *testing.T) simulate.Simulation[*sql.Tx] {
	t.Helper()
	var mu sync.Mutex
	prepared := map[string][]byte{}
	return simulate.Simulation[*sql.Tx]{Tables: tables(t), Open: func(t *testing.T, machines sqliteMachines) simulate.Subject[*sql.Tx] {
		mu.Lock()
		key := names(machines)
		if prepared[key] == nil {
			prepared[key] = prepare(t, machines)
		}
		file := prepared[key]
		mu.Unlock()
		path := filepath.Join(t.TempDir(), "run.db")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		return openSQLite(t, path)
	}}
}

func names(machines sqliteMachines) string {
	var b strings.Builder
	for _, m := range machines {
		b.WriteString(m.Name() + " ")
	}
	return b.String()
}

// prepare returns the content of a file with the tables of machines.
func prepare(t *testing.T, machines sqliteMachines) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "empty.db")
	s := openSQLite(t, path)
	if err := simulate.Prepare(t.Context(), s, machines); err != nil {
		t.Fatal(err)
	}
	if _, err := s.DB.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func openSQLite(t *testing.T, path string) simulate.Subject[*sql.Tx] {
	t.Helper()
	store, err := sqlite.Open(context.Background(), path, sqlite.Options{Synchronous: sqlite.Normal, Readers: 1})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	exec := func(ctx context.Context, tx *sql.Tx, statement string) error {
		_, err := tx.ExecContext(ctx, statement)
		return err
	}
	return simulate.Subject[*sql.Tx]{Store: store, Exec: exec, DB: db}
}

func tables(t *testing.T) []*ir.Machine {
	t.Helper()
	const specs = "../../spec"
	all, err := proptest.Machines(specs)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
