//go:build !race

package simulate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/fsmgen/fsmgen/adapters/postgres"
	"github.com/fsmgen/fsmgen/internal/pgtest"
	"github.com/fsmgen/fsmgen/proptest/simulate"
	"github.com/fsmgen/fsmgen/runtime/engine"
)

// TestStoresAgree compares the logs of a seed between the stores.
func TestStoresAgree(t *testing.T) {
	p := onPostgreSQL(t)
	s := onSQLite(t)
	list := seeds(t, 40)
	lines := 0
	for _, seed := range list {
		there, here := runSeed(t, p, seed, "TestStoresAgree"), runSeed(t, s, seed, "TestSeeds")
		if there.Log != here.Log {
			t.Errorf("seed %d: SQLite (want) and PostgreSQL (got) differ:\n%s", seed, difference(here.Log, there.Log))
		}
		lines += strings.Count(there.Log, "\n")
	}
	if t.Failed() {
		return
	}
	proof(t, "%d seeds, SQLite and PostgreSQL agree on each of %d lines of their logs", len(list), lines)
}

// onPostgreSQL runs on PostgreSQL, each run in a schema of its own.
func onPostgreSQL(t *testing.T) simulate.Simulation[pgx.Tx] {
	t.Helper()
	dsn := pgtest.DSN(t)
	return simulate.Simulation[pgx.Tx]{Tables: tables(t), Open: func(t *testing.T, machines []engine.Machine[pgx.Tx]) simulate.Subject[pgx.Tx] {
		s := openPostgres(t, dsn, pgtest.Schema(t, dsn))
		if err := simulate.Prepare(t.Context(), s, machines); err != nil {
			t.Fatal(err)
		}
		return s
	}}
}

func openPostgres(t *testing.T, dsn, schema string) simulate.Subject[pgx.Tx] {
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
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return simulate.Subject[pgx.Tx]{Store: store, DB: db, Exec: func(ctx context.Context, tx pgx.Tx, statement string) error {
		_, err := tx.Exec(ctx, statement)
		return err
	}}
}

// difference shows the first line that differs, with the lines around it.
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
