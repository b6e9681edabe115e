package ddl_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/syntax"
	"github.com/fsmgen/fsmgen/internal/pgtest"
)

// database is one connection to an empty schema of its own.
type database struct {
	server
	conn *sql.Conn
}

// eachDatabase runs a test in SQLite and in PostgreSQL. PostgreSQL is the one
// at FSMGEN_POSTGRES_DSN.
func eachDatabase(t *testing.T, test func(t *testing.T, db *database)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, openSQLite(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, openPostgres(t)) })
}

func openSQLite(t *testing.T) *database {
	t.Helper()
	file := url.URL{Path: filepath.Join(t.TempDir(), "test.db")} // the name of a test may hold a #
	path := "file:" + file.EscapedPath() + "?_pragma=foreign_keys(1)&_pragma=synchronous(off)"
	return &database{server: sqliteServer, conn: open(t, "sqlite", path)}
}

func openPostgres(t *testing.T) *database {
	t.Helper()
	dsn := pgtest.DSN(t)
	db := &database{server: postgresServer, conn: open(t, "pgx", dsn)}
	schema := fmt.Sprintf("ddl_test_%d_%s", os.Getpid(), strings.Map(identRune, strings.ToLower(t.Name())))
	if len(schema) > 60 {
		schema = schema[:60]
	}
	db.must(t, "SET client_min_messages = error", "DROP SCHEMA IF EXISTS "+schema+" CASCADE",
		"CREATE SCHEMA "+schema, "SET search_path = "+schema, "SET TIME ZONE 'Asia/Tokyo'")
	t.Cleanup(func() { db.must(t, "DROP SCHEMA "+schema+" CASCADE") })
	return db
}

// again is another connection to the schema.
func (db *database) again(t *testing.T) *database {
	t.Helper()
	other := &database{server: db.server, conn: open(t, "pgx", pgtest.DSN(t))}
	other.must(t, "SET search_path = "+db.text(t, "SELECT current_schema()"))
	return other
}

func identRune(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
		return r
	}
	return '_'
}

func open(t *testing.T, driver, dsn string) *sql.Conn {
	t.Helper()
	pool, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pool.Conn(context.Background())
	if err != nil {
		t.Fatalf("connect to %s: %v", driver, err)
	}
	t.Cleanup(func() {
		if err := errors.Join(conn.Close(), pool.Close()); err != nil {
			t.Error(err)
		}
	})
	return conn
}

func (db *database) exec(stmt string, args ...any) error {
	_, err := db.conn.ExecContext(context.Background(), stmt, args...)
	return err
}

func (db *database) must(t *testing.T, stmts ...string) {
	t.Helper()
	for _, stmt := range stmts {
		if err := db.exec(stmt); err != nil {
			t.Fatalf("%s: %v\n%s", db.name, err, stmt)
		}
	}
}

// create loads the machines' scripts. For the tests of other rules than that each
// step is told, it lifts that rule as far as a transaction that is rolled back may
// meet it.
func (db *database) create(t *testing.T, machines ...*ir.Machine) {
	t.Helper()
	db.load(t, func(m *ir.Machine) string { return db.forget(db.script(m)) }, machines...)
	if db.forgetting != "" {
		db.must(t, db.forgetting)
	}
}

// createWhole loads the machines' scripts.
func (db *database) createWhole(t *testing.T, machines ...*ir.Machine) {
	t.Helper()
	db.load(t, db.script, machines...)
}

func (db *database) load(t *testing.T, script func(*ir.Machine) string, machines ...*ir.Machine) {
	t.Helper()
	for _, m := range machines {
		if err := db.exec(script(m)); err != nil {
			t.Fatalf("%s: create %s: %v\n%s", db.name, m.Text, err, script(m))
		}
	}
}

// try runs the statements in a transaction that is rolled back and returns the
// error of the last one; the others must succeed.
func (db *database) try(t *testing.T, stmts ...string) error {
	t.Helper()
	db.must(t, "BEGIN")
	defer db.must(t, "ROLLBACK")
	last := len(stmts) - 1
	db.must(t, stmts[:last]...)
	return db.exec(stmts[last])
}

// commit runs the statements in a transaction.
func (db *database) commit(t *testing.T, stmts ...string) {
	t.Helper()
	db.must(t, append(append([]string{"BEGIN"}, stmts...), "COMMIT")...)
}

// text reads one value.
func (db *database) text(t *testing.T, query string) string {
	t.Helper()
	var s string
	if err := db.conn.QueryRowContext(context.Background(), query).Scan(&s); err != nil {
		t.Fatalf("%s: %v\n%s", db.name, err, query)
	}
	return s
}

// sqlState is the SQLSTATE of a PostgreSQL error.
func sqlState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// load lowers specs without checking them: what the checker refuses, the
// databases must refuse too. Each call returns machines of its own.
func load(t *testing.T, paths ...string) []*ir.Machine {
	t.Helper()
	list := &diag.List{}
	var files []*syntax.File
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, syntax.Parse("spec/"+filepath.Base(path), data, list))
	}
	machines := ir.Lower(files, list)
	if list.HasErrors() {
		for _, d := range list.Sorted() {
			t.Errorf("%s: %s %s", d.Span, d.Code, d.Message)
		}
		t.FailNow()
	}
	return machines
}

func sample(t *testing.T) *ir.Machine {
	t.Helper()
	return load(t, "testdata/sample.yaml")[0]
}
