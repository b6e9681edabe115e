package registration_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/adapters/consul"
	"github.com/fsmgen/fsmgen/adapters/postgres"
	"github.com/fsmgen/fsmgen/internal/consulagent"
	"github.com/fsmgen/fsmgen/internal/parts"
	"github.com/fsmgen/fsmgen/internal/pgtest"
	"github.com/fsmgen/fsmgen/internal/proxytest"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/services/registration"
)

// fixture is a daemon between a database and a Consul, each behind a proxy.
type fixture struct {
	nodes
	options registration.Options
	stop    func()
}

// everywhere runs a test over each store.
func everywhere(t *testing.T, test func(t *testing.T, s *fixture)) {
	t.Helper()
	t.Run("postgres", func(t *testing.T) { t.Parallel(); test(t, newFixture(t)) })
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); test(t, newSQLiteFixture(t)) })
}

// scenarios runs a test over each store, and over PostgreSQL with a real Consul.
func scenarios(t *testing.T, test func(t *testing.T, s *fixture)) {
	t.Helper()
	everywhere(t, test)
	t.Run("postgres, real Consul", func(t *testing.T) { t.Parallel(); test(t, newFixture(t).real()) })
}

// overPostgres runs a test that needs PostgreSQL with each Consul.
func overPostgres(t *testing.T, test func(t *testing.T, s *fixture)) {
	t.Helper()
	t.Run("postgres", func(t *testing.T) { t.Parallel(); test(t, newFixture(t)) })
	t.Run("postgres, real Consul", func(t *testing.T) { t.Parallel(); test(t, newFixture(t).real()) })
}

// real puts the Consul of FSMGEN_CONSUL behind the fixture, which must not be open
// yet. Its services have names of their own there, since other tests share it;
// its clock is not the test's.
func (s *fixture) real() *fixture {
	s.t.Helper()
	address := parts.Address(s.t, "FSMGEN_CONSUL")
	if address == "absent" {
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

// newFixture makes a fixture over a schema of its own on PostgreSQL.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	dsn := pgtest.DSN(t)
	schema := pgtest.Schema(t, dsn)
	config, err := postgres.PoolConfig(dsn, postgres.Options{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 4
	s := bareFixture(t)
	s.pool = openPool(t, config)
	s.database = pgtest.Proxy(t, dsn)
	through := config.Copy()
	through.ConnConfig.DialFunc = s.database.Dial
	s.options.Registry = registration.NewRegistry(openPool(t, through), s.clock)
	s.schema = schema
	s.options.Store, s.options.Schema, s.options.Connections = dsn, schema, 8
	return s
}

func newSQLiteFixture(t *testing.T) *fixture {
	t.Helper()
	s := bareFixture(t)
	s.path = filepath.Join(t.TempDir(), "registrations.db")
	s.options.Store = s.path
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

// bareFixture makes a Consul, a clock and what watches.
func bareFixture(t *testing.T) *fixture {
	t.Helper()
	watched := &observation{t: t, clock: newClock(), metrics: &metrics{}, logs: &logs{}}
	s := &fixture{nodes: nodes{t: t, observation: watched, outside: &outside{t: t}, storage: &storage{t: t}}}
	http := httptest.NewServer(consulagent.New(consulagent.Options{Now: s.clock.Now}))
	t.Cleanup(http.Close)
	s.consul = proxytest.New(t, "tcp", strings.TrimPrefix(http.URL, "http://"))
	s.url = http.URL
	s.client = s.connect(s.url)
	through := s.connect("http://" + s.consul.Address())
	s.options = registration.Options{
		Name: "daemon-1", Discovery: through, Catalog: through, Clock: s.clock, Metrics: s.metrics.record,
		AttemptTimeout: time.Hour, // which no machine is too slow for
		Logger:         slog.New(slog.NewJSONHandler(s.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		// Chores are called by the tests.
		Collect: registration.Collect{Every: time.Hour, Reconcile: time.Hour},
		Engine: func(c *engine.Config) {
			c.PollInterval, c.Lease, c.StopTimeout = 5*time.Millisecond, 24*time.Hour, 10*time.Millisecond
		},
	}
	return s
}

// open opens the daemon without letting it work.
func (s *fixture) open() *fixture {
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
func (s *fixture) works() *fixture {
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
func (s *fixture) restarts() *fixture {
	s.t.Helper()
	s.stop()
	return s.works()
}
