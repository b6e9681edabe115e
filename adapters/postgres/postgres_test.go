package postgres

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/internal/pgtest"
	"github.com/fsmgen/fsmgen/internal/proxytest"
	"github.com/fsmgen/fsmgen/proptest/enginecases"
	"github.com/fsmgen/fsmgen/proptest/storetest"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// TestStore runs the conformance suite of stores.
func TestStore(t *testing.T) { storetest.Run(t, newSubject) }

// TestEngine runs the cases of an engine on the store.
func TestEngine(t *testing.T) { enginecases.Run(t, newSubject) }

// newSubject creates an empty schema.
func newSubject(t *testing.T) storetest.Subject[pgx.Tx] { return openDatabase(t).subject(t) }

// subject returns the Subject of the schema.
func (d *database) subject(t *testing.T) storetest.Subject[pgx.Tx] {
	db := d.store(t)
	return storetest.Subject[pgx.Tx]{
		Store:  db,
		Reopen: func(t *testing.T) store.Store[pgx.Tx] { return d.store(t) },
		Exec: func(ctx context.Context, tx pgx.Tx, statement string) error {
			_, err := tx.Exec(ctx, statement)
			return err
		},
		Break: func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "SELECT pg_terminate_backend(pg_backend_pid())")
			return err
		},
		Count:         d.count,
		ExecUnchecked: d.execUnchecked,
		AllowAnyRows:  func(t *testing.T) { d.allowAnyRows(t) },
		MigrateTo:     db.MigrateTo,
		Version:       Version,
	}
}

// database is a schema of the test's own on the server of FSMGEN_POSTGRES_DSN.
type database struct {
	dsn    string
	schema string
	pool   *pgxpool.Pool
}

// openDatabase makes a schema that goes with the test.
func openDatabase(t testing.TB) *database {
	t.Helper()
	dsn := pgtest.DSN(t)
	d := &database{dsn: dsn, schema: pgtest.Schema(t, dsn)}
	d.pool = d.newPool(t)
	return d
}

// newPool opens connections that find the schema's tables, as adjust leaves them.
func (d *database) newPool(t testing.TB, adjust ...func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	config, err := PoolConfig(d.dsn, Options{Schema: d.schema})
	must(t, err)
	config.MaxConns = 20
	for _, f := range adjust {
		f(config)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	must(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// store opens a store on connections of its own, as another process has it.
func (d *database) store(t testing.TB) *Store {
	t.Helper()
	s, err := New(d.newPool(t), Options{Schema: d.schema})
	must(t, err)
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// storeThrough opens a store whose connections go through p.
func (d *database) storeThrough(t *testing.T, p *proxytest.Proxy) *Store {
	t.Helper()
	pool := d.newPool(t, func(c *pgxpool.Config) {
		c.MaxConns = 1 // nothing else uses a connection that a transaction has
		c.ConnConfig.DialFunc = p.Dial
	})
	s, err := New(pool, Options{Schema: d.schema})
	must(t, err)
	t.Cleanup(func() { _ = s.Close(context.Background()) }) // a broken connection may not close well
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

// execUnchecked drops the CHECK constraints of a table, which can't be switched
// off, and switches its triggers off.
func (d *database) execUnchecked(t *testing.T, table, statement string) {
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

// allowAnyRows switches off the triggers whose functions Migrate writes.
func (d *database) allowAnyRows(t testing.TB) {
	t.Helper()
	d.exec(t, `ALTER TABLE fsm_outbox DISABLE TRIGGER fsm_outbox_cause;
		ALTER TABLE fsm_deadlines DISABLE TRIGGER fsm_deadlines_cause;
		ALTER TABLE fsm_keys DISABLE TRIGGER fsm_keys_cause`)
}
