package proxytest

import (
	"context"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"
)

// Direction is where something is going between a client and its server.
type Direction string

// The directions.
const (
	Request Direction = "request" // to the server
	Answer  Direction = "answer"  // to the client
)

// Proxy forwards connections to a server. It ends with its test.
type Proxy struct {
	t               testing.TB
	network, server string
	address         string // of every listener

	mu       sync.Mutex
	listener net.Listener // nil: connections are refused
	lines    map[*line]bool
	next     map[Direction][]*fault // what befalls the next requests and answers
	delay    time.Duration
	swallow  bool
	speaking Direction // who spoke last
	turns    int       // how often a request followed an answer
	ended    chan struct{}
}

// New begins to forward to the server at an address.
func New(t testing.TB, network, server string) *Proxy {
	t.Helper()
	p := &Proxy{t: t, network: network, server: server, lines: map[*line]bool{}, next: map[Direction][]*fault{}, ended: make(chan struct{})}
	p.listenSomewhere()
	t.Cleanup(func() {
		close(p.ended)
		p.Refuse()
	})
	return p
}

// listenSomewhere chooses the address: a host of its own in 127.0.0.0/8, where the
// system has all of that. Nobody else gets its port then while it refuses connections;
// on 127.0.0.1 that may be the next proxy, which would forward them.
func (p *Proxy) listenSomewhere() {
	p.t.Helper()
	own := netip.AddrFrom4([4]byte{127, byte(1 + rand.IntN(255)), byte(rand.IntN(256)), byte(1 + rand.IntN(254))})
	l, err := net.Listen("tcp", netip.AddrPortFrom(own, 0).String())
	if err != nil {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.address = l.Addr().String()
	p.serve(l)
}

func (p *Proxy) serve(l net.Listener) {
	p.mu.Lock()
	p.listener = l
	p.mu.Unlock()
	go p.accept(l)
}

func (p *Proxy) accept(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(p.network, p.server)
		if err != nil {
			_ = client.Close() // the client sees it
			continue
		}
		n := &line{p: p, client: client, server: server}
		if !p.admit(l, n) {
			n.close()
			continue
		}
		go n.forward(server, client, Request)
		go n.forward(client, server, Answer)
	}
}

// admit keeps a line, unless its listener was closed meanwhile.
func (p *Proxy) admit(l net.Listener, n *line) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != l {
		return false
	}
	p.lines[n] = true
	return true
}

// Address is where clients connect.
func (p *Proxy) Address() string { return p.address }

// Dial connects to the proxy, whatever address it is given.
func (p *Proxy) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", p.address)
}

// Connections counts those that are open.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.lines)
}

// RoundTrips counts those of f: requests that follow an answer.
func (p *Proxy) RoundTrips(f func()) int {
	before := p.roundTrips()
	f()
	return p.roundTrips() - before
}

func (p *Proxy) roundTrips() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.turns
}
