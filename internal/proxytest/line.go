package proxytest

import (
	"io"
	"net"
	"sync"
	"time"
)

// line is a connection of a client with the one to the server that belongs to
// it.
type line struct {
	p              *Proxy
	client, server net.Conn

	mu       sync.Mutex
	orphaned bool // the server's end is closed and the client must not see it
}

// forward copies until the connection ends, or something befalls it.
func (n *line) forward(to, from net.Conn, d Direction) {
	defer n.end(d)
	buffer := make([]byte, 1<<16)
	for {
		size, err := from.Read(buffer)
		if err != nil {
			return
		}
		f, delay, swallow := n.p.take(d)
		if !wait(n.p.ended, delay) {
			return
		}
		if swallow || n.isOrphaned() {
			continue
		}
		if !n.suffer(f, buffer[:size], to) {
			return
		}
		if _, err := to.Write(buffer[:size]); err != nil && !n.isOrphaned() {
			return
		}
	}
}

// take returns what is to befall what is going there now.
func (p *Proxy) take(d Direction) (f *fault, delay time.Duration, swallow bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d == Request && p.speaking != d {
		p.turns++
	}
	p.speaking = d
	if p.swallow {
		return nil, p.delay, true
	}
	if queue := p.next[d]; len(queue) > 0 {
		f, p.next[d] = queue[0], queue[1:]
	}
	return f, p.delay, false
}

// suffer reports whether the bytes go on their way after the fault.
func (n *line) suffer(f *fault, bytes []byte, to net.Conn) bool {
	switch {
	case f == nil:
	case f.cut:
		return false
	case f.repeat && to == n.server:
		n.ask(bytes)
	case f.repeat:
		_, err := to.Write(bytes)
		return err == nil
	case f.released != nil:
		close(f.arrived)
		select {
		case <-f.released:
		case <-n.p.ended:
			return false
		}
	}
	return true
}

// ask sends a request to the server on another connection and waits for the
// answer, which the client does not get.
func (n *line) ask(request []byte) {
	other, err := net.Dial(n.p.network, n.p.server)
	if err != nil {
		return
	}
	defer other.Close()
	answered := make(chan struct{})
	defer close(answered)
	go func() {
		select {
		case <-answered:
		case <-n.p.ended:
			_ = other.Close() // the server may never answer
		}
	}()
	if _, err := other.Write(request); err == nil {
		_, _ = io.ReadFull(other, make([]byte, 1)) // whatever it is
	}
}

// wait lets time pass; it reports false when ended is closed before.
func wait(ended <-chan struct{}, d time.Duration) bool {
	if d == 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ended:
		return false
	}
}

// end closes both ends, unless it is the server's that has ended and the client
// must not see it.
func (n *line) end(d Direction) {
	if d == Request || !n.isOrphaned() {
		n.close()
	}
}

func (n *line) close() {
	n.forget()
	_ = n.client.Close() // one of the ends is closed already, mostly
	_ = n.server.Close()
}

// reset closes both ends at once, so that unread bytes are lost.
func (n *line) reset() {
	for _, c := range []net.Conn{n.client, n.server} {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a closed end has none
		}
	}
	n.close()
}

func (n *line) forget() {
	n.p.mu.Lock()
	defer n.p.mu.Unlock()
	delete(n.p.lines, n)
}

func (n *line) orphan() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.orphaned = true
}

func (n *line) isOrphaned() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.orphaned
}
