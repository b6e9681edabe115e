package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/runtime/engine"
)

// listener waits for notifications on a connection of its own, outside of the
// pool's limit. Of the goroutines that wait one reads the connection, and what
// it hears wakes them all.
type listener struct {
	pool    *pgxpool.Pool
	channel string

	turn chan struct{} // holds a value while someone reads the connection
	conn *pgx.Conn     // of who has the turn; nil: not connected

	mu    sync.Mutex
	heard chan struct{} // closed by the next notification
}

func newListener(pool *pgxpool.Pool, channel string) *listener {
	return &listener{pool: pool, channel: channel, turn: make(chan struct{}, 1), heard: make(chan struct{})}
}

// Wait returns when a process that shares the database left work, at the latest
// after d. While the server can't be reached it just lets d pass.
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
		if l.connect(ctx) != nil {
			<-ctx.Done()
			return
		}
		l.wakeAll()
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

// connect begins to listen.
func (l *listener) connect(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, l.pool.Config().ConnConfig)
	if err != nil {
		return engine.StoreError("listen", err)
	}
	if _, err := conn.Exec(ctx, "LISTEN "+quoted(l.channel)); err != nil {
		_ = conn.Close(context.WithoutCancel(ctx)) // it is of no use
		return engine.StoreError("listen", err)
	}
	l.conn = conn
	return nil
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
	if l.conn == nil {
		return nil
	}
	conn := l.conn
	l.conn = nil
	return conn.Close(ctx)
}
