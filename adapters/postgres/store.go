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

// Options configures a store. The zero value of a field means its default.
type Options struct {
	// Schema holds the tables; Migrate creates it. Default: public.
	Schema string
	// NotifyInterval is the shortest time between two NOTIFYs of this process. Each is a
	// transaction of its own. Default: 25 milliseconds.
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
		return fmt.Errorf("postgres: the name of schema %s is longer than %d bytes", o.Schema, longestSchema)
	}
	if o.NotifyInterval < 0 {
		return errors.New("postgres: NotifyInterval must not be negative")
	}
	return nil
}

// PoolConfig parses a connection string. It sets the search path to the schema of o, and the
// default isolation level of transactions. It makes the planner prefer indices (enable_seqscan and
// jit: off), because a connection keeps its plans, and a plan made for an empty table would scan
// it. Other settings may be changed; make the pool with pgxpool.NewWithConfig.
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

// Store keeps records in PostgreSQL. It is safe for concurrent use.
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

// New returns a store on a pool, which stays the caller's: close the store first, then the pool.
// It does not connect.
func New(pool *pgxpool.Pool, o Options) (*Store, error) {
	if pool == nil {
		return nil, errors.New("postgres: a pool is needed")
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

// Close sends the pending notification and closes the connection that listens. Call it after the
// last use of the store. It may be called again.
func (s *Store) Close(ctx context.Context) error {
	s.notifier.close()
	return s.listener.close(ctx)
}

// Time returns the time of the server.
func (s *Store) Time(ctx context.Context) (now time.Time, err error) {
	err = s.pool.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&now)
	return now, wrap("ask for the time", err)
}
