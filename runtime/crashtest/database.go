package crashtest

import (
	"context"
	"database/sql"

	"github.com/fsmgen/fsmgen/runtime/engine"
)

// Database is where a proof takes place, seen from one process.
type Database[Tx any] struct {
	// Open opens a store. close releases it; a killed process never gets there.
	Open func(ctx context.Context) (store engine.Store[Tx], close func() error, err error)
	// Exec runs a statement without parameters within a transaction.
	Exec func(ctx context.Context, tx Tx, statement string) error
	// SQL opens a connection that knows nothing of the store. An identifier in
	// double quotes and CAST(x AS text) have to mean what the standard says.
	SQL func() (*sql.DB, error)
}
