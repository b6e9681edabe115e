package postgres

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// benchRecords is how many records the benchmarks fire at in turn.
const benchRecords = 2000

// BenchmarkWrite compares ways to write one event, a deposit that arrives in a
// funded deal: read, update the record, insert its history row and one message.
func BenchmarkWrite(b *testing.B) {
	ways := []struct {
		name string
		fire func(*Store, int64) error
	}{
		{"store", func(s *Store, n int64) error { return fireDeposit(s, n, true) }},
		{"commit apart", func(s *Store, n int64) error { return fireDeposit(s, n, false) }},
		{"by hand", byHand},
		{"pipeline of three", func(s *Store, n int64) error { return pipelined(s, n, threeStatements) }},
		{"pipeline of one", func(s *Store, n int64) error { return pipelined(s, n, oneStatement) }},
		{"four trips", fourTrips},
		{"notify inside", func(s *Store, n int64) error { return pipelined(s, n, oneAndNotify) }},
	}
	d := openDatabase(b)
	s := d.migrated(b)
	listening(b, d)
	d.exec(b, fmt.Sprintf(`ALTER TABLE deals DISABLE TRIGGER USER;
		INSERT INTO deals (deal_id, status, version, last_event, entered_at, advertiser_id, owner_id, price_nano, deposit_tx, deposit_nano, escrow)
		SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 'FUNDED', 1, 'DEPOSIT_CONFIRMED', now(), 7, 8, 100, 'tx', 100, 'held' FROM generate_series(0, %d) AS n;
		ALTER TABLE deals ENABLE TRIGGER USER; ANALYZE deals`, benchRecords-1))
	var n atomic.Int64
	for _, way := range ways { // connects, and prepares the statements
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for range 50 {
					if err := way.fire(s, n.Add(1)); err != nil {
						b.Error(err)
					}
				}
			})
		}
		wg.Wait()
	}
	for _, clients := range []int{1, 16} {
		for _, way := range ways {
			b.Run(fmt.Sprintf("%s/%d", way.name, clients), func(b *testing.B) {
				b.SetParallelism(max(1, clients/runtime.GOMAXPROCS(0)))
				if clients == 1 {
					for b.Loop() {
						must(b, way.fire(s, n.Add(1)))
					}
					return
				}
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if err := way.fire(s, n.Add(1)); err != nil {
							b.Error(err)
							return
						}
					}
				})
			})
		}
	}
}

// listening keeps one connection that listens, as every worker has it.
func listening(b *testing.B, d *database) {
	s := d.store(b)
	ctx, cancel := context.WithCancel(context.Background())
	b.Cleanup(cancel)
	go func() {
		for ctx.Err() == nil {
			_ = s.Wait(ctx, 1<<30) // its only error is the context's
		}
	}()
}

// deposit decides the event for a row that was read.
func deposit(row store.Row, n int64) (store.Commit, error) {
	event, err := fsm.EventOf(deal.DepositConfirmed{TxHash: "tx", AmountNano: 100})
	if err != nil {
		return store.Commit{}, err
	}
	d, err := deals().Fire(row.Record, event, fsm.Input{By: fsm.System(), Now: epoch})
	if err != nil {
		return store.Commit{}, err
	}
	c := commitOf(int(n%benchRecords), row.Version, d.Steps)
	c.Steps[0].Before = row.Record
	c.Outbox = []store.OutboxMessage{message(int(n%benchRecords), row.Version+1)}
	return c, nil
}

// fireDeposit writes it through the store.
func fireDeposit(s *Store, n int64, last bool) error {
	ctx := context.Background()
	return s.InTx(ctx, func(tx pgx.Tx) error {
		rows, err := s.Load(ctx, tx, []store.Query{query(int(n % benchRecords))})
		if err != nil {
			return err
		}
		c, err := deposit(rows[0], n)
		if err != nil {
			return err
		}
		c.Last = last
		return s.Save(ctx, tx, []store.Commit{c})
	})
}

const (
	handSelect = `SELECT deal_id, status, advertiser_id, owner_id, price_nano, deposit_address, deposit_tx, deposit_nano, escrow, creative,
		publish_at, advertiser_cancels, owner_cancels, version FROM deals WHERE deal_id = $1`
	handUpdate = `UPDATE deals SET version = version + 1, last_event = 'DEPOSIT_CONFIRMED', updated_at = $3
		WHERE deal_id = $1 AND status = 'FUNDED' AND version = $2`
	handHistory = ` deal_events (event_id, deal_id, version, event_type, from_status, to_status, transition, actor_role, payload, correlation_id, created_at) `
	handOutbox  = ` fsm_outbox (message_id, machine, record_id, version, seq, effect, destination, delivery, work, payload, correlation, created_at, state, attempts, available_at) `
	handAll     = `WITH r AS (` + handUpdate + ` RETURNING version),
		h AS (INSERT INTO` + handHistory + `SELECT $4::uuid, $1, version, 'DEPOSIT_CONFIRMED', 'FUNDED', 'FUNDED', 'refund_extra', 'system', $5::jsonb, 'c-1', $3 FROM r)
		INSERT INTO` + handOutbox + `SELECT $4::uuid, 'deal', $1::uuid::text, version, 1, 'notify_owner', 'kafka', 'keyed', false, $5::json, 'c-1', $3, 'pending', 0, $3 FROM r`
	handPayload = `{"tx_hash":"tx","amount_nano":100}`
)

// handRead reads a deal and returns its version.
func handRead(row pgx.Row) (version int64, err error) {
	var columns [13]any
	dest := make([]any, 14)
	for i := range columns {
		dest[i] = &columns[i]
	}
	dest[13] = &version
	return version, row.Scan(dest...)
}

// byHand is what one would write without the project: a read and a statement
// that is its own transaction.
func byHand(s *Store, n int64) error {
	ctx := context.Background()
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	k := int(n % benchRecords)
	version, err := handRead(conn.QueryRow(ctx, handSelect, id(k)))
	if err != nil {
		return err
	}
	return oneRow(conn.Exec(ctx, handAll, id(k), version, epoch, eventID(k, version+1).String(), handPayload))
}

// oneRow fails unless one row was written.
func oneRow(tag interface{ RowsAffected() int64 }, err error) error {
	if err == nil && tag.RowsAffected() != 1 {
		return fmt.Errorf("%d rows were written", tag.RowsAffected())
	}
	return err
}

func fourTrips(s *Store, n int64) error {
	ctx := context.Background()
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		k := int(n % benchRecords)
		version, err := handRead(tx.QueryRow(ctx, handSelect, id(k)))
		if err != nil {
			return err
		}
		return oneRow(tx.Exec(ctx, handAll, id(k), version, epoch, eventID(k, version+1).String(), handPayload))
	})
}

func oneStatement(b *pgx.Batch, k int, version int64) {
	b.Queue(handAll, id(k), version, epoch, eventID(k, version+1).String(), handPayload)
}

func oneAndNotify(b *pgx.Batch, k int, version int64) {
	oneStatement(b, k, version)
	b.Queue("SELECT pg_notify('" + channelPrefix + "' || current_schema(), '')")
}

func threeStatements(b *pgx.Batch, k int, version int64) {
	event := eventID(k, version+1).String()
	b.Queue(handUpdate, id(k), version, epoch)
	b.Queue(`INSERT INTO`+handHistory+`VALUES ($1, $2, $3, 'DEPOSIT_CONFIRMED', 'FUNDED', 'FUNDED', 'refund_extra', 'system', $4, 'c-1', $5)`,
		event, id(k), version+1, handPayload, epoch)
	b.Queue(`INSERT INTO`+handOutbox+`VALUES ($1, 'deal', $2, $3, 1, 'notify_owner', 'kafka', 'keyed', false, $4, 'c-1', $5, 'pending', 0, $5)`,
		event, id(k), version+1, handPayload, epoch)
}

// pipelined begins with the read and commits with what write queues.
func pipelined(s *Store, n int64, write func(b *pgx.Batch, k int, version int64)) error {
	ctx := context.Background()
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	k := int(n % benchRecords)
	read := &pgx.Batch{}
	read.BeginTx(readCommitted)
	read.Queue(handSelect, id(k))
	results := conn.SendBatch(ctx, read)
	if _, err := results.Exec(); err != nil {
		return err
	}
	version, err := handRead(results.QueryRow())
	if err != nil {
		return err
	}
	if err := results.Close(); err != nil {
		return err
	}
	b := &pgx.Batch{}
	write(b, k, version)
	b.Queue("COMMIT")
	return conn.SendBatch(ctx, b).Close()
}

// BenchmarkBatch saves a hundred events in one transaction, as FireBatch does.
func BenchmarkBatch(b *testing.B) {
	d := openDatabase(b)
	s := d.migrated(b)
	ctx := context.Background()
	const events = 100
	n := 0
	for b.Loop() {
		must(b, s.InTx(ctx, func(tx pgx.Tx) error {
			queries, commits := make([]store.Query, events), make([]store.Commit, events)
			for i := range events {
				n++
				queries[i], commits[i] = query(n), creation(b, n)
			}
			if _, err := s.Load(ctx, tx, queries); err != nil {
				return err
			}
			commits[events-1].Last = true
			return s.Save(ctx, tx, commits)
		}))
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkSaveMany saves new registrations with their chains of steps, and the
// answers to their effects, so many a Save. It tells what a record costs, and
// what of that is the server's CPU time where the server is on this machine.
func BenchmarkSaveMany(b *testing.B) {
	d := openDatabase(b)
	d.registering(b)
	pool := d.newPool(b, func(c *pgxpool.Config) { c.MaxConns = 1 })
	s, err := New(pool, Options{Schema: d.schema})
	must(b, err)
	s.notifier.busy = true // nothing else on the connection
	var pid int
	must(b, pool.QueryRow(context.Background(), "SELECT pg_backend_pid()").Scan(&pid))
	n := 0
	for _, many := range []int{1, 4, 8, 16} {
		var records int
		var saves, answers spent
		b.Run(fmt.Sprint(many), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				creations, settled := make([]store.Commit, many), make([]store.Commit, many)
				for i := range many {
					n++
					creations[i] = registered(b, n)
					settled[i] = answered(b, n, creations[i].Steps[4].Record)
				}
				creations[many-1].Last, settled[many-1].Last = true, true
				b.StartTimer()
				saves.of(b, pid, func() { must(b, save(s, creations...)) })
				answers.of(b, pid, func() { must(b, save(s, settled...)) })
				records += many
			}
			saves.report(b, records, "save")
			answers.report(b, records, "answer")
		})
	}
}

// BenchmarkRelay claims messages by the hundred and settles each.
func BenchmarkRelay(b *testing.B) {
	d := openDatabase(b)
	s := d.migrated(b)
	const many = 2000
	total := 0
	for b.Loop() {
		b.StopTimer()
		var commits []store.Commit
		for range many {
			total++
			commits = append(commits, creation(b, total))
		}
		must(b, save(s, commits...))
		b.StartTimer()
		for done := 0; done < many; {
			tasks, err := s.Claim(context.Background(), claim(1, 100))
			must(b, err)
			for _, task := range tasks {
				must(b, finish(s, task))
			}
			done += len(tasks)
		}
	}
	b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "messages/s")
}

// spent is the time that something took, and the CPU time of a process in it.
type spent struct{ wall, cpu time.Duration }

func (s *spent) of(b *testing.B, pid int, f func()) {
	cpu, start := cpuOf(b, pid), time.Now()
	f()
	s.wall += time.Since(start)
	s.cpu += cpuOf(b, pid) - cpu
}

func (s *spent) report(b *testing.B, records int, name string) {
	b.ReportMetric(float64(s.wall.Nanoseconds())/float64(records), name+"-ns/record")
	b.ReportMetric(float64(s.cpu.Nanoseconds())/float64(records), name+"-server-ns/record")
}

// cpuOf is the CPU time of a process, 0 where it can't be read.
func cpuOf(b *testing.B, pid int) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	fields := strings.Fields(string(text))
	if err != nil || len(fields) == 0 {
		return 0
	}
	ns, err := strconv.ParseInt(fields[0], 10, 64)
	must(b, err)
	return time.Duration(ns)
}
