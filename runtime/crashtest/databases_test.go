package crashtest_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/fsmgen/fsmgen/adapters/postgres"
	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/runtime/crashtest"
	"github.com/fsmgen/fsmgen/runtime/engine"
)

type (
	sqliteTx   = *sql.Tx
	postgresTx = pgx.Tx
)

// sqliteAt is the database in a file. A killed process leaves what it has given
// to the kernel, so nothing here waits for the disk.
func sqliteAt(file string) crashtest.Database[sqliteTx] {
	return crashtest.Database[sqliteTx]{
		Open: func(ctx context.Context) (engine.Store[sqliteTx], func() error, error) {
			s, err := sqlite.Open(ctx, file, sqlite.Options{Synchronous: sqlite.Normal})
			if err != nil {
				return nil, nil, err
			}
			return s, s.Close, nil
		},
		Exec: func(ctx context.Context, tx sqliteTx, statement string) error {
			_, err := tx.ExecContext(ctx, statement)
			return err
		},
		SQL: func() (*sql.DB, error) { return sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)") },
	}
}

// postgresIn is the database in a schema.
func postgresIn(dsn, schema string) crashtest.Database[postgresTx] {
	options := postgres.Options{Schema: schema}
	return crashtest.Database[postgresTx]{
		Open: func(ctx context.Context) (engine.Store[postgresTx], func() error, error) {
			config, err := postgres.PoolConfig(dsn, options)
			if err != nil {
				return nil, nil, err
			}
			pool, err := pgxpool.NewWithConfig(ctx, config)
			if err != nil {
				return nil, nil, err
			}
			s, err := postgres.New(pool, options)
			return s, func() error {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
				defer cancel()
				defer pool.Close()
				return s.Close(ctx)
			}, err
		},
		Exec: func(ctx context.Context, tx postgresTx, statement string) error {
			_, err := tx.Exec(ctx, statement)
			return err
		},
		SQL: func() (*sql.DB, error) {
			config, err := pgx.ParseConfig(dsn)
			if err != nil {
				return nil, err
			}
			config.RuntimeParams["search_path"] = schema
			return stdlib.OpenDB(*config), nil
		},
	}
}

// postgresDSN is the server of FSMGEN_POSTGRES_DSN. Without one the test is
// skipped, or fails where FSMGEN_REQUIRE_PARTS is 1.
func postgresDSN(t testing.TB) string {
	t.Helper()
	dsn := os.Getenv("FSMGEN_POSTGRES_DSN")
	switch {
	case dsn == "" && os.Getenv("FSMGEN_REQUIRE_PARTS") == "1":
		t.Fatal("FSMGEN_POSTGRES_DSN is not set, and FSMGEN_REQUIRE_PARTS demands PostgreSQL")
	case dsn == "":
		t.Skip("FSMGEN_POSTGRES_DSN is not set: nothing was tested against PostgreSQL")
	}
	return dsn
}

// newSchema is a schema that goes with the test; the store creates it.
func newSchema(t testing.TB, dsn string) string {
	t.Helper()
	name := make([]byte, 8)
	_, _ = rand.Read(name) // never fails
	schema := "fsmgen_crash_" + hex.EncodeToString(name)
	t.Cleanup(func() {
		db, err := sql.Open("pgx", dsn)
		if err == nil {
			_, err = db.Exec("DROP SCHEMA IF EXISTS " + schema + " CASCADE")
			_ = db.Close() // nothing is left to do with it
		}
		if err != nil {
			t.Error(err)
		}
	})
	return schema
}
