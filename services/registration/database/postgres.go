package database

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// dialect is a database as its kind has it.
type dialect interface {
	inTx(ctx context.Context, f func(querier) error) error
	// once runs one statement, which is its own transaction and as good twice as
	// once: it is repeated on another connection if the one that it had is broken.
	once(ctx context.Context, f func(querier) error) error
	// hold is Registry.Hold.
	hold(ctx context.Context, of Key, f func() error) error
	// removing waits until no row is held, if that is not up to the database, and
	// keeps rows from being held until it is done.
	removing(ctx context.Context) (done func(), err error)
	name() string // of the folder of its migrations
	// lockMigration is a statement that has other daemons wait until the transaction ends; "" if a
	// transaction has the database for itself.
	lockMigration() string
	// lockFree is what a SELECT ends with that locks the rows which no other has locked, and
	// leaves out the rest; "" if a transaction has the database for itself.
	lockFree() string
	sets
}

// Pool is a pool of connections to PostgreSQL: a *pgxpool.Pool.
type Pool interface {
	Begin(ctx context.Context) (pgx.Tx, error)
	Exec(ctx context.Context, statement string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, statement string, args ...any) (pgx.Rows, error)
}

type postgresDatabase struct{ pool Pool }

func (d postgresDatabase) name() string { return "postgres" }

func (d postgresDatabase) lockMigration() string {
	return "SELECT pg_advisory_xact_lock(hashtext('registration_schema'))"
}

func (d postgresDatabase) lockFree() string { return " FOR UPDATE SKIP LOCKED" }

func (d postgresDatabase) inTx(ctx context.Context, f func(querier) error) error {
	tx, err := d.begin(ctx)
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, begun{tx}, func(tx pgx.Tx) error { return f(pgQuerier{tx}) })
}

// spares is how many connections of a pool a restart of the server may have
// ended: the pool hands them out all the same.
const spares = 16

// begin begins a transaction. Nothing was asked over a connection that is broken
// by then, so another one does as well.
func (d postgresDatabase) begin(ctx context.Context) (tx pgx.Tx, err error) {
	for range spares {
		if tx, err = d.pool.Begin(ctx); !broken(ctx, err) {
			break
		}
	}
	return tx, err
}

func (d postgresDatabase) once(ctx context.Context, f func(querier) error) (err error) {
	for range spares {
		if err = f(pgQuerier{d.pool}); !broken(ctx, err) {
			break
		}
	}
	return err
}

// hold leaves room to write the row, also for a later registration. The server ends
// what a daemon that hangs would hold.
func (d postgresDatabase) hold(ctx context.Context, of Key, f func() error) error {
	const longest = "10s"
	return d.inTx(ctx, func(q querier) error {
		var set string
		found, err := one(ctx, q, `SELECT set_config('idle_in_transaction_session_timeout', $3, true) FROM node_registrations
			WHERE node_id = $1 AND registration_id = $2 FOR KEY SHARE`, []any{of.NodeID, of.RegistrationID, longest}, &set)
		if err == nil && !found {
			err = ErrNotRegistered
		}
		if err != nil {
			return err
		}
		return f()
	})
}

func (postgresDatabase) removing(context.Context) (done func(), err error) { return func() {}, nil }

// broken reports whether an error is that of a connection, and another one may
// do better.
func broken(ctx context.Context, err error) bool {
	var refused *pgconn.ConnectError
	var network net.Error
	switch {
	case err == nil, ctx.Err() != nil, errors.As(err, &refused):
		return false
	case pgconn.SafeToRetry(err), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return true
	}
	return errors.As(err, &network)
}

// begun gives away a transaction that has begun.
type begun struct{ tx pgx.Tx }

func (b begun) Begin(context.Context) (pgx.Tx, error) { return b.tx, nil }
