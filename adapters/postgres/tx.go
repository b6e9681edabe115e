package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// rollbackTimeout is the longest time of a rollback, which also runs after the context of the
// transaction has ended.
const rollbackTimeout = 5 * time.Second

// InTx implements store.Store. The transaction is READ COMMITTED. It returns an
// *UnknownOutcomeError if the connection breaks during the commit.
func (s *Store) InTx(ctx context.Context, f func(pgx.Tx) error) error {
	if err := s.current(ctx, s.pool); err != nil {
		return err
	}
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return wrap("begin", err)
	}
	defer conn.Release() // destroys a connection that is still in a transaction
	t := &transaction{conn: conn.Conn()}
	defer t.abandon(ctx)
	if err := f(t); err != nil {
		if raced(err) && !errors.Is(err, store.ErrConflict) {
			return fmt.Errorf("%w: %w", store.ErrConflict, err)
		}
		if ailing(err) && !errors.Is(err, store.ErrStore) {
			return fmt.Errorf("%w: %w", store.ErrStore, err)
		}
		if t.conn.IsClosed() && !errors.Is(err, store.ErrStore) {
			return fmt.Errorf("%w: the connection was lost: %w", store.ErrStore, err)
		}
		return err
	}
	if err := t.finish(ctx); err != nil {
		return err
	}
	if t.work {
		s.notifier.notify()
	}
	return nil
}

// transaction is a pgx.Tx that begins with its first query, in the same round
// trip where that is a batch. What Load reads before that is not part of it:
// Save compares the version anyway, and in READ COMMITTED each statement has a
// snapshot of its own. It is not safe for concurrent use, as no transaction of
// pgx is.
type transaction struct {
	conn *pgx.Conn
	tx   pgx.Tx // nil: nothing was sent yet
	done bool   // committed, or rolled back
	work bool   // what it wrote leaves something to do
}

var readCommitted = pgx.TxOptions{IsoLevel: pgx.ReadCommitted}

func (t *transaction) begin(ctx context.Context) (pgx.Tx, error) {
	if t.done {
		return nil, pgx.ErrTxClosed
	}
	if t.tx != nil {
		return t.tx, nil
	}
	var err error
	t.tx, err = t.conn.BeginTx(ctx, readCommitted)
	return t.tx, err
}

// finish commits what the last Save has not committed.
func (t *transaction) finish(ctx context.Context) error {
	if t.done {
		return nil
	}
	if err := usable(ctx, t.conn); err != nil {
		return wrap("commit", err)
	}
	if err := t.Commit(ctx); err != nil {
		return ended(t.conn, err)
	}
	return nil
}

// abandon rolls back what was not committed.
func (t *transaction) abandon(ctx context.Context) {
	if t.done || t.tx == nil {
		t.done = true
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	_ = t.Rollback(ctx) // a connection for which it fails is not used again
}

// Begin starts a nested transaction: a savepoint.
func (t *transaction) Begin(ctx context.Context) (pgx.Tx, error) {
	tx, err := t.begin(ctx)
	if err != nil {
		return nil, err
	}
	return tx.Begin(ctx)
}

// Commit commits. InTx does so when its function returns.
func (t *transaction) Commit(ctx context.Context) error {
	if t.done {
		return pgx.ErrTxClosed
	}
	t.done = true
	if t.tx == nil {
		return nil
	}
	return t.tx.Commit(ctx)
}

// Rollback rolls back.
func (t *transaction) Rollback(ctx context.Context) error {
	if t.done {
		return pgx.ErrTxClosed
	}
	t.done = true
	if t.tx == nil {
		return nil
	}
	return t.tx.Rollback(ctx)
}

// SendBatch sends b, and the beginning of the transaction with it.
func (t *transaction) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	if t.tx != nil || t.done || b.Len() == 0 {
		tx, err := t.begin(ctx)
		if err != nil {
			return pgx.FailedBatchResults(b, err)
		}
		return tx.SendBatch(ctx, b)
	}
	begun := &pgx.Batch{}
	begun.BeginTx(readCommitted)
	begun.QueuedQueries = append(begun.QueuedQueries, b.QueuedQueries...)
	results := t.conn.SendBatch(ctx, begun)
	t.tx = results.Tx()
	if _, err := results.Exec(); err != nil {
		_ = results.Close() // says the same
		return pgx.FailedBatchResults(b, err)
	}
	return results
}

// reading sends the queries of a Load, which begin no transaction.
func reading(ctx context.Context, tx pgx.Tx, b *pgx.Batch) pgx.BatchResults {
	if t, ok := tx.(*transaction); ok && t.tx == nil && !t.done {
		return t.conn.SendBatch(ctx, b)
	}
	return tx.SendBatch(ctx, b)
}

// readingOne is reading for one query.
func readingOne(ctx context.Context, tx pgx.Tx, sql string, args ...any) (pgx.Rows, error) {
	if t, ok := tx.(*transaction); ok && t.tx == nil && !t.done {
		return t.conn.Query(ctx, sql, args...)
	}
	return tx.Query(ctx, sql, args...)
}

// Exec runs a statement, or several without arguments.
func (t *transaction) Exec(ctx context.Context, sql string, args ...any) (tag pgconn.CommandTag, err error) {
	if t.tx != nil || t.done || len(args) == 0 {
		tx, err := t.begin(ctx)
		if err != nil {
			return tag, err
		}
		return tx.Exec(ctx, sql, args...)
	}
	b := &pgx.Batch{}
	b.Queue(sql, args...)
	results := t.SendBatch(ctx, b)
	tag, err = results.Exec()
	if closing := results.Close(); err == nil {
		err = closing
	}
	return tag, err
}

// Query runs a query.
func (t *transaction) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	tx, err := t.begin(ctx)
	if err != nil {
		return nil, err
	}
	return tx.Query(ctx, sql, args...)
}

// QueryRow runs a query for one row.
func (t *transaction) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	tx, err := t.begin(ctx)
	if err != nil {
		return failedRow{err}
	}
	return tx.QueryRow(ctx, sql, args...)
}

// CopyFrom copies rows into a table.
func (t *transaction) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	tx, err := t.begin(ctx)
	if err != nil {
		return 0, err
	}
	return tx.CopyFrom(ctx, table, columns, rows)
}

// Prepare prepares a statement.
func (t *transaction) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	tx, err := t.begin(ctx)
	if err != nil {
		return nil, err
	}
	return tx.Prepare(ctx, name, sql)
}

// LargeObjects gives access to large objects. It takes no context, so a
// transaction that has not begun yet begins without one.
func (t *transaction) LargeObjects() pgx.LargeObjects {
	tx, err := t.begin(context.Background())
	if err != nil {
		return closedTx(err).LargeObjects()
	}
	return tx.LargeObjects()
}

// closedTx returns a transaction that could not begin.
func closedTx(err error) pgx.Tx {
	b := &pgx.Batch{}
	b.BeginTx(readCommitted)
	return pgx.FailedBatchResults(b, err).Tx()
}

// Conn returns the connection.
func (t *transaction) Conn() *pgx.Conn { return t.conn }

// failedRow is the row of a transaction that could not begin.
type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return r.err }
