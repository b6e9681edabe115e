package proxytest

import (
	"net"
	"sync"
	"time"
)

// fault befalls one request or answer.
type fault struct {
	cut      bool          // the connection ends instead
	repeat   bool          // it goes there twice
	arrived  chan struct{} // closed when a held one is there
	released chan struct{} // closed when a held one may go on; nil: it is not held
}

// PassNext lets the next request or answer pass. Like the other faults it
// stands in line: what is said after it befalls the one after that.
func (p *Proxy) PassNext(d Direction) { p.befall(d, &fault{}) }

// CutNext ends the connection of the next request or answer, which is lost: the
// server has not seen the request, or has done what the client has no answer to.
func (p *Proxy) CutNext(d Direction) { p.befall(d, &fault{cut: true}) }

// RepeatNext makes the next request or answer arrive twice. The repetition of a
// request is on a connection of its own, and has been answered before the
// request itself goes on.
func (p *Proxy) RepeatNext(d Direction) { p.befall(d, &fault{repeat: true}) }

// HoldNext keeps the next request or answer back until it is released: then it
// goes on, even if the client has given up. arrived is closed when the proxy
// has it.
func (p *Proxy) HoldNext(d Direction) (arrived <-chan struct{}, release func()) {
	f := &fault{arrived: make(chan struct{}), released: make(chan struct{})}
	p.befall(d, f)
	return f.arrived, sync.OnceFunc(func() { close(f.released) })
}

func (p *Proxy) befall(d Direction, f *fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next[d] = append(p.next[d], f)
}

// Delay makes everything take that much longer, in each direction.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Swallow is a black hole while it is on: connections are accepted, and nothing
// arrives anywhere.
func (p *Proxy) Swallow(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.swallow = on
}

// HalfOpen ends the connections to the server, as if it had restarted, and lets
// no client know: what they send is lost. New connections are as before.
func (p *Proxy) HalfOpen() {
	p.each(func(n *line) {
		n.orphan()
		_ = n.server.Close() // its end may be closed already
	})
}

// BreakAll ends every connection.
func (p *Proxy) BreakAll() { p.each((*line).close) }

// Reset ends every connection as a crashed machine does, without a farewell.
func (p *Proxy) Reset() { p.each((*line).reset) }

// Refuse ends every connection and accepts none.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	l := p.listener
	p.listener = nil
	p.mu.Unlock()
	if l != nil {
		_ = l.Close() // no client can connect, whatever it says
	}
	p.BreakAll()
}

// Restore lets clients connect again, at the same address.
func (p *Proxy) Restore() {
	p.t.Helper()
	l, err := net.Listen("tcp", p.address)
	if err != nil {
		p.t.Fatal(err)
	}
	p.serve(l)
}

func (p *Proxy) each(do func(*line)) {
	p.mu.Lock()
	lines := make([]*line, 0, len(p.lines))
	for n := range p.lines {
		lines = append(lines, n)
	}
	p.mu.Unlock()
	for _, n := range lines {
		do(n)
	}
}
