package bench

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/adapters/postgres"
	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// BenchmarkIdle asks for work where there is none, as a worker does once in a
// PollInterval: beside nothing at all, and beside many records that have ended,
// with their histories and delivered messages. The second should cost what the
// first does.
func BenchmarkIdle(b *testing.B) {
	for _, records := range []int{0, sized(1_000_000, 20_000)} {
		b.Run(fmt.Sprintf("postgres/records=%d", records), func(b *testing.B) {
			s := newServer(b)
			pool := s.connect(nil)
			e := s.engineOn(pool)
			s.end(records)
			poll(b, e)
			before := s.pages(pool)
			polls := idle(b, e)
			b.ReportMetric(float64(s.pages(pool)-before)/float64(polls), "pages/poll")
		})
		b.Run(fmt.Sprintf("sqlite/records=%d", records), func(b *testing.B) {
			f := newFile(b, sqlite.Full)
			e := f.engine(nil, engine.Config{})
			f.end(records)
			poll(b, e)
			idle(b, e)
		})
	}
}

// idle measures polls and returns how many. The time of one is ns/op; the
// processor time is that of this process, in which SQLite is.
func idle[Tx any](b *testing.B, e *engine.Engine[Tx]) (polls int) {
	b.Helper()
	before := processorTime(b)
	for b.Loop() {
		poll(b, e)
		polls++
	}
	b.ReportMetric((processorTime(b)-before).Seconds()/float64(polls)*1e6, "cpu-us/poll")
	return polls
}

// poll asks once. It fails the benchmark if something was due.
func poll[Tx any](b *testing.B, e *engine.Engine[Tx]) {
	b.Helper()
	n, err := e.Step(context.Background())
	must(b, err)
	if n > 0 {
		b.Fatalf("%d tasks were due", n)
	}
}

// engineOn opens an engine for deals whose connections are those of pool.
func (s *server) engineOn(pool *pgxpool.Pool) *engine.Engine[pgx.Tx] {
	s.b.Helper()
	store, err := postgres.New(pool, postgres.Options{Schema: s.schema})
	must(s.b, err)
	s.b.Cleanup(func() { must(s.b, store.Close(context.Background())) })
	e, err := engine.New(store, engine.Config{Logger: slog.New(slog.DiscardHandler)}, deal.Define[pgx.Tx](nil, deal.DefaultParams()))
	must(s.b, err)
	must(s.b, e.Migrate(context.Background()))
	return e
}

// pages returns how many pages of the tables of s its sessions have touched.
// Each session of pool says what it has not said yet.
func (s *server) pages(pool *pgxpool.Pool) (n int64) {
	s.b.Helper()
	ctx := context.Background()
	for _, c := range pool.AcquireAllIdle(ctx) {
		_, err := c.Exec(ctx, "SELECT pg_stat_force_next_flush()")
		c.Release()
		must(s.b, err)
	}
	must(s.b, s.pool.QueryRow(ctx, `SELECT sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit + idx_blks_read, 0))::bigint
		FROM pg_statio_user_tables WHERE schemaname = $1`, s.schema).Scan(&n))
	return n
}

// end writes deals that were cancelled as drafts, with two steps and a delivered
// message each.
func (s *server) end(count int) {
	s.b.Helper()
	pool := s.connectUntriggered()
	for _, insert := range []string{
		`INSERT INTO deals (deal_id, status, version, last_event, entered_at, advertiser_id, owner_id, price_nano)
			SELECT ('00000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'CANCELLED', 2, 'CANCEL', now(), 7, 8, 100
			FROM generate_series(0, $1::bigint - 1) AS n`,
		`INSERT INTO deal_events (event_id, deal_id, version, event_type, from_status, to_status, transition, actor_role, actor_id, payload, correlation_id)
			SELECT gen_random_uuid(), deal_id, s.version, s.event, s.came, s.went, s.transition, 'advertiser', 7, '{}', deal_id::text
			FROM (SELECT deal_id FROM deals LIMIT $1) AS d, (VALUES (1, 'CREATE', NULL, 'DRAFT', 'create'), (2, 'CANCEL', 'DRAFT', 'CANCELLED', 'cancel_draft')) AS s (version, event, came, went, transition)`,
		`INSERT INTO fsm_outbox (message_id, machine, record_id, version, seq, effect, destination, delivery, work, payload, correlation, created_at, state, attempts,
				available_at, delivered_at)
			SELECT gen_random_uuid(), 'deal', deal_id::text, version, 0, 'deal.events', 'kafka', 'keyed', false, json_build_object('deal_id', deal_id),
				deal_id::text, now(), 'delivered', 1, now(), now()
			FROM (SELECT deal_id FROM deals LIMIT $1) AS d, (VALUES (1), (2)) AS s (version)`,
	} {
		_, err := pool.Exec(context.Background(), insert, count)
		must(s.b, err)
	}
	s.exec("VACUUM (ANALYZE) deals, deal_events, fsm_outbox")
}

// end writes deals that were cancelled as drafts, with two steps and a delivered
// message each.
func (f *file) end(count int) {
	f.b.Helper()
	at := time.Now().UTC().Format(fsm.TimeLayout)
	f.fill(
		fmt.Sprintf(upTo+`INSERT INTO deals (deal_id, status, version, last_event, entered_at, advertiser_id, owner_id, price_nano)
			SELECT `+sqliteID+`, 'CANCELLED', 2, 'CANCEL', '%s', 7, 8, 100 FROM n WHERE n < %d`, count, at, count),
		`INSERT INTO deal_events (event_id, deal_id, version, event_type, from_status, to_status, transition, actor_role, actor_id, payload, correlation_id)
			SELECT s.column1 || substr(deal_id, 2), deal_id, s.column1, s.column2, s.column3, s.column4, s.column5, 'advertiser', 7, '{}', deal_id
			FROM deals, (VALUES (1, 'CREATE', NULL, 'DRAFT', 'create'), (2, 'CANCEL', 'DRAFT', 'CANCELLED', 'cancel_draft')) AS s`,
		fmt.Sprintf(`INSERT INTO fsm_outbox (message_id, machine, record_id, version, seq, effect, destination, delivery, work, payload, correlation, created_at, state, attempts,
				available_at, delivered_at)
			SELECT s.column1 || substr(deal_id, 2), 'deal', deal_id, s.column1, 0, 'deal.events', 'kafka', 'keyed', 0, json_object('deal_id', deal_id),
				deal_id, '%[1]s', 'delivered', 1, '%[1]s', '%[1]s'
			FROM deals, (VALUES (1), (2)) AS s`, at),
	)
}
