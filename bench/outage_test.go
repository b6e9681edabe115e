package bench

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/adapters/postgres"
	"github.com/fsmgen/fsmgen/generated/activate"
	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// BenchmarkOutage cuts a worker off from PostgreSQL for five sixths of a lease, while
// it has ten extractions in hand, which are at_most_once. All end well during the
// outage. lost is how many of them the engine reported as lost.
func BenchmarkOutage(b *testing.B) {
	lease := time.Duration(sized(60, 6)) * time.Second
	b.Run(fmt.Sprintf("postgres/lease=%s", lease), func(b *testing.B) {
		const records = 10
		lost := 0
		for b.Loop() {
			o := newOutage(b, lease)
			ctx, stop := context.WithCancel(context.Background())
			var running sync.WaitGroup
			running.Go(func() { must(b, o.engine.Run(ctx)) })
			for n := range int64(records) {
				start := unpack.Start{ImageID: fmt.Sprintf("image-%d", n), DownloadRun: dealID(n), LocalPath: "/i", Checksum: "c", PoolName: "p"}
				_, err := o.engine.Create(ctx, "unpack", dealID(n).String(), start, engine.Call{By: fsm.System()})
				must(b, err)
			}
			for range records {
				<-o.began
			}
			o.way.cut()
			close(o.end)
			time.Sleep(lease * 5 / 6)
			o.way.mend()
			for n := range int64(records) {
				for !o.left(dealID(n)) {
					time.Sleep(10 * time.Millisecond)
				}
				lost += o.lost(dealID(n))
			}
			stop()
			running.Wait()
		}
		b.ReportMetric(0, "ns/op") // the length of the outage: says nothing
		b.ReportMetric(float64(lost)/float64(b.N), "lost")
	})
}

// outage is a worker that extracts, and its way to the database.
type outage struct {
	unpack.Handlers[pgx.Tx]
	b      *testing.B
	server *server
	engine *engine.Engine[pgx.Tx]
	way    *way
	began  chan struct{} // a value from each extraction
	end    chan struct{} // closed when extractions may end
}

func newOutage(b *testing.B, lease time.Duration) *outage {
	s := newServer(b)
	o := &outage{b: b, server: s, began: make(chan struct{}, 100), end: make(chan struct{})}
	config, err := postgres.PoolConfig(s.dsn, postgres.Options{Schema: s.schema})
	must(b, err)
	o.way = newWay(b, config.ConnConfig.DialFunc)
	config.ConnConfig.DialFunc = o.way.dial
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	must(b, err)
	b.Cleanup(pool.Close)
	store, err := postgres.New(pool, postgres.Options{Schema: s.schema})
	must(b, err)
	b.Cleanup(func() { must(b, store.Close(context.Background())) })
	// Half of it is the share of one destination.
	settings := engine.Config{Logger: slog.New(slog.DiscardHandler), Lease: lease, Concurrency: 20}
	o.engine, err = engine.New(store, settings, unpack.Define[pgx.Tx](o, unpack.DefaultParams()), activate.Define[pgx.Tx](nil), download.Define[pgx.Tx](nil, download.DefaultParams()))
	must(b, err)
	must(b, o.engine.Migrate(context.Background()))
	return o
}

func (o *outage) CheckUnpacked(_ context.Context, d fsm.Dispatch, _ unpack.CheckUnpackedEffect) (unpack.CheckUnpackedAnswer, error) {
	return unpack.Checked{DeviceID: d.Record[28:]}, nil
}

func (o *outage) QueryCreateDevice(context.Context, fsm.Dispatch, unpack.CreateDeviceEffect) (unpack.CreateDeviceAnswer, bool, error) {
	return nil, false, nil
}

func (o *outage) CreateDevice(context.Context, fsm.Dispatch, unpack.CreateDeviceEffect) (unpack.CreateDeviceAnswer, error) {
	return unpack.DeviceReady{DevicePath: "/dev/x"}, nil
}

func (o *outage) ExtractLayers(context.Context, fsm.Dispatch, unpack.ExtractLayersEffect) (unpack.ExtractLayersAnswer, error) {
	o.began <- struct{}{}
	<-o.end
	return unpack.Extracted{}, nil
}

// VerifyLayout finds nothing, which ends the record.
func (o *outage) VerifyLayout(context.Context, fsm.Dispatch, unpack.VerifyLayoutEffect) (unpack.VerifyLayoutAnswer, error) {
	return unpack.LayoutChecked{}, nil
}

func (o *outage) DestroyDevice(context.Context, fsm.Dispatch, unpack.DestroyDeviceEffect) error {
	return nil
}

// left reports whether a record has got its answer.
func (o *outage) left(id fsm.UUID) bool {
	found, err := o.engine.Get(context.Background(), "unpack", id.String())
	must(o.b, err)
	return found.Record.StateName() != unpack.ExtractLayers.String()
}

// lost is 1 for a record whose extraction was reported as lost.
func (o *outage) lost(id fsm.UUID) int {
	steps, err := o.engine.History(context.Background(), "unpack", id.String(), 0, 0)
	must(o.b, err)
	for _, s := range steps {
		if s.Event == "EXTRACT_LOST" {
			return 1
		}
	}
	return 0
}

// way is how connections reach a server: while it is cut none is made, and those
// that were made end.
type way struct {
	next func(ctx context.Context, network, address string) (net.Conn, error)

	mu    sync.Mutex
	down  bool
	conns []net.Conn
}

func newWay(b *testing.B, next func(ctx context.Context, network, address string) (net.Conn, error)) *way {
	w := &way{next: next}
	b.Cleanup(w.mend)
	return w
}

func (w *way) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down {
		return nil, fmt.Errorf("%w: the way is cut", io.ErrClosedPipe)
	}
	conn, err := w.next(ctx, network, address)
	if err == nil {
		w.conns = append(w.conns, conn)
	}
	return conn, err
}

func (w *way) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = true
	for _, c := range w.conns {
		_ = c.Close() // it may have ended by itself
	}
	w.conns = nil
}

func (w *way) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = false
}
