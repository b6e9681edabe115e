package postgres

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// proxy stands between a pool and the server and can break connections.
type proxy struct {
	address  string
	listener net.Listener
	mu       sync.Mutex
	cut      string // "request": drop the next one; "answer": drop the next one; "": neither
	conns    []net.Conn
	speaking string // who spoke last
	turns    int    // how often a request followed an answer
}

// newProxy begins to forward to the server of d.
func newProxy(t *testing.T, d *database) *proxy {
	t.Helper()
	config := d.pool.Config().ConnConfig
	network, server := pgconn.NetworkAddress(config.Host, config.Port)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &proxy{address: l.Addr().String(), listener: l}
	t.Cleanup(func() { _ = l.Close(); p.breakAll() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			upstream, err := net.Dial(network, server)
			if err != nil {
				_ = client.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, client, upstream)
			p.mu.Unlock()
			go p.forward(upstream, client, "request")
			go p.forward(client, upstream, "answer")
		}
	}()
	return p
}

// forward copies until the connection ends or is to be cut in this direction.
func (p *proxy) forward(to, from net.Conn, direction string) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if p.cuts(direction) {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (p *proxy) cuts(direction string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if direction == "request" && p.speaking != direction {
		p.turns++
	}
	p.speaking = direction
	if p.cut != direction {
		return false
	}
	p.cut = ""
	return true
}

// cutNext breaks a connection at the next request or answer on any.
func (p *proxy) cutNext(direction string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = direction
}

// roundTrips counts those of f.
func (p *proxy) roundTrips(f func()) int {
	count := func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.turns
	}
	before := count()
	f()
	return count() - before
}

// breakAll ends every connection.
func (p *proxy) breakAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

// store opens a store whose connections go through p.
func (p *proxy) store(t *testing.T, d *database) *Store {
	t.Helper()
	config, err := PoolConfig(d.dsn, Options{Schema: d.schema})
	must(t, err)
	config.MaxConns = 1 // nothing else uses a connection that a transaction has
	config.ConnConfig.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", p.address)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	must(t, err)
	t.Cleanup(pool.Close)
	s, err := New(pool, Options{Schema: d.schema})
	must(t, err)
	t.Cleanup(func() { _ = s.Close(context.Background()) }) // a broken connection may not close well
	return s
}
