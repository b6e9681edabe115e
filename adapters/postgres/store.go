package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// Options configures a Store. The zero value of a field is its default.
type Options struct {
	// Schema is the schema of the tables. Migrate creates it. Default: public.
	Schema string
	// NotifyInterval is the shortest time between two NOTIFYs of this process, each in its own
	// transaction. Default: 25 milliseconds.
	NotifyInterval time.Duration
}

// longestSchema leaves room for the prefix of the channel's name.
const longestSchema = 63 - len(channelPrefix)

func (o Options) withDefaults() Options {
	if o.Schema == "" {
		o.Schema = "public"
	}
	if o.NotifyInterval == 0 {
		o.NotifyInterval = 25 * time.Millisecond
	}
	return o
}

func (o Options) validate() error {
	if len(o.Schema) > longestSchema {
		return fmt.Errorf("postgres: the name of schema %s is longer than %d bytes: choose a shorter one", o.Schema, longestSchema)
	}
	if o.NotifyInterval < 0 {
		return errors.New("postgres: NotifyInterval must not be negative")
	}
	return nil
}

// PoolConfig returns the configuration of a pool for a connection string, or the error of the
// parser. It sets the search path to the schema of o and the default isolation level to READ
// COMMITTED. It turns enable_seqscan and jit off, so that the planner prefers indices: a
// connection keeps its plans, and one for an empty table would scan it. The caller may change other
// settings and passes the result to pgxpool.NewWithConfig.
func PoolConfig(dsn string, o Options) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	config.ConnConfig.RuntimeParams["default_transaction_isolation"] = "read committed"
	config.ConnConfig.RuntimeParams["enable_seqscan"] = "off"
	config.ConnConfig.RuntimeParams["jit"] = "off"
	config.ConnConfig.RuntimeParams["search_path"] = pgx.Identifier{o.withDefaults().Schema}.Sanitize()
	return config, nil
}

// Store implements store.Store with PostgreSQL. It is safe for concurrent use.
type Store struct {
	pool     *pgxpool.Pool
	schema   string
	notifier *notifier
	listener *listener
	texts    texts
	migrated atomic.Bool // the engine's tables were seen to be current
}

var (
	_ store.Store[pgx.Tx] = (*Store)(nil)
	_ store.TimeTeller    = (*Store)(nil)
)

// New returns a Store that uses a pool. It does not connect. It returns an error for invalid options
// and without a pool. The caller closes the Store, and then the pool.
func New(pool *pgxpool.Pool, o Options) (*Store, error) {
	if pool == nil {
		return nil, errors.New("postgres: the pool is nil: make one with PoolConfig and pgxpool.NewWithConfig")
	}
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	channel := channelPrefix + o.Schema
	return &Store{
		pool: pool, schema: o.Schema,
		notifier: newNotifier(pool, channel, o.NotifyInterval),
		listener: newListener(pool, channel),
	}, nil
}

// Close sends the pending notification and closes the connection that listens. It blocks until both
// are done or ctx ends, and returns the error of closing the connection. The Store must not be used
// afterwards. Close may be called again.
func (s *Store) Close(ctx context.Context) error {
	s.notifier.close()
	return s.listener.close(ctx)
}

// Time implements store.TimeTeller: it returns the time of the server.
func (s *Store) Time(ctx context.Context) (now time.Time, err error) {
	err = s.pool.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&now)
	return now, wrap("ask for the time", err)
}
