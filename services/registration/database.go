package registration

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/adapters/postgres"
	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/engine"
)

// database is where a registry has its tables.
type database interface {
	inTx(ctx context.Context, f func(querier) error) error
	// once runs one statement, which is its own transaction and as good twice as
	// once: it is repeated on another connection if the one that it had is broken.
	once(ctx context.Context, f func(querier) error) error
	// hold is Registry.Hold.
	hold(ctx context.Context, of Key, f func() error) error
	// removing waits until no row is held, if that is not up to the database, and
	// keeps rows from being held until it is done.
	removing(ctx context.Context) (done func(), err error)
	dialect() string // postgres or sqlite
	sets
}

// Pool is a pool of connections to PostgreSQL: a *pgxpool.Pool.
type Pool interface {
	Begin(ctx context.Context) (pgx.Tx, error)
	Exec(ctx context.Context, statement string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, statement string, args ...any) (pgx.Rows, error)
}

type postgresDatabase struct{ pool Pool }

func (d postgresDatabase) dialect() string { return "postgres" }

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

// sqliteDatabase is the file of one daemon. While it holds a row, or removes some,
// it has put a token into rows: a transaction would keep everybody from writing.
type sqliteDatabase struct {
	store *sqlite.Store
	rows  chan struct{}
}

func (d sqliteDatabase) dialect() string { return "sqlite" }

func (d sqliteDatabase) once(ctx context.Context, f func(querier) error) error { return d.inTx(ctx, f) }

func (d sqliteDatabase) inTx(ctx context.Context, f func(querier) error) error {
	return d.store.InTx(ctx, func(tx *sql.Tx) error { return f(liteQuerier{tx}) })
}

func (d sqliteDatabase) hold(ctx context.Context, of Key, f func() error) error {
	done, err := d.removing(ctx)
	if err != nil {
		return err
	}
	defer done()
	var found bool
	err = d.once(ctx, func(q querier) (err error) {
		var is int
		found, err = one(ctx, q, "SELECT 1 FROM node_registrations WHERE node_id = $1 AND registration_id = $2", []any{of.NodeID, of.RegistrationID}, &is)
		return err
	})
	if err == nil && !found {
		err = ErrNotRegistered
	}
	if err != nil {
		return err
	}
	return f()
}

func (d sqliteDatabase) removing(ctx context.Context) (done func(), err error) {
	select {
	case d.rows <- struct{}{}:
		return func() { <-d.rows }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// isPostgres tells the connection string of a server from the path of a file.
func isPostgres(store string) bool {
	return strings.HasPrefix(store, "postgres://") || strings.HasPrefix(store, "postgresql://")
}

// openDurable opens the database that the options name, with the engine on it.
func openDurable(ctx context.Context, o Options, c engine.Config, h handlers) (durable, error) {
	if isPostgres(o.Store) {
		return openPostgres(ctx, o, c, h)
	}
	return openSQLite(ctx, o, c, h)
}

func openPostgres(ctx context.Context, o Options, c engine.Config, h handlers) (durable, error) {
	layout := postgres.Options{Schema: o.Schema}
	pool, err := newPool(ctx, o.Store, layout, o.Connections)
	if err != nil {
		return nil, err
	}
	store, err := postgres.New(pool, layout)
	if err != nil {
		pool.Close()
		return nil, err
	}
	shut := func() error {
		const patience = 5 * time.Second
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		err := store.Close(ctx)
		pool.Close()
		return err
	}
	e, err := engine.New[pgx.Tx](store, c, registration.Define[pgx.Tx](h, o.Params))
	if err != nil {
		return nil, errors.Join(err, shut())
	}
	return &core[pgx.Tx]{
		Engine: e, database: postgresDatabase{pool}, shut: shut,
		speak: func(tx pgx.Tx) querier { return pgQuerier{tx} },
	}, nil
}

func newPool(ctx context.Context, dsn string, layout postgres.Options, connections int) (*pgxpool.Pool, error) {
	config, err := postgres.PoolConfig(dsn, layout)
	if err != nil {
		return nil, fmt.Errorf("connection string: %w", err)
	}
	if connections > 0 {
		config.MaxConns = int32(min(max(connections, 2), 1000)) // one holds a row: see Registry.Hold
	}
	return pgxpool.NewWithConfig(ctx, config)
}

func openSQLite(ctx context.Context, o Options, c engine.Config, h handlers) (durable, error) {
	store, err := sqlite.Open(ctx, o.Store, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	e, err := engine.New[*sql.Tx](store, c, registration.Define[*sql.Tx](h, o.Params))
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &core[*sql.Tx]{
		Engine: e, database: sqliteDatabase{store, make(chan struct{}, 1)}, shut: store.Close,
		speak: func(tx *sql.Tx) querier { return liteQuerier{tx} },
	}, nil
}
