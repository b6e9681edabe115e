package registration_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/adapters/consul"
	"github.com/fsmgen/fsmgen/adapters/consul/agent"
	"github.com/fsmgen/fsmgen/adapters/postgres"
	machine "github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/internal/proxytest"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/services/registration"
)

// clock is a clock that the test owns.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Now().UTC().Truncate(time.Microsecond)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// metrics remembers what was measured.
type metrics struct {
	mu   sync.Mutex
	seen []engine.Metric
}

func (m *metrics) record(x engine.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = append(m.seen, x)
}

// count sums the measurements of a metric with these label values among its own.
func (m *metrics) count(name string, labels ...string) (sum float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
next:
	for _, x := range m.seen {
		if x.Name != name {
			continue
		}
		for i := 0; i < len(labels); i += 2 {
			found := false
			for _, l := range x.Labels {
				found = found || l.Name == labels[i] && l.Value == labels[i+1]
			}
			if !found {
				continue next
			}
		}
		sum += x.Value
	}
	return sum
}

// counted waits until a metric sums up to what is wanted: measurements follow the
// commit. It returns the sum.
func (s *stage) counted(want float64, name string, labels ...string) (sum float64, ok bool) {
	const patience = 2 * time.Second
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if sum = s.metrics.count(name, labels...); sum == want {
			return sum, true
		}
	}
	return sum, false
}

func (s *stage) counts(want float64, name string, labels ...string) bool {
	_, ok := s.counted(want, name, labels...)
	return ok
}

// stage is a daemon between a database and a Consul, each behind a proxy.
type stage struct {
	t       *testing.T
	clock   *clock
	metrics *metrics
	logs    *logs
	options registration.Options
	url     string         // of Consul
	token   string         // for it
	suffix  string         // of the names there
	client  *consul.Client // to it directly

	consul   *proxytest.Proxy // between the daemon and Consul
	database *proxytest.Proxy // between the registry and PostgreSQL; nil with SQLite
	pool     *pgxpool.Pool    // to PostgreSQL directly; nil with SQLite
	reader   *sql.DB          // of the SQLite file; see file

	server *registration.Server
	stop   func()
}

// logs keeps the log lines, as JSON.
type logs struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// everywhere runs a test over each store.
func everywhere(t *testing.T, test func(t *testing.T, s *stage)) {
	t.Helper()
	t.Run("postgres", func(t *testing.T) { t.Parallel(); test(t, newStage(t)) })
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); test(t, newLiteStage(t)) })
}

// scenarios runs a test over each store, and over PostgreSQL with a real Consul.
func scenarios(t *testing.T, test func(t *testing.T, s *stage)) {
	t.Helper()
	everywhere(t, test)
	t.Run("postgres, real Consul", func(t *testing.T) { t.Parallel(); test(t, newStage(t).real()) })
}

// overPostgres runs a test that needs PostgreSQL with each Consul.
func overPostgres(t *testing.T, test func(t *testing.T, s *stage)) {
	t.Helper()
	t.Run("postgres", func(t *testing.T) { t.Parallel(); test(t, newStage(t)) })
	t.Run("postgres, real Consul", func(t *testing.T) { t.Parallel(); test(t, newStage(t).real()) })
}

// real puts the Consul of FSMGEN_CONSUL behind the stage, which must not be open
// yet. Its services have names of their own there, since other tests share it;
// its clock is not the test's.
func (s *stage) real() *stage {
	s.t.Helper()
	address := os.Getenv("FSMGEN_CONSUL")
	switch {
	case address == "" && os.Getenv("FSMGEN_REQUIRE_PARTS") == "1":
		s.t.Fatal("FSMGEN_CONSUL is not set, and FSMGEN_REQUIRE_PARTS demands the parts")
	case address == "":
		s.t.Skip("FSMGEN_CONSUL is not set: run under tools/parts")
	case address == "absent":
		s.t.Skip("there is no Consul here: the summary says why")
	}
	o, err := consul.FromURL(address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.url, s.token, s.suffix = o.Address, o.Token, "-"+s.options.Schema
	s.consul = proxytest.New(s.t, "tcp", strings.TrimPrefix(o.Address, "http://"))
	s.client = s.connect(s.url)
	through := s.connect("http://" + s.consul.Address())
	s.options.Discovery, s.options.Catalog = through, through
	s.t.Cleanup(func() { // of what the test left
		for _, i := range s.advertised() {
			if err := s.client.Withdraw(context.Background(), i); err != nil {
				s.t.Error(err)
			}
		}
	})
	return s
}

// newStage makes a stage over a schema of its own on the server of
// FSMGEN_POSTGRES_DSN.
func newStage(t *testing.T) *stage {
	t.Helper()
	dsn := os.Getenv("FSMGEN_POSTGRES_DSN")
	switch {
	case dsn == "" && os.Getenv("FSMGEN_REQUIRE_PARTS") == "1":
		t.Fatal("FSMGEN_POSTGRES_DSN is not set, and FSMGEN_REQUIRE_PARTS demands PostgreSQL")
	case dsn == "":
		t.Skip("FSMGEN_POSTGRES_DSN is not set: nothing was tested against PostgreSQL")
	}
	name := make([]byte, 8)
	_, _ = rand.Read(name) // never fails
	schema := "reg_" + hex.EncodeToString(name)
	config, err := postgres.PoolConfig(dsn, postgres.Options{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 4
	s := bareStage(t)
	s.pool = openPool(t, config)
	t.Cleanup(func() {
		if _, err := s.pool.Exec(context.Background(), "DROP SCHEMA IF EXISTS "+schema+" CASCADE"); err != nil {
			t.Error(err)
		}
	})
	network, address := "tcp", fmt.Sprintf("%s:%d", config.ConnConfig.Host, config.ConnConfig.Port)
	if strings.HasPrefix(config.ConnConfig.Host, "/") {
		network, address = "unix", fmt.Sprintf("%s/.s.PGSQL.%d", config.ConnConfig.Host, config.ConnConfig.Port)
	}
	s.database = proxytest.New(t, network, address)
	through := config.Copy()
	through.ConnConfig.DialFunc = s.database.Dial
	s.options.Registry = registration.NewRegistry(openPool(t, through), s.clock)
	s.options.Store, s.options.Schema, s.options.Connections = dsn, schema, 8
	return s
}

func newLiteStage(t *testing.T) *stage {
	t.Helper()
	s := bareStage(t)
	s.options.Store = filepath.Join(t.TempDir(), "registrations.db")
	return s
}

func openPool(t *testing.T, config *pgxpool.Config) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// bareStage makes a Consul, a clock and what watches.
func bareStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, clock: newClock(), metrics: &metrics{}, logs: &logs{}}
	http := httptest.NewServer(agent.New(agent.Options{Now: s.clock.Now}))
	t.Cleanup(http.Close)
	s.consul = proxytest.New(t, "tcp", strings.TrimPrefix(http.URL, "http://"))
	s.url = http.URL
	s.client = s.connect(s.url)
	through := s.connect("http://" + s.consul.Address())
	s.options = registration.Options{
		Name: "daemon-1", Discovery: through, Catalog: through, Clock: s.clock, Metrics: s.metrics.record,
		AttemptTimeout: 15 * time.Second, // of a machine that is busy with other tests
		Logger:         slog.New(slog.NewJSONHandler(s.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		// Chores are called by the tests.
		Collect: registration.Collect{Every: time.Hour, Reconcile: time.Hour},
		Engine: func(c *engine.Config) {
			c.PollInterval, c.Lease, c.StopTimeout = 5*time.Millisecond, 24*time.Hour, 10*time.Millisecond
		},
	}
	return s
}

func (s *stage) connect(url string) *consul.Client {
	s.t.Helper()
	c, err := consul.New(consul.Options{Address: url, Token: s.token, Timeout: 20 * time.Second})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.Close)
	return c
}

// open opens the daemon without letting it work.
func (s *stage) open() *stage {
	s.t.Helper()
	var err error
	if s.server, err = registration.Open(s.t.Context(), s.options); err != nil {
		s.t.Fatal(err)
	}
	s.stop = sync.OnceFunc(func() {
		if err := s.server.Close(); err != nil {
			s.t.Error(err)
		}
	})
	s.t.Cleanup(func() { s.stop() })
	return s
}

// works opens the daemon and lets it work until the test ends or stop is called.
func (s *stage) works() *stage {
	s.t.Helper()
	s.open()
	shut := s.stop
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.server.Run(ctx) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			s.t.Error(err)
		}
		shut()
	})
	return s
}

// restarts stops the daemon and lets it work again, under the same name.
func (s *stage) restarts() *stage {
	s.t.Helper()
	s.stop()
	return s.works()
}

// payload is a payload without a fault.
func payload(node string) map[string]any { return (&stage{}).payload(node) }

// payload is one whose service has the stage's own names.
func (s *stage) payload(node string) map[string]any {
	return map[string]any{
		"node_id": node, "deployment_id": "blue", "environment": "production", "network_id": "net-1",
		"consul_service_id": "svc-" + node + s.suffix, "consul_service_name": "onex-node" + s.suffix, "consul_tags": []string{"a", "b"},
		"postgres_record": map[string]any{"host": "10.0.0.7"},
	}
}

func encoded(t *testing.T, v any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// registers fires REGISTER, which must be accepted.
func (s *stage) registers(node string) registration.Accepted {
	s.t.Helper()
	return s.registersWith(node, s.payload(node))
}

func (s *stage) registersWith(node string, payload any) registration.Accepted {
	s.t.Helper()
	a, err := s.server.Register(s.t.Context(), node, encoded(s.t, payload), registration.Call{})
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// fires fires a trigger, which must be accepted.
func (s *stage) fires(node string, e machine.Payload) registration.Accepted {
	s.t.Helper()
	a, err := s.server.Trigger(s.t.Context(), node, e, registration.Call{})
	if err != nil {
		s.t.Fatalf("%s: %v", e.EventName(), err)
	}
	return a
}

func (s *stage) status(node string) registration.Status {
	s.t.Helper()
	status, err := s.server.Recorded(s.t.Context(), node)
	if err != nil {
		s.t.Fatal(err)
	}
	return status
}

// await waits until the node is in a state. The clock stands still.
func (s *stage) await(node string, state machine.State) registration.Status {
	s.t.Helper()
	return s.reach(node, state, 0)
}

// reach waits until the node is in a state. The clock runs while an effect waits
// to be repeated, and only then: a test that is slow loses nothing.
func (s *stage) reach(node string, state machine.State, step time.Duration) registration.Status {
	s.t.Helper()
	const patience = 20 * time.Second
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if status := s.status(node); status.State == state {
			return status
		}
		if step > 0 && s.waiting() {
			s.clock.advance(step)
		}
		time.Sleep(3 * time.Millisecond) // between two looks
	}
	s.t.Fatalf("node %s is in %s, not in %s\n%s\n%s", node, s.status(node).State, state, s.trace(node), s.logs.text())
	return registration.Status{}
}

// quick is how much of the clock's time passes at a look of reach.
const quick = 50 * time.Millisecond

// waiting reports whether an effect waits to be repeated.
func (s *stage) waiting() (is bool) {
	s.t.Helper()
	const query = "SELECT EXISTS (SELECT 1 FROM %sfsm_outbox WHERE state = 'retry_wait' AND NOT cancelled)"
	var err error
	if s.pool != nil {
		err = s.pool.QueryRow(s.t.Context(), fmt.Sprintf(query, s.options.Schema+".")).Scan(&is)
	} else {
		err = s.file().QueryRow(fmt.Sprintf(query, "")).Scan(&is)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return is
}

// file is the database of a SQLite stage, for reading.
func (s *stage) file() *sql.DB {
	s.t.Helper()
	if s.reader == nil {
		var err error
		if s.reader, err = sql.Open("sqlite", "file:"+s.options.Store+"?mode=ro&_busy_timeout=10000"); err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { _ = s.reader.Close() }) // nothing was written
	}
	return s.reader
}

// trace is the way of a node: EVENT state, one after the other.
func (s *stage) trace(node string) string {
	s.t.Helper()
	steps, err := s.server.History(s.t.Context(), node)
	if err != nil {
		s.t.Fatal(err)
	}
	var b strings.Builder
	for i, x := range steps {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %s", x.Event, x.To)
	}
	return b.String()
}

// wantTrace compares the way of a node.
func (s *stage) wantTrace(node, want string) {
	s.t.Helper()
	if got := s.trace(node); got != want {
		s.t.Errorf("node %s went\n%s\nnot\n%s", node, got, want)
	}
}

// advertised lists what Consul advertises, as service=registration.
func (s *stage) advertised() (out []registration.Instance) {
	s.t.Helper()
	found, err := s.client.Instances(context.Background(), "onex-node"+s.suffix)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, i := range found {
		if i.RegistrationID != "" {
			out = append(out, i)
		}
	}
	return out
}

// owner is the registration that has the row of a node, "" for none.
func (s *stage) owner(node string) string {
	s.t.Helper()
	r := s.options.Registry
	if s.pool != nil {
		r = registration.NewRegistry(s.pool, s.clock)
	}
	if r == nil {
		return s.ownerBySQL(node)
	}
	id, err := r.Owner(s.t.Context(), node)
	if errors.Is(err, registration.ErrNotRegistered) {
		return ""
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

// ownerBySQL asks the file of a SQLite stage.
func (s *stage) ownerBySQL(node string) string {
	s.t.Helper()
	status, err := s.server.Status(s.t.Context(), node)
	if err != nil || status.Row == nil {
		s.t.Fatal("the row can't be read")
	}
	if *status.Row {
		return status.RegistrationID.String()
	}
	return ""
}

// wantBoth fails unless exactly these are there for a node: its row and its
// service, both of the registration.
func (s *stage) wantBoth(node string, row, service bool) {
	s.t.Helper()
	id := s.status(node).RegistrationID.String()
	if got := s.owner(node) == id; got != row {
		s.t.Errorf("the row of node %s is there: %v, want %v", node, got, row)
	}
	got := false
	for _, i := range s.advertised() {
		got = got || i.NodeID == node && i.RegistrationID == id
	}
	if got != service {
		s.t.Errorf("the service of node %s is there: %v, want %v", node, got, service)
	}
}

// raw is Consul's own client, without the daemon's proxy.
func (s *stage) raw() *api.Client {
	s.t.Helper()
	c, err := api.NewClient(&api.Config{Address: s.url})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}
