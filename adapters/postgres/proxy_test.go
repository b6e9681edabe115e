package postgres

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/internal/proxytest"
)

// newProxy begins to forward to the server of d.
func newProxy(t *testing.T, d *database) *proxytest.Proxy {
	t.Helper()
	config := d.pool.Config().ConnConfig
	network, server := pgconn.NetworkAddress(config.Host, config.Port)
	return proxytest.New(t, network, server)
}

// storeThrough opens a store whose connections go through p.
func storeThrough(t *testing.T, p *proxytest.Proxy, d *database) *Store {
	t.Helper()
	config, err := PoolConfig(d.dsn, Options{Schema: d.schema})
	must(t, err)
	config.MaxConns = 1 // nothing else uses a connection that a transaction has
	config.ConnConfig.DialFunc = p.Dial
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	must(t, err)
	t.Cleanup(pool.Close)
	s, err := New(pool, Options{Schema: d.schema})
	must(t, err)
	t.Cleanup(func() { _ = s.Close(context.Background()) }) // a broken connection may not close well
	return s
}
