package daemon

import (
	"net"
	"sync"
)

// limited is a listener with so many connections at once: one more is accepted when
// another has ended.
type limited struct {
	net.Listener
	free   chan struct{} // has room for each connection that is there
	closed chan struct{}
	once   sync.Once
}

func limit(l net.Listener, connections int) net.Listener {
	return &limited{Listener: l, free: make(chan struct{}, connections), closed: make(chan struct{})}
}

// Accept waits for a connection, and for its turn.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.free <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &counted{Conn: c, leave: sync.OnceFunc(func() { <-l.free })}, nil
}

// Close ends waiting calls of Accept.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// counted is a connection that makes room for another when it is closed.
type counted struct {
	net.Conn
	leave func()
}

func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
