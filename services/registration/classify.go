package registration

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fsmgen/fsmgen/adapters/sqlite"
)

// classified tells what an error of a database is one of errors.go.
func classified(ctx context.Context, err error) error {
	for _, known := range []error{ErrSuperseded, ErrNotRegistered, ErrInvalid} {
		if errors.Is(err, known) {
			return err
		}
	}
	var server *pgconn.PgError
	var network net.Error
	var lite interface{ Code() int }
	switch {
	case errors.As(err, &server):
		return fmt.Errorf("%w: %w", kindOfState(server.Code), err)
	case errors.As(err, &lite) && lite.Code()&0xff == sqliteConstraint:
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	case errors.Is(err, sqlite.ErrReadOnly):
		return fmt.Errorf("%w: %w", ErrNotPermitted, err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%w: %w", ErrRefused, err)
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()):
		return fmt.Errorf("%w: %w: %w", ErrUnreachable, ctx.Err(), err)
	case ctx.Err() != nil, errors.As(err, &network), pgconn.Timeout(err):
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return fmt.Errorf("%w: %w", ErrServer, err)
}

// sqliteConstraint is SQLITE_CONSTRAINT.
const sqliteConstraint = 19

// kindOfState tells what a SQLSTATE means to whoever asked.
func kindOfState(code string) error {
	switch {
	case strings.HasPrefix(code, "22"), strings.HasPrefix(code, "23"): // data exception, integrity constraint
		return ErrInvalid
	case code == "42501", strings.HasPrefix(code, "28"): // insufficient privilege, invalid authorization
		return ErrNotPermitted
	}
	return ErrServer
}
