package bench

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/bench/generated/order"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// BenchmarkLifecycle takes orders from their creation to their end, in four durable steps with
// one outside call, through the engine and by a workflow of DBOS Transact, on one server with
// fsync on. They take turns. A lifecycle counts when the database has its end.
func BenchmarkLifecycle(b *testing.B) {
	postgresDSN(b) // without PostgreSQL there is no server to start
	dsn := startWithFsync(b)
	payments := newPayments(b)
	ways := []lifecycles{newOrders(b, dsn, payments), newWorkflows(b, dsn, payments)}
	for _, clients := range []int{16, 64} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) { compareLifecycles(b, ways, payments, clients) })
	}
}

// lifecycles takes one order after another to its end.
type lifecycles interface {
	// complete returns when the order has ended in the database.
	complete(ctx context.Context) error
	// completed asks the database how many have ended.
	completed(b *testing.B) int
}

func compareLifecycles(b *testing.B, ways []lifecycles, payments *payments, clients int) {
	b.Helper()
	orders := 4 * clients
	run := func(way lifecycles) time.Duration {
		ended, paid := way.completed(b), payments.count()
		took := by(b, clients, orders, way.complete)
		if got := way.completed(b) - ended; got != orders {
			b.Fatalf("%T: %d of %d orders have ended in the database", way, got, orders)
		}
		if got := payments.count() - paid; got != orders {
			b.Fatalf("%T: %d of %d orders were paid", way, got, orders)
		}
		return took
	}
	for _, way := range ways { // connects and prepares the statements
		run(way)
	}
	took := make([][]time.Duration, len(ways))
	for round := 0; b.Loop(); round++ {
		for i := range ways {
			way := (round + i) % len(ways)
			took[way] = append(took[way], run(ways[way]))
		}
	}
	engine, dbos := median(took[0]), median(took[1])
	b.ReportMetric(0, "ns/op") // of both: says nothing
	b.ReportMetric(rate(orders, engine), "engine-lifecycles/s")
	b.ReportMetric(rate(orders, dbos), "dbos-lifecycles/s")
	b.ReportMetric(dbos.Seconds()/engine.Seconds(), "of-dbos")
}

// payments is the outside: a server that takes payments, and knows a repeated one by its key.
type payments struct {
	url    string
	client http.Client

	mu   sync.Mutex
	paid map[string]int // amounts by key
}

func newPayments(b *testing.B) *payments {
	b.Helper()
	p := &payments{paid: map[string]int{}}
	server := httptest.NewServer(p)
	p.url = server.URL
	p.client.Transport = &http.Transport{MaxIdleConnsPerHost: 128}
	b.Cleanup(func() {
		p.client.CloseIdleConnections()
		server.Close()
	})
	return p
}

func (p *payments) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	amount, err := strconv.Atoi(r.FormValue("amount"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paid[r.FormValue("key")] = amount
	w.WriteHeader(http.StatusNoContent)
}

func (p *payments) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.paid)
}

// charge is the outside call of an order. It returns the receipt.
func (p *payments) charge(ctx context.Context, key string, amount int64) (receipt string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("%s?key=%s&amount=%d", p.url, key, amount), nil)
	if err != nil {
		return "", err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		return "", fmt.Errorf("the payment of %s: %s", key, response.Status)
	}
	return "receipt-" + key, nil
}

// orders are those of the engine. An order is created and reserved in one transaction, which
// starts its charge; the answer and the shipment that it raises are another.
type orders struct {
	server   *server
	engine   *engine.Engine[pgx.Tx]
	payments *payments

	mu      sync.Mutex
	waiting map[string]chan struct{} // for the order to have ended
}

func newOrders(b *testing.B, dsn string, p *payments) *orders {
	b.Helper()
	o := &orders{server: newSchema(b, dsn), payments: p, waiting: map[string]chan struct{}{}}
	const slots = 64 // as many as clients
	o.engine = o.server.engineOf(order.Define[pgx.Tx](o), engine.Config{
		Concurrency: slots, Limits: map[string]engine.Limit{"payments": {AtOnce: slots}}, Metrics: o.measured,
	})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- o.engine.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		must(b, <-ended)
	})
	return o
}

// total of every order, in cents.
const total = 4200

func (o *orders) complete(ctx context.Context) error {
	var id fsm.UUID
	if err := id.UnmarshalText([]byte(random())); err != nil {
		return err
	}
	ended := make(chan struct{})
	o.mu.Lock()
	o.waiting[id.String()] = ended
	o.mu.Unlock()
	err := o.engine.Transact(ctx, func(ctx context.Context, tx *engine.Tx[pgx.Tx]) error {
		calls := order.Within(tx)
		if _, err := calls.Create(ctx, id, order.Create{Total: total}); err != nil {
			return err
		}
		_, err := calls.Reserve(ctx, id)
		return err
	})
	if err != nil {
		return err
	}
	return await(ctx, id, ended)
}

// await waits for the end of an order.
func await(ctx context.Context, id fsm.UUID, ended <-chan struct{}) error {
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("order %s: %w", id, ctx.Err())
	}
}

// Charge implements [order.Handlers].
func (o *orders) Charge(ctx context.Context, d fsm.Dispatch, e order.ChargeEffect) (order.ChargeAnswer, error) {
	receipt, err := o.payments.charge(ctx, d.ID, e.Total)
	if err != nil {
		return nil, err
	}
	return order.Paid{Receipt: receipt}, nil
}

// measured hears, after the commit, that an order has ended.
func (o *orders) measured(m engine.Metric) {
	if m.Name != "order_shipped" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range m.Labels {
		close(o.waiting[l.Value])
		delete(o.waiting, l.Value)
	}
}

func (o *orders) completed(b *testing.B) (count int) {
	b.Helper()
	must(b, o.server.pool.QueryRow(context.Background(), `SELECT count(*) FROM order_records WHERE state = 'shipped'`).Scan(&count))
	return count
}
