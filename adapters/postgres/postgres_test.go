package postgres

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/storetest"
)

// TestStore sits the exam that every store sits.
func TestStore(t *testing.T) { storetest.Run(t, newSubject) }

// TestEngine lets an engine work on the store.
func TestEngine(t *testing.T) { storetest.Engine(t, newSubject) }

// newSubject opens an empty schema for the exam.
func newSubject(t *testing.T) storetest.Subject[pgx.Tx] {
	d := openDatabase(t)
	store := d.store(t)
	return storetest.Subject[pgx.Tx]{
		Store:  store,
		Reopen: func(t *testing.T) engine.Store[pgx.Tx] { return d.store(t) },
		Exec: func(ctx context.Context, tx pgx.Tx, statement string) error {
			_, err := tx.Exec(ctx, statement)
			return err
		},
		Break: func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "SELECT pg_terminate_backend(pg_backend_pid())")
			return err
		},
		Count:     d.count,
		Vandalise: d.vandalise,
		MigrateTo: store.MigrateTo,
		Version:   Version,
	}
}

// database is a schema of the test's own on the server of FSMGEN_POSTGRES_DSN.
type database struct {
	dsn    string
	schema string
	pool   *pgxpool.Pool
}

// openDatabase makes a schema that goes with the test. Without a server it skips the
// test, or fails it where FSMGEN_REQUIRE_PARTS is 1.
func openDatabase(t testing.TB) *database {
	t.Helper()
	dsn := os.Getenv("FSMGEN_POSTGRES_DSN")
	switch {
	case dsn == "" && os.Getenv("FSMGEN_REQUIRE_PARTS") == "1":
		t.Fatal("FSMGEN_POSTGRES_DSN is not set, and FSMGEN_REQUIRE_PARTS demands PostgreSQL")
	case dsn == "":
		t.Skip("FSMGEN_POSTGRES_DSN is not set: nothing was tested against PostgreSQL")
	}
	name := make([]byte, 8)
	_, _ = rand.Read(name) // never fails
	d := &database{dsn: dsn, schema: "fsmgen_" + hex.EncodeToString(name)}
	d.pool = d.newPool(t)
	t.Cleanup(func() { d.exec(t, "DROP SCHEMA IF EXISTS "+d.schema+" CASCADE") })
	return d
}

// newPool opens connections that find the schema's tables.
func (d *database) newPool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	config, err := PoolConfig(d.dsn, Options{Schema: d.schema})
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 20
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// store opens a store on connections of its own, as another process has it.
func (d *database) store(t testing.TB) *Store {
	t.Helper()
	s, err := New(d.newPool(t), Options{Schema: d.schema})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func (d *database) exec(t testing.TB, sql string) {
	t.Helper()
	if _, err := d.pool.Exec(context.Background(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func (d *database) count(t *testing.T, from string) (n int) {
	t.Helper()
	if err := d.pool.QueryRow(context.Background(), "SELECT count(*) FROM "+from).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// vandalise drops the CHECK constraints of a table, which can't be switched
// off, and switches its triggers off.
func (d *database) vandalise(t *testing.T, table, statement string) {
	t.Helper()
	d.exec(t, `DO $$ DECLARE c text; BEGIN
		FOR c IN SELECT conname FROM pg_constraint WHERE conrelid = '`+table+`'::regclass AND contype = 'c' LOOP
			EXECUTE format('ALTER TABLE `+table+` DROP CONSTRAINT %I', c);
		END LOOP;
	END $$;
	ALTER TABLE `+table+` DISABLE TRIGGER USER;
	`+statement+`;
	ALTER TABLE `+table+` ENABLE TRIGGER USER`)
}
