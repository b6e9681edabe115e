package dbtest

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/adapters/postgres"
	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/internal/pgtest"
	"github.com/fsmgen/fsmgen/runtime/store"
	"github.com/fsmgen/fsmgen/services/deal/internal/sqltx"
)

// Database is a database of one test.
type Database[T any] struct {
	store.Store[T]
	// Statements runs statements in a transaction of the store.
	Statements func(T) sqltx.Tx
	// Again opens the database once more, as another process does. It is closed with the test.
	Again func(testing.TB) store.Store[T]
}

// OnBoth runs a test on both databases, as two subtests.
func OnBoth(t *testing.T, lite func(*testing.T, Database[*sql.Tx]), server func(*testing.T, Database[pgx.Tx])) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		lite(t, SQLite(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		server(t, Postgres(t))
	})
}

// SQLite returns a database in a file of its own.
func SQLite(t testing.TB) Database[*sql.Tx] {
	t.Helper()
	path := filepath.Join(t.TempDir(), "deals.db")
	s := openSQLite(t, path)
	must(t, s.Migrate(t.Context(), nil))
	again := func(t testing.TB) store.Store[*sql.Tx] { return openSQLite(t, path) }
	return Database[*sql.Tx]{Store: s, Statements: sqltx.SQLite, Again: again}
}

// openSQLite does not wait for the disk: no test takes the power away.
func openSQLite(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Synchronous: sqlite.Normal})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// Postgres returns a database in a schema of its own on the server that tools/parts runs.
func Postgres(t testing.TB) Database[pgx.Tx] {
	t.Helper()
	dsn := pgtest.DSN(t)
	layout := postgres.Options{Schema: pgtest.Schema(t, dsn)}
	s := openPostgres(t, dsn, layout)
	must(t, s.MigrateTo(t.Context(), postgres.Version))
	again := func(t testing.TB) store.Store[pgx.Tx] { return openPostgres(t, dsn, layout) }
	return Database[pgx.Tx]{Store: s, Statements: sqltx.Postgres, Again: again}
}

func openPostgres(t testing.TB, dsn string, layout postgres.Options) *postgres.Store {
	t.Helper()
	config, err := postgres.PoolConfig(dsn, layout)
	must(t, err)
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	must(t, err)
	t.Cleanup(pool.Close)
	s, err := postgres.New(pool, layout)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close(context.WithoutCancel(t.Context()))) })
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
