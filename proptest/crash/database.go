package crash

import (
	"context"
	"database/sql"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// Database is where a proof takes place, seen from one process.
type Database[Tx any] struct {
	Name string // for people
	// Open opens a store. close releases it; a killed process never gets there.
	Open func(ctx context.Context) (inner store.Store[Tx], close func() error, err error)
	// Exec runs a statement without parameters within a transaction.
	Exec func(ctx context.Context, tx Tx, statement string) error
	// Watch lists statements that make the database itself note every lease of a
	// message: whenever lease_token of a row of fsm_outbox gets another value that
	// is not null, a row (message_id, worker, cancelled), all three as they are
	// then, goes into crash_leases.
	Watch []string
	// Prune is a statement after which keys that were consumed can be deleted: a
	// life gives back those that its events have of themselves.
	Prune string
	// Lift lists statements after which the unique index named counts no longer.
	Lift func(index string) []string
	// Busy reports whether a transaction of a store is under way: a server needs a
	// moment to notice that a process is dead. nil: what a process has begun ends
	// with it.
	Busy func(ctx context.Context, db *sql.DB) (bool, error)
	// SQL opens a connection that knows nothing of the store. An identifier in
	// double quotes and CAST(x AS text) have to mean what the standard says.
	SQL func() (*sql.DB, error)
}
