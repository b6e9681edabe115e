package postgres

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// BenchmarkRules is what the triggers of the engine's tables take of the server: a
// message is stored, claimed and settled, a deadline is set and cleared, and a key is
// stored, with the triggers and without them. They are statements of a loop on the
// server, in one transaction, and what is measured is the CPU time of its process: to
// read that takes Linux and a superuser.
func BenchmarkRules(b *testing.B) {
	const rows = 2000
	d := openDatabase(b)
	s := d.store(b)
	must(b, s.Migrate(context.Background(), []store.Machine{deals()}))
	d.exec(b, fmt.Sprintf(`
		INSERT INTO deals (deal_id, status, version, last_event, entered_at, created_at, updated_at, advertiser_id, owner_id, price_nano)
		SELECT gen_random_uuid(), 'DRAFT', 1, 'CREATE', '%[2]s', '%[2]s', '%[2]s', 7, 8, 100 FROM generate_series(1, %[1]d);
		INSERT INTO deal_events (event_id, deal_id, version, event_type, to_status, transition, actor_role, created_at)
		SELECT gen_random_uuid(), deal_id, 1, 'CREATE', 'DRAFT', 'create', 'advertiser', '%[2]s' FROM deals;
		CREATE TABLE sent AS SELECT deal_id::text AS id, substr(sha256(convert_to('7:message36:' || event_id || '1:0', 'UTF8')), 1, 16) AS sum FROM deal_events;
		ALTER TABLE sent ADD message uuid;
		UPDATE sent SET message = encode(set_byte(set_byte(sum, 6, get_byte(sum, 6) & 15 | 128), 8, get_byte(sum, 8) & 63 | 128), 'hex')::uuid;
		ANALYZE`, rows, "2026-01-02 03:04:05Z"))
	for name, statements := range map[string]string{
		"message": `INSERT INTO fsm_outbox (message_id, machine, record_id, version, seq, effect, destination, delivery, work, payload, created_at, state, attempts, available_at)
			VALUES (r.message, 'deal', r.id, 1, 0, 'deal.events', 'kafka', 'keyed', false, json_build_object('deal_id', r.id), '2026-01-02 03:04:05Z', 'pending', 0, '2026-01-02 03:04:05Z');`,
		"message held, settled": `INSERT INTO fsm_outbox (message_id, machine, record_id, version, seq, effect, destination, delivery, work, payload, created_at, state, attempts, available_at, lease_token, lease_until)
			VALUES (r.message, 'deal', r.id, 1, 0, 'deal.events', 'kafka', 'keyed', false, json_build_object('deal_id', r.id), '2026-01-02 03:04:05Z', 'delivering', 1, '2026-01-02 03:04:05Z', r.message, '2026-01-02 03:04:05Z');
			UPDATE fsm_outbox SET state = 'delivered', attempts = 1, delivered_at = '2026-01-02 03:04:05Z', discarded_at = NULL, last_error = NULL, resolution = NULL,
				lease_token = NULL, lease_until = NULL, worker = NULL WHERE message_id = r.message;`,
		"key":      `INSERT INTO fsm_keys (machine, key, record_id, event, version, created_at) VALUES ('deal', r.id, r.id, 'CREATE', 1, '2026-01-02 03:04:05Z');`,
		"deadline": `INSERT INTO fsm_deadlines (machine, record_id, kind, version, due_at, event, payload) VALUES ('deal', r.id, 'timeout', 1, '2026-01-02 03:04:05Z', 'EXPIRE', '{}');`,
	} {
		for _, role := range []string{"replica", "origin"} {
			b.Run(name+"/"+role, func(b *testing.B) {
				var least float64
				for range b.N {
					took := d.loop(b, role, statements, rows)
					if least == 0 || took < least {
						least = took
					}
				}
				b.ReportMetric(least, "us/row")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// loop runs statements for each row of the table sent and undoes them. It returns how
// many microseconds a row took.
func (d *database) loop(b *testing.B, role, statements string, rows int) float64 {
	ctx := context.Background()
	tx, err := d.pool.Begin(ctx)
	must(b, err)
	// A draft sets no deadline: the record is moved for that, without its triggers.
	_, err = tx.Exec(ctx, `SET LOCAL session_replication_role = replica;
		UPDATE deals SET status = 'OFFER_PENDING';
		SET LOCAL session_replication_role = `+role+`;
		DO $$ DECLARE r record; begun numeric := split_part(pg_read_file('/proc/self/schedstat'), ' ', 1); BEGIN
			FOR r IN SELECT * FROM sent LOOP `+statements+` END LOOP;
			PERFORM set_config('bench.took', ((split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::numeric - begun) / 1000)::text, true);
		END $$`, pgx.QueryExecModeSimpleProtocol)
	must(b, err)
	var took float64
	must(b, tx.QueryRow(ctx, "SELECT current_setting('bench.took')::float8").Scan(&took))
	must(b, tx.Rollback(ctx))
	return took / float64(rows)
}
