package database

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// querier runs statements of either database. Parameters
// are written $1, which both take; times are bound and read in UTC.
type querier interface {
	exec(ctx context.Context, statement string, args ...any) (changed int64, err error)
	query(ctx context.Context, each func(scan scan) error, statement string, args ...any) error
}

// scan reads the columns of the present row.
type scan func(into ...any) error

// pgQuerier speaks to PostgreSQL, in a transaction or without.
type pgQuerier struct {
	tx interface {
		Exec(ctx context.Context, statement string, args ...any) (pgconn.CommandTag, error)
		Query(ctx context.Context, statement string, args ...any) (pgx.Rows, error)
	}
}

func (q pgQuerier) exec(ctx context.Context, statement string, args ...any) (int64, error) {
	tag, err := q.tx.Exec(ctx, statement, args...)
	return tag.RowsAffected(), err
}

func (q pgQuerier) query(ctx context.Context, each func(scan) error, statement string, args ...any) error {
	rows, err := q.tx.Query(ctx, statement, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// liteQuerier speaks to SQLite, where a time is text.
type liteQuerier struct{ tx *sql.Tx }

func (q liteQuerier) exec(ctx context.Context, statement string, args ...any) (int64, error) {
	result, err := q.tx.ExecContext(ctx, statement, bound(args)...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (q liteQuerier) query(ctx context.Context, each func(scan) error, statement string, args ...any) error {
	rows, err := q.tx.QueryContext(ctx, statement, bound(args)...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // what Err returns is what counts
	for rows.Next() {
		err := each(func(into ...any) error {
			for i, dest := range into {
				if t, ok := dest.(*time.Time); ok {
					into[i] = fsm.Into(t)
				}
			}
			return rows.Scan(into...)
		})
		if err != nil {
			return err
		}
	}
	return rows.Err()
}

func bound(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		if t, ok := a.(time.Time); ok {
			a = fsm.Instant(t).Format(fsm.TimeLayout)
		}
		out[i] = a
	}
	return out
}

// one reads one row; found is false where there is none.
func one(ctx context.Context, q querier, statement string, args []any, into ...any) (found bool, err error) {
	err = q.query(ctx, func(scan scan) error {
		found = true
		return scan(into...)
	}, statement, args...)
	if err != nil {
		return false, fmt.Errorf("look up: %w", err)
	}
	return found, nil
}
