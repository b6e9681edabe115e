package simulation_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/fsmgen/fsmgen/adapters/postgres"
	"github.com/fsmgen/fsmgen/runtime/simulation"
)

// TestSameSeedSameLog: nothing but the seed decides.
func TestSameSeedSameLog(t *testing.T) {
	s := sqlites(t)
	for seed := range uint64(30) {
		first, second := s.Run(t, seed), s.Run(t, seed)
		report(t, seed, first)
		if first.Log != second.Log {
			t.Fatalf("seed %d plays differently the second time:\n%s", seed, difference(first.Log, second.Log))
		}
	}
	if s.Run(t, 1).Log == s.Run(t, 2).Log {
		t.Error("another seed gives the same log")
	}
}

// TestStoresAgree: what a seed leads to does not depend on the store.
func TestStoresAgree(t *testing.T) {
	const seeds = 40
	p := postgreses(t)
	s := sqlites(t)
	steps := 0
	for seed := range uint64(seeds) {
		there, here := p.Run(t, seed), s.Run(t, seed)
		report(t, seed, there)
		if there.Log != here.Log {
			t.Errorf("seed %d: SQLite (want) and PostgreSQL (got) differ:\n%s", seed, difference(here.Log, there.Log))
		}
		steps += there.Counts["accepted"]
	}
	t.Logf("%d seeds, %d accepted calls: SQLite and PostgreSQL agree", seeds, steps)
}

// postgreses plays on PostgreSQL, each play in a schema of its own.
func postgreses(t *testing.T) simulation.Simulation[pgx.Tx] {
	t.Helper()
	dsn := os.Getenv("FSMGEN_POSTGRES_DSN")
	switch {
	case dsn == "" && os.Getenv("FSMGEN_REQUIRE_PARTS") == "1":
		t.Fatal("FSMGEN_POSTGRES_DSN is not set, and FSMGEN_REQUIRE_PARTS demands PostgreSQL")
	case dsn == "":
		t.Skip("FSMGEN_POSTGRES_DSN is not set: the logs of SQLite and PostgreSQL were not compared")
	}
	plays := 0
	return simulation.Simulation[pgx.Tx]{Tables: tables(t), Open: func(t *testing.T) simulation.Subject[pgx.Tx] {
		plays++
		return openPostgres(t, dsn, fmt.Sprintf("fsmgen_simulation_%d_%d", os.Getpid(), plays))
	}}
}

func openPostgres(t *testing.T, dsn, schema string) simulation.Subject[pgx.Tx] {
	t.Helper()
	ctx := context.Background()
	options := postgres.Options{Schema: schema}
	config, err := postgres.PoolConfig(dsn, options)
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 3
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	store, err := postgres.New(pool, options)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDBFromPool(pool)
	t.Cleanup(func() {
		if err := store.Close(ctx); err != nil {
			t.Error(err)
		}
		if _, err := db.ExecContext(ctx, "DROP SCHEMA "+schema+" CASCADE"); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	s := simulation.Subject[pgx.Tx]{Store: store, DB: db, Exec: func(ctx context.Context, tx pgx.Tx, statement string) error {
		_, err := tx.Exec(ctx, statement)
		return err
	}}
	if err := simulation.Prepare(ctx, s); err != nil {
		t.Fatal(err)
	}
	return s
}

// difference shows the first line that is another, with what led there.
func difference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	n := 0
	for n < min(len(w), len(g)) && w[n] == g[n] {
		n++
	}
	show := func(lines []string) string {
		return strings.Join(lines[max(0, min(n, len(lines))-8):min(n+4, len(lines))], "\n  ")
	}
	return fmt.Sprintf("line %d\nwant:\n  %s\ngot:\n  %s", n+1, show(w), show(g))
}
