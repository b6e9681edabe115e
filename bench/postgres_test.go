package bench

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/adapters/postgres"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/internal/pgtest"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// server is a schema of the benchmark's own on a PostgreSQL server.
type server struct {
	b      *testing.B
	dsn    string
	schema string
	pool   *pgxpool.Pool
}

// newServer makes a schema on the server of FSMGEN_POSTGRES_DSN that goes with the benchmark.
func newServer(b *testing.B) *server {
	b.Helper()
	return newSchema(b, postgresDSN(b))
}

// postgresDSN returns FSMGEN_POSTGRES_DSN. Without it the benchmark is skipped, or
// fails where FSMGEN_REQUIRE_PARTS is 1.
func postgresDSN(b *testing.B) string {
	b.Helper()
	dsn := os.Getenv("FSMGEN_POSTGRES_DSN")
	switch {
	case dsn == "" && os.Getenv("FSMGEN_REQUIRE_PARTS") == "1":
		b.Fatal("FSMGEN_POSTGRES_DSN is not set, and FSMGEN_REQUIRE_PARTS demands PostgreSQL")
	case dsn == "":
		b.Skip("FSMGEN_POSTGRES_DSN is not set: nothing was measured on PostgreSQL")
	}
	return dsn
}

// withAndWithoutFsync measures on the server of FSMGEN_POSTGRES_DSN, which make bench
// starts with fsync off, and on one of the benchmark's own with fsync on. A server of
// FSMGEN_POSTGRES_DSN that has fsync on is the only one.
func withAndWithoutFsync(b *testing.B, measure func(b *testing.B, dsn string)) {
	b.Helper()
	dsn := postgresDSN(b)
	setting := newSchema(b, dsn).setting("fsync")
	b.Run("fsync="+setting, func(b *testing.B) { measure(b, dsn) })
	if setting == "off" {
		b.Run("fsync=on", func(b *testing.B) { measure(b, startWithFsync(b)) })
	}
}

// startWithFsync starts a server with fsync on, and what make bench sets otherwise. It is
// reached by a socket.
func startWithFsync(b *testing.B) (dsn string) {
	b.Helper()
	socket := pgtest.NewServer(b, "fsync=on", "synchronous_commit=on", "max_connections=200").Socket()
	return "postgres://postgres@/postgres?sslmode=disable&host=" + url.QueryEscape(filepath.Dir(socket))
}

// newSchema makes a schema that goes with the benchmark.
func newSchema(b *testing.B, dsn string) *server {
	b.Helper()
	name := make([]byte, 8)
	_, _ = rand.Read(name) // never fails
	s := &server{b: b, dsn: dsn, schema: "bench_" + hex.EncodeToString(name)}
	s.pool = s.connect(nil)
	s.exec("CREATE SCHEMA " + s.schema)
	b.Cleanup(func() { s.exec("DROP SCHEMA " + s.schema + " CASCADE") })
	return s
}

// setting returns a setting of the server.
func (s *server) setting(name string) (value string) {
	s.b.Helper()
	must(s.b, s.pool.QueryRow(context.Background(), "SELECT current_setting($1)", name).Scan(&value))
	return value
}

// connect opens a pool for 20 clients. params are settings of its sessions.
func (s *server) connect(params map[string]string) *pgxpool.Pool {
	s.b.Helper()
	config, err := postgres.PoolConfig(s.dsn, postgres.Options{Schema: s.schema})
	must(s.b, err)
	config.MaxConns = 20
	for name, value := range params {
		config.ConnConfig.RuntimeParams[name] = value
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	must(s.b, err)
	s.b.Cleanup(pool.Close)
	return pool
}

// connectUntriggered opens a pool for whose writes no trigger fires.
func (s *server) connectUntriggered() *pgxpool.Pool {
	s.b.Helper()
	return s.connect(map[string]string{"session_replication_role": "replica"})
}

// exec runs statements as they are.
func (s *server) exec(statements string) {
	s.b.Helper()
	_, err := s.pool.Exec(context.Background(), statements, pgx.QueryExecModeSimpleProtocol)
	must(s.b, err)
}

// engine opens an engine for deals, with connections of its own, and its tables.
func (s *server) engine(h deal.Handlers[pgx.Tx], c engine.Config) *engine.Engine[pgx.Tx] {
	s.b.Helper()
	return s.engineOf(deal.Define(h, deal.DefaultParams()), c)
}

// engineOf opens an engine for a machine.
func (s *server) engineOf(m engine.Machine[pgx.Tx], c engine.Config) *engine.Engine[pgx.Tx] {
	s.b.Helper()
	store, err := postgres.New(s.connect(nil), postgres.Options{Schema: s.schema})
	must(s.b, err)
	s.b.Cleanup(func() { must(s.b, store.Close(context.Background())) })
	c.Logger = slog.New(slog.DiscardHandler)
	e, err := engine.New(store, c, m)
	must(s.b, err)
	must(s.b, e.Migrate(context.Background()))
	return e
}

// dealID returns the id of the n-th deal.
func dealID(n int64) fsm.UUID {
	u := fsm.UUID{6: 0x40, 8: 0x80}
	for i := range 8 {
		u[15-i] |= byte(n >> (8 * i))
	}
	return u
}

// fund writes deals that are funded: dealID(0) to dealID(count-1). Each has an
// advertiser, 7, and an owner, 8.
func (s *server) fund(count int) {
	s.b.Helper()
	pool := s.connectUntriggered()
	_, err := pool.Exec(context.Background(), `INSERT INTO deals
			(deal_id, status, version, last_event, entered_at, advertiser_id, owner_id, price_nano, deposit_address, deposit_tx, deposit_nano, escrow)
		SELECT ('00000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'FUNDED', 1, 'DEPOSIT_CONFIRMED', now(), 7, 8, 100, 'address-' || n, 'tx-' || n, 100, 'held'
		FROM generate_series(0, $1::bigint - 1) AS n`, count)
	must(s.b, err)
	s.exec("ANALYZE deals")
}

// rate is how many things a second n in d are.
func rate(n int, d time.Duration) float64 { return float64(n) / d.Seconds() }

func must(b testing.TB, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(fmt.Errorf("benchmark: %w", err))
	}
}
