package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	codes "modernc.org/sqlite/lib"
)

// querier is a transaction or a pool.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// InTx runs f in one transaction. It holds the write lock from its beginning, so nothing that f
// reads changes before the commit. A transaction begun inside f would wait for that lock until
// BusyTimeout.
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
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
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

// pause is how often the write lock of another process is tried. SQLite's own
// waiting asks the less often the longer it has waited, and so loses for ever to
// a process that writes without a break; it does not heed contexts either.
const pause = time.Millisecond

// begin takes the write lock. Within the process the transactions that want it queue up at
// the one connection that writes.
func (s *Store) begin(ctx context.Context) (tx *sql.Tx, err error) {
	err = s.insist(ctx, func() error {
		tx, err = s.writer.BeginTx(ctx, nil)
		return err
	})
	return tx, err
}

// insist calls f until no other process keeps the file locked, for as long as the
// store is patient.
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

// cause returns why a context ended where err is only how SQLite noticed it.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		return errors.Join(ctx.Err(), err)
	}
	return err
}

// tell wakes the workers that wait.
func (s *Store) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.news = true
	close(s.alarm)
	s.alarm = make(chan struct{})
}

// Wait returns when this process has committed possible work since the last Wait, and after d at
// the latest. Work of other processes is found by polling. So is work that a caller saves in its
// own transaction, unless a commit of InTx follows.
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
