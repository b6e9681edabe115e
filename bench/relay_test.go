package bench

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

const (
	// backlog is how much waits when a relay begins to be measured.
	backlog = 10_000
	// slots is how much a relay does at once, in each of the two.
	slots = 1000
)

// BenchmarkRelay works a backlog off that waits when it begins: the engine by
// delivering messages, each of a record of its own, River by working jobs.
// Neither does anything about them. The clock runs from the start of the first
// to the moment when the database says that the last is done.
func BenchmarkRelay(b *testing.B) { withAndWithoutFsync(b, compareRelays) }

func compareRelays(b *testing.B, dsn string) {
	took := takeTurns(b, []queue{newNotifications(b, dsn), newRiver(b, dsn)})
	engine, jobs := rate(backlog, median(took[0])), rate(backlog, median(took[1]))
	b.ReportMetric(0, "ns/op") // of both: says nothing
	b.ReportMetric(engine, "engine-messages/s")
	b.ReportMetric(jobs, "river-jobs/s")
	b.ReportMetric(engine/jobs, "of-river")
}

// takeTurns returns how long each queue took for each backlog.
func takeTurns(b *testing.B, queues []queue) (took [][]time.Duration) {
	b.Helper()
	for _, q := range queues { // connects and prepares the statements
		workOff(b, q, slots)
	}
	took = make([][]time.Duration, len(queues))
	for round := 0; b.Loop(); round++ {
		for i := range queues {
			which := (round + i) % len(queues)
			took[which] = append(took[which], workOff(b, queues[which], backlog))
		}
	}
	return took
}

// queue is what works a backlog off.
type queue interface {
	fill(b *testing.B, count int)
	// run works until ctx ends, and tells of each piece that is begun.
	run(ctx context.Context, b *testing.B, begun func())
	// left asks the database whether anything is not done.
	left(ctx context.Context) (bool, error)
}

// workOff returns how long q takes for a backlog.
func workOff(b *testing.B, q queue, backlog int) time.Duration {
	b.Helper()
	q.fill(b, backlog)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var begun atomic.Int64
	first, last := make(chan time.Time, 1), make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		q.run(ctx, b, func() {
			switch int(begun.Add(1)) {
			case 1:
				first <- time.Now()
			case backlog:
				close(last)
			}
		})
	}()
	<-last
	for tick := time.NewTicker(5 * time.Millisecond); ; <-tick.C {
		left, err := q.left(ctx)
		must(b, err)
		if !left {
			break
		}
	}
	took := time.Since(<-first)
	stop()
	<-ended
	if n := int(begun.Load()); n != backlog {
		b.Fatalf("%d were begun, not %d", n, backlog)
	}
	return took
}

// outbox is the engine's own.
type outbox struct {
	server *server
	engine *engine.Engine[pgx.Tx]
	begun  *func()
	filled message
}

// message is what each message of a backlog has.
type message struct{ effect, destination, payload string }

// notified is told of notify_owner. The other effects do not happen here.
type notified struct {
	deal.Handlers[pgx.Tx]
	begun *func()
}

func (n notified) NotifyOwner(context.Context, fsm.Dispatch, deal.NotifyOwnerEffect) error {
	(*n.begun)()
	return nil
}

func newNotifications(b *testing.B, dsn string) *outbox {
	filled := message{"notify_owner", "owner_notifications", `{"owner_id":8,"status":"FUNDED"}`}
	return newOutbox(b, dsn, filled, func(begun *func()) deal.Handlers[pgx.Tx] { return notified{begun: begun} })
}

func newOutbox(b *testing.B, dsn string, filled message, handlers func(begun *func()) deal.Handlers[pgx.Tx]) *outbox {
	o := &outbox{server: newSchema(b, dsn), begun: new(func()), filled: filled}
	o.engine = o.server.engine(handlers(o.begun), engine.Config{
		Concurrency: slots, Batch: slots, Limits: map[string]engine.Limit{filled.destination: {AtOnce: slots}},
	})
	return o
}

func (o *outbox) fill(b *testing.B, count int) {
	b.Helper()
	pool := o.server.connectUntriggered() // there are no records to ask for them
	defer pool.Close()
	_, err := pool.Exec(context.Background(), `INSERT INTO fsm_outbox
			(message_id, machine, record_id, version, seq, effect, destination, delivery, work, payload, correlation, created_at, state, attempts, available_at)
		SELECT gen_random_uuid(), 'deal', gen_random_uuid()::text, 1, 0, $2, $3, 'keyed', false,
			$4, gen_random_uuid()::text, now(), 'pending', 0, now()
		FROM generate_series(1, $1::int)`, count, o.filled.effect, o.filled.destination, o.filled.payload)
	must(b, err)
	o.server.exec("ANALYZE fsm_outbox")
}

func (o *outbox) run(ctx context.Context, b *testing.B, begun func()) {
	*o.begun = begun
	if err := o.engine.Run(ctx); err != nil {
		b.Error(err)
	}
}

func (o *outbox) left(ctx context.Context) (left bool, err error) {
	err = o.server.pool.QueryRow(ctx, "SELECT EXISTS (SELECT FROM fsm_outbox WHERE due_at IS NOT NULL AND NOT parked)").Scan(&left)
	return left, err
}

// riverJobs is River's.
type riverJobs struct {
	server *server
	pool   *pgxpool.Pool
}

// noOp is a job that asks for nothing.
type noOp struct {
	Owner  int    `json:"owner_id"`
	Status string `json:"status"`
}

func (noOp) Kind() string { return "no_op" }

func newRiver(b *testing.B, dsn string) *riverJobs {
	r := &riverJobs{server: newSchema(b, dsn)}
	r.pool = r.server.connect(nil)
	migrator, err := rivermigrate.New(riverpgxv5.New(r.pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	must(b, err)
	_, err = migrator.Migrate(context.Background(), rivermigrate.DirectionUp, nil)
	must(b, err)
	return r
}

// client makes a River that works jobs, as often as its documentation allows.
func (r *riverJobs) client(b *testing.B, begun func()) *river.Client[pgx.Tx] {
	b.Helper()
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(context.Context, *river.Job[noOp]) error {
		begun()
		return nil
	}))
	c, err := river.NewClient(riverpgxv5.New(r.pool), &river.Config{
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: slots}},
		FetchCooldown:     2 * time.Millisecond, // a tenth of a second by default
		FetchPollInterval: 20 * time.Millisecond,
		Workers:           workers,
		Logger:            slog.New(slog.DiscardHandler),
	})
	must(b, err)
	return c
}

func (r *riverJobs) fill(b *testing.B, count int) {
	b.Helper()
	jobs := make([]river.InsertManyParams, count)
	for i := range jobs {
		jobs[i].Args = noOp{Owner: 8, Status: "FUNDED"}
	}
	_, err := r.client(b, nil).InsertManyFast(context.Background(), jobs)
	must(b, err)
	r.server.exec("ANALYZE river_job")
}

func (r *riverJobs) run(ctx context.Context, b *testing.B, begun func()) {
	c := r.client(b, begun)
	if err := c.Start(ctx); err != nil {
		b.Error(err)
		return
	}
	<-c.Stopped()
}

func (r *riverJobs) left(ctx context.Context) (left bool, err error) {
	err = r.server.pool.QueryRow(ctx, "SELECT EXISTS (SELECT FROM river_job WHERE state <> 'completed')").Scan(&left)
	return left, err
}
