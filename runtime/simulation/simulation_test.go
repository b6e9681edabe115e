package simulation_test

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/runtime/simulation"
)

// specs is where the tables of the machines are.
const specs = "../../spec"

// sqlites plays on SQLite files, each a copy of one that is migrated once.
func sqlites(t *testing.T) simulation.Simulation[*sql.Tx] {
	t.Helper()
	empty := filepath.Join(t.TempDir(), "empty.db")
	s := openSQLite(t, empty)
	if err := simulation.Prepare(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if _, err := s.DB.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(empty)
	if err != nil {
		t.Fatal(err)
	}
	return simulation.Simulation[*sql.Tx]{Tables: tables(t), Open: func(t *testing.T) simulation.Subject[*sql.Tx] {
		path := filepath.Join(t.TempDir(), "play.db")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		return openSQLite(t, path)
	}}
}

func openSQLite(t *testing.T, path string) simulation.Subject[*sql.Tx] {
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
	return simulation.Subject[*sql.Tx]{Store: store, Exec: exec, DB: db}
}

func tables(t *testing.T) []*ir.Machine {
	t.Helper()
	all, err := simulation.Tables(specs)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestSeeds plays FSMGEN_SEEDS plays on SQLite, or the one of FSMGEN_SEED, whose
// log it shows. Default: 1000 plays, fewer under the race detector.
func TestSeeds(t *testing.T) {
	s := sqlites(t)
	if seed, ok := number(t, "FSMGEN_SEED"); ok {
		r := s.Run(t, seed)
		t.Log(r.Log)
		report(t, seed, r)
		return
	}
	seeds, ok := number(t, "FSMGEN_SEEDS")
	if !ok {
		seeds = 1000
		if raceDetector() {
			seeds = 100
			t.Logf("the race detector is on: %d seeds", seeds)
		}
	}
	var mu sync.Mutex
	counts := map[string]int{}
	t.Run("plays", func(t *testing.T) {
		hands := uint64(runtime.GOMAXPROCS(0))
		for first := range hands {
			t.Run(fmt.Sprint(first), func(t *testing.T) {
				t.Parallel()
				for seed := first; seed < seeds; seed += hands {
					r := s.Run(t, seed)
					report(t, seed, r)
					mu.Lock()
					for what, n := range r.Counts {
						counts[what] += n
					}
					mu.Unlock()
				}
			})
		}
	})
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%8d %s", counts[what], what)
	}
	missing := slices.DeleteFunc(simulation.Happenings(), func(what string) bool { return counts[what] > 0 })
	all := len(simulation.Happenings())
	t.Logf("%d seeds on SQLite, %d of %d happenings", seeds, all-len(missing), all)
	const enough = 1000 // plays for each to happen
	if len(missing) > 0 && seeds >= enough {
		t.Errorf("never happened: %q", missing)
	}
}

// raceDetector reports whether this test was built with -race.
func raceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "-race" && s.Value == "true" })
}

// report fails the test with what a play found and how to see it again.
func report(t *testing.T, seed uint64, r simulation.Report) {
	t.Helper()
	if len(r.Problems) > 0 {
		t.Errorf("seed %d:\n  %s\nsee it again: FSMGEN_SEED=%d go test ./runtime/simulation -run '^TestSeeds$' -v",
			seed, strings.Join(r.Problems, "\n  "), seed)
	}
}

func number(t *testing.T, name string) (uint64, bool) {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n, true
}
