package attacks

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/adapters/postgres"
	"github.com/fsmgen/fsmgen/internal/pgtest"
)

type postgresDatabase struct {
	conn  *pgx.Conn
	ids   map[string]string
	roles map[Role]string // names on the server
}

// Postgres prepares a schema of its own on the server of the tests.
func Postgres(t testing.TB) Database {
	t.Helper()
	dsn, ctx := pgtest.DSN(t), t.Context()
	options := postgres.Options{Schema: pgtest.Schema(t, dsn)}
	config, err := postgres.PoolConfig(dsn, options)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	store, err := postgres.New(pool, options)
	if err != nil {
		t.Fatal(err)
	}
	d := &postgresDatabase{roles: map[Role]string{}}
	if d.ids, err = Prepare(ctx, store); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if d.conn, err = pgx.ConnectConfig(ctx, config.ConnConfig); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.conn.Close(context.Background()) })
	d.grantRoles(t, options.Schema)
	d.ordinary(t, options.Schema)
	return d
}

// ordinary makes the role that may read and write every table, and owns none. It goes
// with the test.
func (d *postgresDatabase) ordinary(t testing.TB, schema string) {
	t.Helper()
	name := schema + "_ordinary"
	d.roles[Ordinary] = name
	d.exec(t, "CREATE ROLE "+name)
	t.Cleanup(func() {
		d.exec(t, "DROP OWNED BY "+name)
		d.exec(t, "DROP ROLE "+name)
	})
	d.exec(t, "GRANT USAGE ON SCHEMA "+schema+" TO "+name)
	d.exec(t, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "+schema+" TO "+name)
}

func (d *postgresDatabase) exec(t testing.TB, statement string) {
	t.Helper()
	if _, err := d.conn.Exec(context.Background(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func (d *postgresDatabase) Dialect() Dialect       { return InPostgres }
func (d *postgresDatabase) IDs() map[string]string { return d.ids }
func (d *postgresDatabase) Has(role Role) bool     { return d.roles[role] != "" }

func (d *postgresDatabase) Try(ctx context.Context, role Role, statements []string) (changed int64, err error) {
	tx, err := d.conn.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, tx.Rollback(ctx)) }()
	if _, err := tx.Exec(ctx, "SET LOCAL ROLE "+d.roles[role]); err != nil {
		return 0, err
	}
	// Deferred constraints are checked as the commit would check them.
	for _, s := range append(statements[:len(statements):len(statements)], "SET CONSTRAINTS ALL IMMEDIATE") {
		tag, err := tx.Exec(ctx, s)
		if err != nil {
			return changed, err
		}
		if !tag.Select() {
			changed += tag.RowsAffected()
		}
	}
	return changed, nil
}

// Refusal knows the SQLSTATEs of the rules, of constraints and of privileges.
func (d *postgresDatabase) Refusal(err error) (string, bool) {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return "", false
	}
	ours := strings.HasPrefix(refused.Code, "FS") || strings.HasPrefix(refused.Code, "23") || refused.Code == "42501"
	return refused.Code + " " + refused.ConstraintName + ": " + refused.Message, ours
}
