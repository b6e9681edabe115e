package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// sized returns the size of a benchmark that takes minutes: the full one if
// FSMGEN_BENCH_FULL is 1. The name of the benchmark tells which it was.
func sized(full, small int) int {
	if os.Getenv("FSMGEN_BENCH_FULL") == "1" {
		return full
	}
	return small
}

// BenchmarkRecovery has a worker die that had claimed the work of many records:
// its leases are over when an engine begins to run. Each record gets its answer
// and moves on, and the message about that is delivered too; the clock stops
// when the database says that nothing is left.
func BenchmarkRecovery(b *testing.B) {
	records := sized(100_000, 2_000)
	b.Run(fmt.Sprintf("postgres/records=%d", records), func(b *testing.B) {
		s, h := newServer(b), &recovering[pgx.Tx]{}
		recoverAll(b, records, h, s.engine(h, engine.Config{}), s)
	})
	b.Run(fmt.Sprintf("sqlite/records=%d", records), func(b *testing.B) {
		f, h := newFile(b, sqlite.Full), &recovering[*sql.Tx]{}
		e := f.engine(h, engine.Config{})
		recoverAll(b, records, h, e, strandedFile{f, f.connect()})
	})
}

// stranded is a database with records whose work a dead worker had claimed.
type stranded interface {
	// strand writes deals in ACCEPTED, from dealID(from) on.
	strand(from, count int)
	count(ctx context.Context, of string) (int, error)
}

// recovering answers what ACCEPTED asks for, and delivers the message about
// what follows. Nothing else happens to these deals.
type recovering[Tx any] struct {
	deal.Handlers[Tx]
	calls, expected int64
	all             chan struct{} // closed by the last expected call
}

func (r *recovering[Tx]) called() {
	if atomic.AddInt64(&r.calls, 1) == r.expected {
		close(r.all)
	}
}

func (r *recovering[Tx]) GenerateDepositAddress(_ context.Context, d fsm.Dispatch, _ deal.GenerateDepositAddressEffect) (deal.GenerateDepositAddressAnswer, error) {
	r.called()
	return deal.AddressReady{DepositAddress: "address-" + d.Record}, nil
}

func (r *recovering[Tx]) DealEvents(context.Context, fsm.Dispatch, deal.DealEventsEffect) error {
	r.called()
	return nil
}

func recoverAll[Tx any](b *testing.B, records int, h *recovering[Tx], e *engine.Engine[Tx], d stranded) {
	const calls = 2 // for each record: its work and its message
	var took time.Duration
	var peak uint64
	rounds := 0
	for b.Loop() {
		b.StopTimer()
		d.strand(rounds*records, records)
		h.calls, h.expected, h.all = 0, int64(calls*records), make(chan struct{})
		heap := watchHeap()
		begin := time.Now()
		b.StartTimer()
		runUntil(b, e, h.all, d)
		took += time.Since(begin)
		b.StopTimer()
		peak = max(peak, heap())
		rounds++
		n, err := d.count(context.Background(), "deals WHERE status = 'AWAITING_PAYMENT' AND version = 2")
		must(b, err)
		if n != rounds*records || h.calls != h.expected {
			b.Fatalf("%d of %d records went on, by %d calls of %d", n, rounds*records, h.calls, h.expected)
		}
		b.StartTimer()
	}
	b.ReportMetric(rate(rounds*records, took), "records/s")
	b.ReportMetric(took.Seconds()/float64(rounds), fmt.Sprintf("s/%dk", records/1000))
	b.ReportMetric(float64(peak)/(1<<20), "MiB")
}

// runUntil runs e until all was called and nothing is left to do.
func runUntil[Tx any](b *testing.B, e *engine.Engine[Tx], all <-chan struct{}, d stranded) {
	b.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	<-all
	for tick := time.NewTicker(10 * time.Millisecond); ; <-tick.C {
		left, err := d.count(ctx, "fsm_outbox WHERE state <> 'delivered'")
		if err != nil || left == 0 {
			stop()
			must(b, errors.Join(err, <-ended))
			return
		}
	}
}

// watchHeap samples how much lives on the heap, or waits there to be collected.
// The function that it returns ends that and returns the most there was.
func watchHeap() func() uint64 {
	runtime.GC()
	stop, most := make(chan struct{}), make(chan uint64)
	go func() {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		var peak uint64
		for {
			metrics.Read(sample)
			peak = max(peak, sample[0].Value.Uint64())
			select {
			case <-stop:
				most <- peak
				return
			case <-tick.C:
			}
		}
	}()
	return func() uint64 {
		close(stop)
		return <-most
	}
}

func (s *server) strand(from, count int) {
	s.b.Helper()
	pool := s.connectUntriggered()
	defer pool.Close()
	ctx := context.Background()
	_, err := pool.Exec(ctx, `INSERT INTO deals (deal_id, status, version, last_event, entered_at, advertiser_id, owner_id, price_nano)
		SELECT ('00000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'ACCEPTED', 1, 'ACCEPT', now(), 7, 8, 100
		FROM generate_series($1::bigint, $1 + $2 - 1) AS n`, from, count)
	must(s.b, err)
	_, err = pool.Exec(ctx, `INSERT INTO fsm_outbox
			(message_id, machine, record_id, version, seq, effect, destination, delivery, work, payload, correlation, created_at, state, attempts, available_at,
				lease_token, lease_until, worker)
		SELECT gen_random_uuid(), 'deal', deal_id::text, 1, 1, 'generate_deposit_address', 'ton', 'idempotent', true, json_build_object('deal_id', deal_id),
			gen_random_uuid()::text, now() - interval '1 hour', 'delivering', 1, now() - interval '1 hour', gen_random_uuid(), now() - interval '1 minute', 'dead'
		FROM deals WHERE status = 'ACCEPTED'`)
	must(s.b, err)
	s.exec("ANALYZE deals, fsm_outbox")
}

func (s *server) count(ctx context.Context, of string) (n int, err error) {
	err = s.pool.QueryRow(ctx, "SELECT count(*) FROM "+of).Scan(&n)
	return n, err
}

// strandedFile is a SQLite file of stranded records.
type strandedFile struct {
	*file
	db *sql.DB
}

func (f strandedFile) strand(from, count int) {
	f.b.Helper()
	hour, minute := time.Now().Add(-time.Hour).UTC().Format(fsm.TimeLayout), time.Now().Add(-time.Minute).UTC().Format(fsm.TimeLayout)
	f.fill(fmt.Sprintf(upTo+`INSERT INTO deals (deal_id, status, version, last_event, entered_at, advertiser_id, owner_id, price_nano)
			SELECT printf('00000000-0000-4000-8000-%%012x', n + %d), 'ACCEPTED', 1, 'ACCEPT', '%s', 7, 8, 100 FROM n`, count, from, hour),
		fileTold,
		fmt.Sprintf(`INSERT INTO fsm_outbox
			(message_id, machine, record_id, version, seq, effect, destination, delivery, work, payload, correlation, created_at, state, attempts, available_at,
				lease_token, lease_until, worker)
		SELECT '1'||substr(deal_id, 2), 'deal', deal_id, 1, 1, 'generate_deposit_address', 'ton', 'idempotent', 1, json_object('deal_id', deal_id),
			deal_id, '%[1]s', 'delivering', 1, '%[1]s', '00000000-0000-4000-8000-00000000dead', '%[2]s', 'dead'
		FROM deals WHERE status = 'ACCEPTED'`, hour, minute))
}

func (f strandedFile) count(ctx context.Context, of string) (n int, err error) {
	err = f.db.QueryRowContext(ctx, "SELECT count(*) FROM "+of).Scan(&n)
	return n, err
}
