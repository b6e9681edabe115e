package database

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fsmgen/fsmgen/adapters/discovery"
	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/runtime/engine"
)

// What callers of Rows test for, beside the errors of package discovery.
var (
	// ErrNotRegistered: the registration has no row.
	ErrNotRegistered = errors.New("not registered")
	// ErrSuperseded: another registration of the node that has not ended has
	// the row.
	ErrSuperseded = errors.New("superseded by another registration")
)

// classified adds to an error of a database which of the errors of discovery, or of ours, it is.
func classified(ctx context.Context, err error) error {
	for _, known := range []error{ErrSuperseded, ErrNotRegistered, discovery.ErrInvalid} {
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
		return fmt.Errorf("%w: %w", discovery.ErrInvalid, err)
	case errors.Is(err, sqlite.ErrReadOnly):
		return fmt.Errorf("%w: %w", discovery.ErrNotPermitted, err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%w: %w", discovery.ErrRefused, err)
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()):
		return fmt.Errorf("%w: %w: %w", discovery.ErrUnreachable, ctx.Err(), err)
	case ctx.Err() != nil, errors.As(err, &network), pgconn.Timeout(err):
		return fmt.Errorf("%w: %w", discovery.ErrUnreachable, err)
	}
	return fmt.Errorf("%w: %w", discovery.ErrServer, err)
}

// sqliteConstraint is SQLITE_CONSTRAINT.
const sqliteConstraint = 19

// kindOfState tells what a SQLSTATE means to a caller.
func kindOfState(code string) error {
	switch {
	case strings.HasPrefix(code, "22"), strings.HasPrefix(code, "23"): // data exception, integrity constraint
		return discovery.ErrInvalid
	case code == "42501", strings.HasPrefix(code, "28"): // insufficient privilege, invalid authorization
		return discovery.ErrNotPermitted
	}
	return discovery.ErrServer
}

// ErrorType names the kind of a failure, as a label.
func ErrorType(err error) string {
	for _, k := range []struct {
		err  error
		name string
	}{
		{discovery.ErrRefused, "refused"}, {discovery.ErrUnreachable, "unreachable"}, {discovery.ErrNotPermitted, "not_permitted"}, {discovery.ErrInvalid, "invalid"},
		{discovery.ErrServer, "server_error"}, {engine.ErrStore, "store"},
	} {
		if errors.Is(err, k.err) {
			return k.name
		}
	}
	return "other"
}

// Message is what a record keeps of an error of the database: its kind and, of
// PostgreSQL, the SQLSTATE. What the driver says of statements, users and hosts is for
// the log: the API shows the record.
func Message(err error) string {
	text := "the database: " + ErrorType(err)
	for _, own := range []error{ErrSuperseded, ErrNotRegistered, discovery.ErrInvalid, discovery.ErrNotPermitted, discovery.ErrRefused, discovery.ErrUnreachable, discovery.ErrServer} {
		if errors.Is(err, own) {
			text = own.Error()
			break
		}
	}
	var server *pgconn.PgError
	if errors.As(err, &server) {
		text += " (SQLSTATE " + server.Code + ")"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		text += " in time"
	}
	return text
}
