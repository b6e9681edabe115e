package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/adapters/consul"
	"github.com/fsmgen/fsmgen/internal/consulagent"
	"github.com/fsmgen/fsmgen/internal/groupcommit"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/services/registration"
)

// registrations registers one new node after another, through the service and
// by what the service's effects come down to.
type registrations struct {
	prefix  string // of the nodes' names: a Consul may be shared
	next    atomic.Int64
	service *registration.Server
	rows    registration.Registry
	consul  *consul.Client
	pool    *pgxpool.Pool
	raw     *api.Client

	begun, answered groupcommit.Queue[string, *handmade] // by hand

	mu        sync.Mutex
	nodes     []string                 // since the last clear
	waiting   map[string]chan struct{} // for the node to be registered
	latencies []time.Duration
}

// newRegistrations starts a daemon, single-step or two-step, with a Consul.
func newRegistrations(b *testing.B, dsn, url string, twoStep bool) *registrations {
	b.Helper()
	collectLess(b)
	s := newSchema(b, dsn)
	r := &registrations{prefix: s.schema, pool: s.connect(nil), waiting: map[string]chan struct{}{}}
	o, err := consul.FromURL(url)
	must(b, err)
	r.consul, err = consul.New(o)
	must(b, err)
	b.Cleanup(r.consul.Close)
	r.raw, err = api.NewClient(&api.Config{Address: o.Address, Token: o.Token})
	must(b, err)
	r.rows = registration.NewRegistry(r.pool, engine.SystemClock{})
	r.service, err = registration.Open(context.Background(), registration.Options{
		Store: s.dsn, Schema: s.schema, Connections: 20, Discovery: r.consul, Catalog: r.consul, Name: "bench", TwoStep: twoStep,
		TTL: time.Hour, Collect: registration.Collect{Every: time.Hour}, // neither heartbeats nor collectors are measured
		Logger: slog.New(slog.DiscardHandler),
		// Of the service itself a label has 10,000 values at most; a fleet has more nodes.
		Engine: func(c *engine.Config) { c.Metrics = r.measured },
	})
	must(b, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.service.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		must(b, <-ended)
		must(b, r.service.Close())
	})
	return r
}

// collectLess has the garbage collector run as seldom as registrationd has it, for
// all that is compared.
func collectLess(b *testing.B) {
	b.Helper()
	const percent = 400
	before := debug.SetGCPercent(percent)
	b.Cleanup(func() { debug.SetGCPercent(before) })
}

// measured hears that a node is registered.
func (r *registrations) measured(m engine.Metric) {
	if m.Name != "registration_complete" {
		return
	}
	for _, l := range m.Labels {
		if l.Name == "node_id" {
			r.mu.Lock()
			defer r.mu.Unlock()
			close(r.waiting[l.Value])
			return
		}
	}
}

func (r *registrations) node() string {
	node := fmt.Sprintf("%s-%d", r.prefix, r.next.Add(1))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nodes = append(r.nodes, node)
	return node
}

// clear takes the services out of Consul, which is the slower the more it has.
func (r *registrations) clear(b *testing.B) {
	b.Helper()
	for _, node := range r.nodes {
		must(b, r.raw.Agent().ServiceDeregister("svc-"+node))
	}
	r.nodes = nil
}

const record = `{"host": "10.0.0.7"}`

// register is a registration from REGISTER to registered.
func (r *registrations) register(ctx context.Context) error {
	node := r.node()
	payload, err := json.Marshal(map[string]any{
		"deployment_id": "blue", "environment": "production", "network_id": "net-1", "consul_service_id": "svc-" + node,
		"consul_service_name": "onex-node", "consul_tags": []string{"a", "b"}, "postgres_record": json.RawMessage(record),
	})
	if err != nil {
		return err
	}
	done := make(chan struct{})
	r.mu.Lock()
	r.waiting[node] = done
	r.mu.Unlock()
	begun := time.Now()
	if _, err := r.service.Register(ctx, node, payload, registration.Call{}); err != nil {
		return err
	}
	select {
	case <-done:
	case <-ctx.Done():
		return fmt.Errorf("node %s: %w", node, ctx.Err())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latencies = append(r.latencies, time.Since(begun))
	return nil
}

// direct makes the two calls that the effects make: the upsert of the registry
// and the registration of the adapter, which is two requests.
func (r *registrations) direct(ctx context.Context) error {
	node, id := r.node(), random()
	err := r.rows.Upsert(ctx, registration.Row{
		Key: registration.Key{NodeID: node, RegistrationID: id}, DeploymentID: "blue", Environment: "production", NetworkID: "net-1",
		Record: []byte(record), CorrelationID: id,
	})
	if err != nil {
		return err
	}
	return r.consul.Register(ctx, registration.Service{
		ID: "svc-" + node, Name: "onex-node", Tags: []string{"a", "b"}, TTL: time.Hour, NodeID: node, RegistrationID: id,
	})
}

// bare is the least that puts a row here and a service there: one statement and
// one request, without any care.
func (r *registrations) bare(ctx context.Context) error {
	node, id := r.node(), random()
	_, err := r.pool.Exec(ctx, `INSERT INTO node_registrations
			(node_id, registration_id, deployment_id, environment, network_id, record, status, daemon, last_heartbeat, correlation_id, registered_at, updated_at)
			VALUES ($1, $2::uuid, 'blue', 'production', 'net-1', $3, 'registered', 'bench', now(), CAST($2::uuid AS text), now(), now())
			ON CONFLICT (node_id) DO UPDATE SET registration_id = excluded.registration_id, record = excluded.record, updated_at = excluded.updated_at`,
		node, id, record)
	if err != nil {
		return err
	}
	return r.raw.Agent().ServiceRegisterOpts(&api.AgentServiceRegistration{
		ID: "svc-" + node, Name: "onex-node", Tags: []string{"a", "b"}, Meta: map[string]string{"node_id": node},
		Check: &api.AgentServiceCheck{TTL: "1h", Status: api.HealthPassing},
	}, api.ServiceRegisterOpts{}.WithContext(ctx))
}

// BenchmarkRegistration registers nodes end to end, by code that stores the same rows
// by hand, by the two calls that its effects make, and by the least that one could
// do, in turns of short stretches:
// with the agent in process, and with the Consul of FSMGEN_CONSUL if there is one. To
// that one a node is the dearer the more it has already: there, a fleet is compared too.
func BenchmarkRegistration(b *testing.B) { withAndWithoutFsync(b, compareRegistrations) }

func compareRegistrations(b *testing.B, dsn string) {
	b.Run("in-process", func(b *testing.B) {
		server := httptest.NewServer(consulagent.New(consulagent.Options{}))
		b.Cleanup(server.Close)
		compareModes(b, dsn, server.URL)
	})
	if url := os.Getenv("FSMGEN_CONSUL"); url != "" && url != "absent" {
		b.Run("real", func(b *testing.B) {
			compareModes(b, dsn, url)
			r := newRegistrations(b, dsn, url, false)
			b.Run("single-step/fleet=512", func(b *testing.B) { r.compare(b, 16, 512) })
		})
	}
}

// stored is how many registrations are registered, and what else they leave.
type stored struct{ records, steps, messages, deadlines int }

// plus adds n times each.
func (s stored) plus(each stored, n int) stored {
	return stored{s.records + n*each.records, s.steps + n*each.steps, s.messages + n*each.messages, s.deadlines + n*each.deadlines}
}

func (r *registrations) stored(b *testing.B) (s stored) {
	b.Helper()
	must(b, r.pool.QueryRow(context.Background(), `SELECT
			(SELECT count(*) FROM registration_records WHERE state = 'registered'), (SELECT count(*) FROM registration_history),
			(SELECT count(*) FROM fsm_outbox WHERE state = 'delivered'), (SELECT count(*) FROM fsm_deadlines)`,
	).Scan(&s.records, &s.steps, &s.messages, &s.deadlines))
	return s
}

func compareModes(b *testing.B, dsn, consul string) {
	b.Helper()
	for _, mode := range []string{"single-step", "two-step"} {
		r := newRegistrations(b, dsn, consul, mode == "two-step")
		for _, clients := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/clients=%d", mode, clients), func(b *testing.B) { r.compare(b, clients, 16+4*clients) })
		}
	}
}

// compare has clients register nodes, none of which is in Consul before.
func (r *registrations) compare(b *testing.B, clients, nodes int) {
	b.Helper()
	const durable = 2 // so many of the ways leave a record
	ways := []func(context.Context) error{r.register, r.byHand, r.direct, r.bare}
	for i, way := range ways { // connects and prepares the statements
		before, first := r.stored(b), 4*clients
		by(b, clients, first, way)
		if i < durable {
			after, each := r.stored(b), stored{records: 1, steps: 6, messages: 1}
			if want := before.plus(each, first); after != want {
				b.Fatalf("way %d: there are %+v, want %+v", i, after, want)
			}
		}
		r.clear(b)
	}
	r.latencies = nil
	took := make([][]time.Duration, len(ways))
	for round := 0; b.Loop(); round++ {
		for i := range ways {
			way := (round + i) % len(ways)
			took[way] = append(took[way], by(b, clients, nodes, ways[way]))
			r.clear(b)
		}
	}
	service, byHand, direct, bare := median(took[0]), median(took[1]), median(took[2]), median(took[3])
	b.ReportMetric(0, "ns/op") // of a round of all ways: says nothing
	b.ReportMetric(rate(nodes, service), "registrations/s")
	b.ReportMetric(rate(nodes, byHand), "by-hand/s")
	b.ReportMetric(rate(nodes, direct), "direct/s")
	b.ReportMetric(rate(nodes, bare), "bare/s")
	b.ReportMetric(byHand.Seconds()/service.Seconds(), "of-by-hand")
	b.ReportMetric(direct.Seconds()/byHand.Seconds(), "by-hand-of-direct")
	b.ReportMetric(direct.Seconds()/service.Seconds(), "of-direct")
	b.ReportMetric(bare.Seconds()/service.Seconds(), "of-bare")
	slices.Sort(r.latencies)
	milliseconds := func(per int) float64 {
		const us = 1000
		return float64(r.latencies[(len(r.latencies)-1)*per/100].Microseconds()) / us
	}
	b.ReportMetric(milliseconds(50), "p50-ms")
	b.ReportMetric(milliseconds(99), "p99-ms")
}
