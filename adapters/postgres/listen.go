package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// listener waits for notifications on its own connection, which does not count for the pool's
// limit. Of the waiting goroutines one reads the connection. A notification wakes all of them.
type listener struct {
	pool    *pgxpool.Pool
	channel string

	turn chan struct{} // holds a value while a goroutine reads the connection
	// Only the goroutine that has the turn uses these: the connection, or the one being made.
	conn   *pgx.Conn
	coming *coming

	mu    sync.Mutex
	heard chan struct{} // closed by the next notification
}

func newListener(pool *pgxpool.Pool, channel string) *listener {
	return &listener{pool: pool, channel: channel, turn: make(chan struct{}, 1), heard: make(chan struct{})}
}

// Wait implements store.Store. It returns when a process that shares the database has committed work,
// and after d at the latest. If the server can't be reached, it blocks for d and returns nil.
func (s *Store) Wait(ctx context.Context, d time.Duration) error {
	waiting, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	heard := s.listener.next()
	select {
	case s.listener.turn <- struct{}{}:
		s.listener.read(waiting)
		<-s.listener.turn
	case <-heard:
	case <-waiting.Done():
	}
	return ctx.Err()
}

func (l *listener) next() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heard
}

func (l *listener) wakeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.heard)
	l.heard = make(chan struct{})
}

// read waits for one notification until the context ends. It returns early,
// after waking all, when it has just begun to listen or has lost the
// connection: something may have been missed. Its caller has the turn.
func (l *listener) read(ctx context.Context) {
	if l.conn == nil {
		if l.connect(ctx) {
			l.wakeAll()
		}
		return
	}
	_, err := l.conn.WaitForNotification(ctx)
	if err != nil && ctx.Err() != nil && !l.conn.IsClosed() {
		return // nothing was heard in time
	}
	if err != nil {
		l.disconnect()
	}
	l.wakeAll()
}

// connectTimeout bounds making a connection. It is not the time of one Wait: a busy
// server would begin a connection for each of them, and finish none.
const connectTimeout = 30 * time.Second

// coming is a connection that is being made, over as many Waits as it takes.
type coming struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when conn, or err, is there
	conn   *pgx.Conn
	err    error
}

// connect reports whether it has begun to listen. If not, the context has ended.
func (l *listener) connect(ctx context.Context) bool {
	if l.coming == nil {
		l.coming = l.dial(ctx)
	}
	select {
	case <-l.coming.done:
	case <-ctx.Done():
		return false
	}
	c := l.coming
	l.coming = nil
	if c.err != nil { // the next Wait tries again
		<-ctx.Done()
		return false
	}
	l.conn = c.conn
	return true
}

// dial begins to make a connection that listens.
func (l *listener) dial(ctx context.Context) *coming {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectTimeout)
	c := &coming{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer cancel()
		defer close(c.done)
		if c.conn, c.err = l.open(ctx); c.err != nil {
			return
		}
		if _, c.err = c.conn.Exec(ctx, "LISTEN "+quoted(l.channel)); c.err != nil {
			_ = c.conn.Close(ctx) // it is of no use
		}
	}()
	return c
}

// open makes a connection as the pool makes its own: BeforeConnect may have to set the
// password of the day.
func (l *listener) open(ctx context.Context) (*pgx.Conn, error) {
	config := l.pool.Config()
	if config.BeforeConnect != nil {
		if err := config.BeforeConnect(ctx, config.ConnConfig); err != nil {
			return nil, err
		}
	}
	return pgx.ConnectConfig(ctx, config.ConnConfig)
}

// disconnect gives a broken connection up.
func (l *listener) disconnect() {
	ctx, cancel := context.WithTimeout(context.Background(), rollbackTimeout)
	defer cancel()
	_ = l.conn.Close(ctx) // it is broken
	l.conn = nil
}

// close waits for the goroutine that reads, and ends the connection.
func (l *listener) close(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-l.turn }()
	if c := l.coming; c != nil {
		c.cancel()
		<-c.done
		if l.coming = nil; c.err == nil {
			l.conn = c.conn
		}
	}
	if l.conn == nil {
		return nil
	}
	conn := l.conn
	l.conn = nil
	return conn.Close(ctx)
}
