package ledger

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
)

//go:embed migrations/sqlite.sql
var sqliteSchema string

// SQLite returns the ledger of an SQLite database.
func SQLite() *Ledger[*sql.Tx] {
	return &Ledger[*sql.Tx]{schema: sqliteSchema, in: func(tx *sql.Tx) querier { return sqliteTx{tx} }}
}

type sqliteTx struct{ tx *sql.Tx }

func (s sqliteTx) exec(ctx context.Context, statement string, args ...any) error {
	_, err := s.tx.ExecContext(ctx, statement, args...)
	return err
}

func (s sqliteTx) each(ctx context.Context, question string, args []any, row func(scan func(...any) error) error) error {
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

func (sqliteTx) refused(err error) bool {
	const constraint = 19 // the primary result code, which extended codes have in their lowest byte
	var coded interface{ Code() int }
	return errors.As(err, &coded) && coded.Code()&0xff == constraint
}
