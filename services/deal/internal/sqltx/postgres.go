package sqltx

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Postgres runs statements in a transaction of PostgreSQL.
func Postgres(tx pgx.Tx) Tx { return postgresTx{tx} }

type postgresTx struct{ tx pgx.Tx }

func (p postgresTx) Exec(ctx context.Context, statement string, args ...any) error {
	_, err := p.tx.Exec(ctx, statement, args...)
	return err
}

func (p postgresTx) Each(ctx context.Context, question string, args []any, row func(scan func(...any) error) error) error {
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

func (postgresTx) Refused(err error) bool {
	const integrityViolation = "23" // the class of the codes of broken constraints
	var server *pgconn.PgError
	return errors.As(err, &server) && strings.HasPrefix(server.Code, integrityViolation)
}
