package crash

import (
	"context"
	"database/sql"
	"time"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// lastResort is how long one call may take that can block for ever. No computer is busy
// for so long.
const lastResort = 5 * time.Minute

// Database is a database as one process sees it.
type Database[Tx any] struct {
	Name string // for the output
	// Open opens a store. close releases it; a killed process never gets there.
	Open func(ctx context.Context) (inner store.Store[Tx], close func() error, err error)
	// Exec runs a statement without parameters within a transaction.
	Exec func(ctx context.Context, tx Tx, statement string) error
	// Watch lists statements that make the database record every lease of a message:
	// whenever lease_token of a row of fsm_outbox gets another value that is not null, a
	// row (message_id, worker, cancelled) with the values of that moment goes into
	// crash_leases.
	Watch []string
	// Prune is a statement after which consumed keys can be deleted. A scenario deletes
	// the keys of its events at its end.
	Prune string
	// Lift lists statements that drop a unique index.
	Lift func(index string) []string
	// Busy reports whether a transaction of a store is open, since a server needs a
	// moment to notice that a process is dead. nil: the transactions of a process end
	// with it.
	Busy func(ctx context.Context, db *sql.DB) (bool, error)
	// SQL opens a connection that is independent of the store. An identifier in double
	// quotes and CAST(x AS text) must have their standard meaning.
	SQL func() (*sql.DB, error)
}
