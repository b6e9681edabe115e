package registration

import (
	"context"
	"time"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/services/registration/database"
)

// Registry is the table node_registrations: which node is registered, and when
// it was last heard of. Every method is idempotent and a transaction of its own.
//
// An error is one of errors.go; whether a row was changed is unknown after
// ErrUnreachable and ErrServer alone.
type Registry interface {
	// Upsert writes the row of a node, as heard of now. A row that an earlier
	// registration left is replaced. ErrSuperseded: a later one has the row, or the
	// registration has failed or ended meanwhile.
	Upsert(ctx context.Context, r Row) error
	// Owners returns the ids of the registrations that have the rows of nodes, of
	// those that have a row.
	Owners(ctx context.Context, nodeIDs []string) (registrationIDs map[string]string, err error)
	// Hold calls f while the row of a registration can't go: Delete and Collect wait,
	// or pass it over, until f returns. f may use the registry, but not to remove
	// rows. It is not called where there is no such row, which is ErrNotRegistered. A
	// row is lost all the same if the connection is, or f takes very long.
	Hold(ctx context.Context, of Key, f func() error) error
	// Heartbeat notes that nodes were heard of now. What is not there, or is
	// another registration's, is left alone.
	Heartbeat(ctx context.Context, of []Key) error
	// Delete removes the row of a node if it is that of the registration. One
	// that is not there is gone already, and one of another registration stays:
	// neither is an error.
	Delete(ctx context.Context, of Key) error

	// Stale lists rows that were last heard of before a time, oldest first,
	// beginning after the given one.
	Stale(ctx context.Context, before time.Time, after Stale, limit int) ([]Stale, error)
	// Collect removes those of the rows that are still as stale and that no other
	// daemon is collecting, and logs it. It returns which it removed.
	Collect(ctx context.Context, rows []Stale, before time.Time) ([]Key, error)

	// SeenCritical notes which services are critical now, and since when each
	// has been at every look; of all others it forgets it.
	SeenCritical(ctx context.Context, now []CriticalService) (since map[CriticalService]time.Time, err error)
	// LogCollected notes in the log of the collectors whose services were removed.
	LogCollected(ctx context.Context, nodeIDs []string) error
}

// What the rows are made of is declared in package database.
type (
	// Key names the row that a registration has of its node.
	Key = database.Key
	// Row is a row of node_registrations, without what the database itself knows.
	Row = database.Row
	// Stale is a row whose node was not heard of for too long.
	Stale = database.Stale
	// CriticalService is a service that is critical.
	CriticalService = database.CriticalService
	// Pool is a pool of connections to PostgreSQL: a *pgxpool.Pool.
	Pool = database.Pool
)

// NewRegistry returns the registry in the tables of a PostgreSQL database, over
// connections of the caller's own, two at least: see Hold. The tables are made by Open.
func NewRegistry(pool Pool, clock engine.Clock) Registry { return database.NewRows(pool, clock) }
