package postgres

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// ordinary makes a role that may read and write every table of the schema, and owns
// none. It goes with the test.
func (d *database) ordinary(t *testing.T) string {
	t.Helper()
	name := d.schema + "_ordinary"
	d.exec(t, "CREATE ROLE "+name)
	t.Cleanup(func() { d.exec(t, "DROP OWNED BY "+name+"; DROP ROLE "+name) })
	d.exec(t, "GRANT USAGE, CREATE ON SCHEMA "+d.schema+" TO "+name)
	d.exec(t, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "+d.schema+" TO "+name)
	return name
}

// as runs statements as a role, and undoes them. It returns the error.
func (d *database) as(t *testing.T, role string, statements ...string) error {
	t.Helper()
	ctx := context.Background()
	tx, err := d.pool.Begin(ctx)
	must(t, err)
	defer func() { must(t, tx.Rollback(ctx)) }()
	for _, s := range append([]string{"SET LOCAL ROLE " + role}, statements...) {
		if _, err := tx.Exec(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// TestPrune: the owner of the table deletes messages that are done and old enough,
// and another role deletes none.
func TestPrune(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	s := d.migrated(t)
	must(t, save(s, creation(t, 1), creation(t, 2), creation(t, 3)))
	d.exec(t, `ALTER TABLE fsm_outbox DISABLE TRIGGER USER;
		UPDATE fsm_outbox SET state = 'delivered', delivered_at = created_at WHERE record_id <> '`+id(1)+`';
		UPDATE fsm_outbox SET created_at = created_at + interval '1 year' WHERE record_id = '`+id(3)+`';
		ALTER TABLE fsm_outbox ENABLE TRIGGER USER`)
	const prune = "SELECT fsm_prune('2026-06-01')"
	role := d.ordinary(t)
	if err := d.as(t, role, prune); err == nil || !strings.Contains(err.Error(), "messages are not deleted") {
		t.Errorf("another role prunes: %v", err)
	}
	if err := d.as(t, role, "SET LOCAL fsm.prune = 'on'", "DELETE FROM fsm_outbox"); err == nil {
		t.Error("another role prunes by the setting")
	}
	for _, open := range []string{"DELETE FROM fsm_outbox", "SET LOCAL fsm.prune = 'on'; DELETE FROM fsm_outbox WHERE record_id = '" + id(1) + "'", "TRUNCATE fsm_outbox"} {
		if _, err := d.pool.Exec(context.Background(), open, pgx.QueryExecModeSimpleProtocol); err == nil || !strings.Contains(err.Error(), "fsmgen: fsm_outbox: messages are not deleted") {
			t.Errorf("%s: %v", open, err)
		}
	}
	var gone int
	must(t, d.pool.QueryRow(context.Background(), prune).Scan(&gone))
	if left := d.count(t, "fsm_outbox"); gone != 1 || left != 2 {
		t.Errorf("%d messages were pruned, and %d are left", gone, left)
	}
}

// TestMigrateWithoutOwning: where everything is there, a role that owns nothing can
// migrate too.
func TestMigrateWithoutOwning(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	d.migrated(t)
	role := d.ordinary(t)
	pool := d.newPool(t, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["role"] = role })
	s, err := New(pool, Options{Schema: d.schema})
	must(t, err)
	defer func() { must(t, s.Close(context.Background())) }()
	must(t, s.Migrate(context.Background(), []store.Machine{deals()}))
}

// TestTriggersHaveTheirOwnPath: a search path of the session, which finds operators
// and temporary tables of its own, changes nothing of what is refused.
func TestTriggersHaveTheirOwnPath(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	s := d.store(t)
	must(t, s.Migrate(context.Background(), []store.Machine{deals()}))
	if open := d.count(t, `pg_proc WHERE pronamespace = '`+d.schema+`'::regnamespace AND proname LIKE 'fsm\_%' AND prorettype IN ('trigger'::regtype, 'boolean'::regtype, 'bigint'::regtype)
		AND (proconfig IS NULL OR NOT proconfig::text LIKE '%search_path=pg_catalog%, pg_temp"%')`); open != 0 {
		t.Errorf("%d functions go by the search path of the session", open)
	}
	role := d.ordinary(t)
	lies := []string{
		"CREATE FUNCTION " + d.schema + ".lie(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
		"CREATE OPERATOR " + d.schema + ".= (LEFTARG = text, RIGHTARG = text, FUNCTION = " + d.schema + ".lie)",
		"SET LOCAL search_path = " + d.schema + ", pg_catalog",
		"CREATE TEMP TABLE deals AS SELECT gen_random_uuid() AS deal_id, 'OFFER_PENDING' AS status, 1::bigint AS version",
		`INSERT INTO ` + d.schema + `.fsm_deadlines (machine, record_id, kind, version, due_at, event, payload)
			SELECT 'deal', deal_id::text, 'timeout', 1, now(), 'EXPIRE', '{}' FROM pg_temp.deals`,
	}
	if err := d.as(t, role, lies...); err == nil || !strings.Contains(err.Error(), "fsmgen: fsm_deadlines") {
		t.Errorf("a role with a schema of its own sets a deadline: %v", err)
	}
}
