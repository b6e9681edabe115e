package crashtest_test

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// direction is where something is going between a client and its server.
type direction string

const (
	nowhere  direction = ""
	toServer direction = "request"
	toClient direction = "answer"
)

// proxy stands between a pool and the server and can break connections.
type proxy struct {
	listener net.Listener

	mu    sync.Mutex
	cut   direction // what goes there next is lost, and its connection with it
	down  bool      // nobody gets through
	conns []net.Conn
}

// newProxy begins to forward to a server.
func newProxy(t *testing.T, dsn string) *proxy {
	t.Helper()
	config, err := pgconn.ParseConfig(dsn)
	must(t, err)
	network, server := pgconn.NetworkAddress(config.Host, config.Port)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &proxy{listener: l}
	t.Cleanup(func() {
		must(t, l.Close())
		p.set(true)
	})
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			upstream, err := net.Dial(network, server)
			if err != nil || !p.admit(client, upstream) {
				_ = client.Close() // the client sees it
				continue
			}
			go p.forward(upstream, client, toServer)
			go p.forward(client, upstream, toClient)
		}
	}()
	return p
}

// through makes the connections of a pool go through p. There is one: what is
// cut is what holds it.
func (p *proxy) through(config *pgxpool.Config) {
	config.MaxConns = 1
	config.ConnConfig.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", p.listener.Addr().String())
	}
}

// admit keeps both ends of a connection, unless p is down.
func (p *proxy) admit(ends ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, ends...)
	return !p.down
}

// set ends all connections, and lets new ones through or not.
func (p *proxy) set(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
	for _, c := range p.conns {
		_ = c.Close() // its end may be closed already
	}
	p.conns = nil
}

// forward copies until the connection ends or is to be cut in this direction.
func (p *proxy) forward(to, from net.Conn, d direction) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if err != nil || p.cuts(d) {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (p *proxy) cuts(d direction) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut != d {
		return false
	}
	p.cut = nowhere
	return true
}

// cutNext breaks the connection at what goes in a direction next.
func (p *proxy) cutNext(d direction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = d
}
