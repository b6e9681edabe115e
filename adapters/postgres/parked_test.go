package postgres

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/proptest/storetest"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// deadLetters stores so many dead letters, a record each, with one message behind
// each that is due.
func (d *database) deadLetters(t testing.TB, count int) {
	t.Helper()
	d.exec(t, fmt.Sprintf(`
		INSERT INTO fsm_outbox (message_id, machine, record_id, version, seq, effect, destination, delivery, work, payload, created_at, state, attempts, available_at)
		SELECT gen_random_uuid(), 'deal', 'blocked ' || n, 1, seq, 'notify_owner', 'kafka', 'keyed', false, '{"owner_id":8}', '%[2]s',
			(ARRAY['dead_letter', 'pending'])[seq], 2 - seq, '%[2]s'
		FROM generate_series(1, %[1]d) AS n, generate_series(1, 2) AS seq`, count, epoch.Format(time.RFC3339Nano)))
}

// BenchmarkClaimBesideDeadLetters claims one message and settles it while so many
// wait behind dead letters, and says how long the first claim took, which parks them.
func BenchmarkClaimBesideDeadLetters(b *testing.B) {
	for _, count := range []int{0, 100_000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			d := openDatabase(b)
			d.migrated(b)
			s, err := New(d.newPool(b, func(c *pgxpool.Config) { c.MaxConns = 1 }), Options{Schema: d.schema})
			must(b, err)
			s.notifier.busy = true // nothing else on the connection
			d.deadLetters(b, count)
			began := time.Now()
			must(b, onlyError(s.Claim(context.Background(), claim(1, 16))))
			parking := time.Since(began)
			d.exec(b, "VACUUM (ANALYZE) fsm_outbox")
			n := 0
			var took []time.Duration
			for b.Loop() {
				n++
				must(b, save(s, creation(b, n)))
				began := time.Now()
				tasks, err := s.Claim(context.Background(), claim(1, 16))
				took = append(took, time.Since(began))
				must(b, err)
				if len(tasks) != 1 {
					b.Fatalf("claimed %d messages", len(tasks))
				}
				must(b, finish(s, tasks[0]))
			}
			slices.Sort(took)
			b.ReportMetric(float64(parking.Milliseconds()), "parking-ms")
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "us/claim")
		})
	}
}

func onlyError(_ []store.Task, err error) error { return err }

// TestClaimsTouchNothingThatWaits counts the pages that a claim touches once all that
// waits behind dead letters is parked: as many as if there were none.
func TestClaimsTouchNothingThatWaits(t *testing.T) {
	d := openDatabase(t)
	s := d.migrated(t)
	const blocked, most = 3000, 40
	d.deadLetters(t, blocked)
	if tasks, err := s.Claim(context.Background(), claim(1, 16)); err != nil || len(tasks) > 0 {
		t.Fatalf("claimed %d messages, %v", len(tasks), err)
	}
	if n := d.count(t, "fsm_outbox WHERE parked"); n != blocked {
		t.Fatalf("%d messages are parked", n)
	}
	storetest.CheckParked(t, d.count)
	d.exec(t, "VACUUM (ANALYZE) fsm_outbox")
	must(t, save(s, creation(t, 1)))
	if pages := d.pagesOf(t, store.Claim{Now: epoch, Until: epoch.Add(time.Minute), Destinations: claim(1, 16).Destinations, Effects: 16}); pages > most {
		t.Errorf("a claim of one message touched %v pages, want at most %d", pages, most)
	}
}

// pagesOf returns how many pages the first statement of a claim touches.
func (d *database) pagesOf(t testing.TB, c store.Claim) float64 {
	t.Helper()
	b := &pgx.Batch{}
	newSearch(c).queue(b)
	q := b.QueuedQueries[0]
	var text []struct {
		Plan map[string]any
	}
	must(t, d.pool.QueryRow(context.Background(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+q.SQL, q.Arguments...).Scan(&text))
	hit, _ := text[0].Plan["Shared Hit Blocks"].(float64)
	read, _ := text[0].Plan["Shared Read Blocks"].(float64)
	return hit + read
}

// TestPlansOfTablesThatWereEmpty warms a connection up while the tables are empty, lets
// them grow without statistics, and asks how the same connection works then.
func TestPlansOfTablesThatWereEmpty(t *testing.T) {
	for _, tt := range []struct{ name, before string }{
		{"as made", "SELECT"},
		{"vacuumed", "VACUUM (ANALYZE) fsm_outbox, fsm_deadlines, fsm_keys, deals, deal_events"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := openDatabase(t)
			d.migrated(t)
			d.exec(t, `ALTER TABLE fsm_outbox SET (autovacuum_enabled = false); ALTER TABLE fsm_deadlines SET (autovacuum_enabled = false);
				ALTER TABLE deals SET (autovacuum_enabled = false)`)
			d.exec(t, tt.before)
			pool := d.newPool(t, func(c *pgxpool.Config) { c.MaxConns = 1 })
			s, err := New(pool, Options{Schema: d.schema})
			must(t, err)
			s.notifier.busy = true // nothing else on the connection
			work := func(n int) {
				must(t, save(s, creation(t, n)))
				tasks, err := s.Claim(context.Background(), claim(1, 100))
				must(t, err)
				if len(tasks) != 1 {
					t.Fatalf("claimed %d", len(tasks))
				}
				must(t, finish(s, tasks[0]))
			}
			const warm = 10 // after five times the server may keep a plan
			for n := range warm {
				work(n)
			}
			fillUnanalyzed(t, d)
			scans := func() (n int) {
				must(t, pool.QueryRow(context.Background(), "SELECT pg_stat_force_next_flush()").Scan(new(any)))
				must(t, pool.QueryRow(context.Background(), `SELECT sum(seq_tup_read)::bigint FROM pg_stat_user_tables
					WHERE schemaname = $1 AND relname IN ('fsm_outbox', 'fsm_deadlines', 'deals', 'deal_events')`, d.schema).Scan(&n))
				return n
			}
			before := scans()
			for n := range warm {
				work(warm + n)
			}
			if n := scans() - before; n >= settled {
				t.Errorf("%d rows were read by scans of whole tables", n)
			}
		})
	}
}
