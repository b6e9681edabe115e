package ledger

import (
	"context"
	_ "embed"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed migrations/postgres.sql
var postgresSchema string

// Postgres returns the ledger of a PostgreSQL database.
func Postgres() *Ledger[pgx.Tx] {
	return &Ledger[pgx.Tx]{schema: postgresSchema, in: func(tx pgx.Tx) querier { return postgresTx{tx} }}
}

type postgresTx struct{ tx pgx.Tx }

func (p postgresTx) exec(ctx context.Context, statement string, args ...any) error {
	if len(args) == 0 { // several statements
		args = []any{pgx.QueryExecModeSimpleProtocol}
	}
	_, err := p.tx.Exec(ctx, statement, args...)
	return err
}

func (p postgresTx) each(ctx context.Context, question string, args []any, row func(scan func(...any) error) error) error {
	rows, err := p.tx.Query(ctx, question, args...)
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

func (postgresTx) refused(err error) bool {
	const checkViolation = "23514"
	var server *pgconn.PgError
	return errors.As(err, &server) && server.Code == checkViolation
}
