// Package database keeps the records of registrations, and the rows beside them, in
// PostgreSQL or in a SQLite file. All SQL of the service is here.
package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/adapters/postgres"
	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/engine"
)

// Options say where the records are, and how they are worked on.
type Options struct {
	// Store is the connection string of a PostgreSQL database (postgres://…), or the path
	// of a SQLite file.
	Store string
	// Schema is the schema of the PostgreSQL database. Default public.
	Schema string
	// Connections bounds the connections to PostgreSQL.
	Connections int
	Engine      engine.Config
	Params      registration.Params
}

// Handlers carry out the effects of the machine, whichever the database is.
type Handlers interface {
	registration.Handlers[pgx.Tx]
	registration.Handlers[*sql.Tx]
}

// DB is the engine on a database. It is safe for concurrent use.
type DB struct {
	Queries
	engine durable
	shut   func() error
}

// Open opens the database that the options name, with the engine on it. The tables are
// made by Migrate. The handlers are not called before Run.
func Open(ctx context.Context, o Options, h Handlers) (*DB, error) {
	if isPostgres(o.Store) {
		return openPostgres(ctx, o, h)
	}
	return openSQLite(ctx, o, h)
}

// isPostgres tells the connection string of a server from the path of a file.
func isPostgres(store string) bool {
	return strings.HasPrefix(store, "postgres://") || strings.HasPrefix(store, "postgresql://")
}

func openPostgres(ctx context.Context, o Options, h Handlers) (*DB, error) {
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
	e, err := engine.New[pgx.Tx](store, o.Engine, registration.Define[pgx.Tx](h, o.Params))
	if err != nil {
		return nil, errors.Join(err, shut())
	}
	speak := func(tx pgx.Tx) querier { return pgQuerier{tx} }
	return newDB(e, speak, postgresDatabase{pool}, shut), nil
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

func openSQLite(ctx context.Context, o Options, h Handlers) (*DB, error) {
	store, err := sqlite.Open(ctx, o.Store, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	e, err := engine.New[*sql.Tx](store, o.Engine, registration.Define[*sql.Tx](h, o.Params))
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	speak := func(tx *sql.Tx) querier { return liteQuerier{tx} }
	return newDB(e, speak, sqliteDatabase{store, make(chan struct{}, 1)}, store.Close), nil
}

func newDB[T any](e *engine.Engine[T], speak func(T) querier, d dialect, shut func() error) *DB {
	c := &core[T]{e, speak, d}
	return &DB{Queries{d, c}, c, shut}
}

// Records returns the records of the machine.
func (db *DB) Records() Records { return db.engine.records() }

// Transact runs f in one transaction: all of it is kept, or none.
func (db *DB) Transact(ctx context.Context, f func(context.Context, Tx) error) error {
	return db.engine.transact(ctx, func(ctx context.Context, t transaction) error { return f(ctx, t) })
}

// Inline has an effect carried out within transactions.
func (db *DB) Inline(effect string, f InlineFunc) error { return db.engine.inline(effect, f) }

// Run carries out effects and fires deadlines until ctx ends. It returns nil then.
func (db *DB) Run(ctx context.Context) error { return db.engine.Run(ctx) }

// RequeueAll has the effects tried again that were given up.
func (db *DB) RequeueAll(ctx context.Context, effect, who, why string) error {
	done, err := db.engine.RequeueAll(ctx, engine.Filter{Machine: registration.MachineName, Effect: effect}, who, why)
	return errors.Join(err, done.Err())
}

// Rows returns the rows that are in the same database.
func (db *DB) Rows(clock engine.Clock) *Rows { return &Rows{db.dialect, clock} }

// Migrate brings the tables of the engine and of the service to the newest version.
func (db *DB) Migrate(ctx context.Context) error {
	if err := db.engine.Migrate(ctx); err != nil {
		return err
	}
	return db.engine.transact(ctx, func(ctx context.Context, t transaction) error { return migrate(ctx, t, db.dialect) })
}

// Close closes the database. Run must have ended.
func (db *DB) Close() error { return db.shut() }
