package sqltx

import (
	"context"
	"database/sql"
	"errors"
)

// SQLite runs statements in a transaction of SQLite.
func SQLite(tx *sql.Tx) Tx { return sqliteTx{tx} }

type sqliteTx struct{ tx *sql.Tx }

func (s sqliteTx) Exec(ctx context.Context, statement string, args ...any) error {
	_, err := s.tx.ExecContext(ctx, statement, args...)
	return err
}

func (s sqliteTx) Each(ctx context.Context, question string, args []any, row func(scan func(...any) error) error) error {
	rows, err := s.tx.QueryContext(ctx, question, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (sqliteTx) Refused(err error) bool {
	const constraint = 19 // the primary result code, which extended codes have in their lowest byte
	var coded interface{ Code() int }
	return errors.As(err, &coded) && coded.Code()&0xff == constraint
}
