package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	codes "modernc.org/sqlite/lib"
)

// querier is an *sql.Tx or an *sql.DB.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// InTx implements store.Store. The transaction takes the write lock when it begins, so nothing that
// f reads changes before the commit. f must not begin another transaction: that would wait for
// the lock.
func (s *Store) InTx(ctx context.Context, f func(*sql.Tx) error) error {
	if err := s.current(ctx, s.readers); err != nil {
		return err
	}
	return s.inTx(ctx, f)
}

func (s *Store) inTx(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := s.begin(ctx)
	if err != nil {
		return wrap("begin", cause(ctx, err))
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	if err := f(tx); err != nil {
		if broke(err) {
			return wrap("transaction", err)
		}
		return err
	}
	if err := s.here(); err != nil {
		return wrap("commit", err)
	}
	if err := tx.Commit(); err != nil {
		return wrap("commit", cause(ctx, err))
	}
	if s.work.Swap(false) {
		s.tell()
	}
	return nil
}

// pause is the time between attempts to get the write lock from another process. SQLite's own
// busy handler waits longer after each attempt, so it never gets the lock from a process that
// writes continuously, and it ignores contexts.
const pause = time.Millisecond

// begin begins a transaction with the write lock. Transactions of this process wait for the one
// connection that writes.
func (s *Store) begin(ctx context.Context) (tx *sql.Tx, err error) {
	err = s.insist(ctx, func() error {
		tx, err = s.writer.BeginTx(ctx, nil)
		return err
	})
	return tx, err
}

// insist calls f again while it returns SQLITE_BUSY, until Options.BusyTimeout has passed or ctx
// ends.
func (s *Store) insist(ctx context.Context, f func() error) error {
	var end time.Time
	for {
		err := f()
		if code(err)&0xff != codes.SQLITE_BUSY {
			return err
		}
		if end.IsZero() {
			end = time.Now().Add(s.patience)
		}
		if !time.Now().Before(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// cause adds the error of the context to err if the context has ended: SQLite reports that as an
// interrupt.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		return errors.Join(ctx.Err(), err)
	}
	return err
}

// tell wakes the workers in Wait.
func (s *Store) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.news = true
	close(s.alarm)
	s.alarm = make(chan struct{})
}

// Wait implements store.Store. It returns when InTx of this Store has committed possible work since
// the last Wait, and after d at the latest. It does not notice commits of other processes, nor
// those of a transaction that the caller began itself; workers find that work by polling. It
// returns the error of ctx if that ends.
func (s *Store) Wait(ctx context.Context, d time.Duration) error {
	s.mu.Lock()
	alarm, news := s.alarm, s.news
	s.news = false
	s.mu.Unlock()
	if news {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-alarm:
		s.mu.Lock()
		s.news = false
		s.mu.Unlock()
	case <-timer.C:
	}
	return nil
}
