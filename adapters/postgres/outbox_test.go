package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The columns of fsm_outbox that PostgreSQL derives were generated ones, and its
// rules CHECKs of their own, until migration 0004.
const generated = 3

// messageRows are a message of each state, cancelled or not and discarded or not.
const messageRows = `INSERT INTO fsm_outbox (message_id, machine, record_id, version, seq, effect, lane, delivery, work, created_at,
		state, attempts, available_at, delivered_at, discarded_at, cancelled, lease_token, lease_until)
	SELECT gen_random_uuid(), 'deal', state, 1, 1, 'e', 'kafka', 'keyed', true, '2026-01-01', state, 1,
		CASE WHEN state IN ('pending', 'retry_wait', 'dead_letter') THEN timestamptz '2026-01-02' END,
		CASE WHEN state = 'delivered' THEN timestamptz '2026-01-03' END,
		CASE WHEN discarded THEN timestamptz '2026-01-04' END, cancelled,
		CASE WHEN state = 'delivering' THEN gen_random_uuid() END, CASE WHEN state = 'delivering' THEN timestamptz '2026-01-05' END
	FROM unnest(ARRAY['pending', 'delivering', 'delivered', 'retry_wait', 'dead_letter']) AS state,
		unnest(ARRAY[true, false]) AS cancelled, unnest(ARRAY[true, false]) AS discarded`

// lines returns the lines of a query that returns text.
func (d *database) lines(t *testing.T, query string) string {
	t.Helper()
	rows, err := d.pool.Query(context.Background(), query, pgx.QueryExecModeSimpleProtocol)
	must(t, err)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	return strings.Join(list, "\n")
}

// TestOutboxMigratesWithItsRows: up and down, each message is due, and in the way
// of its lane, when it was before, also those that were written in between.
func TestOutboxMigratesWithItsRows(t *testing.T) {
	d := openDatabase(t)
	s := d.store(t)
	ctx := context.Background()
	derived := func() string {
		return d.lines(t, "SELECT message_id || ' ' || state || ' ' || COALESCE(due_at::text, 'never') || ' ' || open FROM fsm_outbox ORDER BY message_id")
	}
	shape := func() string {
		return d.lines(t, `SELECT attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attnotnull || ' ' || attgenerated::text || ' ' || COALESCE(pg_get_expr(adbin, adrelid), '')
				FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
				WHERE attrelid = 'fsm_outbox'::regclass AND attnum > 0 AND NOT attisdropped
			UNION ALL SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'fsm_outbox'::regclass
			UNION ALL SELECT conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'fsm_outbox'::regclass
			UNION ALL SELECT tgname FROM pg_trigger WHERE tgrelid = 'fsm_outbox'::regclass
			UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = current_schema::regnamespace
			ORDER BY 1`)
	}
	to := func(version int) { must(t, s.MigrateTo(ctx, version)) }

	to(generated)
	fresh := shape()
	d.exec(t, messageRows)
	before := derived()
	if n := d.count(t, "fsm_outbox WHERE open OR due_at IS NOT NULL"); n < 5 || n == 20 {
		t.Fatalf("%d of 20 messages are open or due", n)
	}
	to(generated + 1)
	if after := derived(); after != before {
		t.Errorf("up, the messages are\n%s\nwant\n%s", after, before)
	}
	d.exec(t, "UPDATE fsm_outbox SET attempts = attempts + 1; "+messageRows)
	before = derived()
	to(generated)
	if after := derived(); after != before {
		t.Errorf("down, the messages are\n%s\nwant\n%s", after, before)
	}
	if back := shape(); back != fresh {
		t.Errorf("down, the table is\n%s\nwant\n%s", back, fresh)
	}
	to(generated + 1)
	if after := derived(); after != before {
		t.Errorf("up again, the messages are\n%s\nwant\n%s", after, before)
	}
}

// TestNobodySetsWhatIsDerived: what a statement says of due_at and open is
// overridden, and refused where the trigger is switched off.
func TestNobodySetsWhatIsDerived(t *testing.T) {
	d := openDatabase(t)
	d.migrated(t)
	d.exec(t, messageRows)
	const derived = "SELECT state || cancelled || COALESCE(due_at::text, 'never') || open FROM fsm_outbox ORDER BY message_id"
	before := d.lines(t, derived)
	d.exec(t, `UPDATE fsm_outbox SET due_at = '2020-01-01', open = NOT open;
		CREATE TEMPORARY TABLE copied ON COMMIT DROP AS SELECT * FROM fsm_outbox;
		UPDATE copied SET due_at = '2020-01-01', open = NOT open;
		DELETE FROM fsm_outbox;
		INSERT INTO fsm_outbox SELECT * FROM copied`)
	if after := d.lines(t, derived); after != before {
		t.Errorf("set by hand, the messages are\n%s\nwant\n%s", after, before)
	}
	for set, rule := range map[string]string{
		"due_at = '2020-01-01'": "fsm_outbox_due_at_derived", "due_at = NULL": "fsm_outbox_due_at_derived", "available_at = '2020-01-01'": "fsm_outbox_due_at_derived",
		"open = NOT open": "fsm_outbox_open_derived", "open = NULL": "fsm_outbox_open_derived",
	} {
		d.refuses(t, rule, "ALTER TABLE fsm_outbox DISABLE TRIGGER USER; UPDATE fsm_outbox SET "+set+" WHERE state = 'pending' AND NOT cancelled")
	}
}

// TestOutboxRules are refused under the same names as by the CHECKs before.
func TestOutboxRules(t *testing.T) {
	d := openDatabase(t)
	s := d.store(t)
	for _, version := range []int{generated, Version} {
		must(t, s.MigrateTo(context.Background(), version))
		d.exec(t, messageRows)
		for set, rule := range map[string]string{
			"attempts = -1 WHERE state = 'pending'":           "fsm_outbox_attempts_range",
			"state = 'lost' WHERE state = 'dead_letter'":      "fsm_outbox_state_declared",
			"available_at = NULL WHERE state = 'retry_wait'":  "fsm_outbox_waiting_is_due",
			"lease_token = NULL WHERE state = 'delivering'":   "fsm_outbox_delivering_is_leased",
			"lease_until = NULL WHERE state = 'delivering'":   "fsm_outbox_delivering_is_leased",
			"lease_until = now() WHERE state = 'delivered'":   "fsm_outbox_delivering_is_leased",
			"delivered_at = NULL WHERE state = 'delivered'":   "fsm_outbox_delivered_says_when",
			"state = 'delivering' WHERE state = 'pending'":    "fsm_outbox_delivering_is_leased",
			"state = 'delivered' WHERE state = 'dead_letter'": "fsm_outbox_delivered_says_when",
		} {
			d.refuses(t, rule, "UPDATE fsm_outbox SET "+set)
		}
	}
}

// refuses wants a statement to be refused, by this CHECK or as one would.
func (d *database) refuses(t *testing.T, rule, statement string) {
	t.Helper()
	_, err := d.pool.Exec(context.Background(), statement, pgx.QueryExecModeSimpleProtocol)
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || refused.Code != "23514" || refused.TableName != "fsm_outbox" || refused.ConstraintName != rule ||
		!strings.Contains(refused.Message, rule) {
		t.Errorf("%s: the error is %v, want %s", statement, err, rule)
	}
}
