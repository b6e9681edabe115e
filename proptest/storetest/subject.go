package storetest

import (
	"context"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// Subject is a store under test with an empty database of its own, and the access to the
// database that the cases need.
type Subject[Tx any] struct {
	// Store is not migrated yet. Open closes it when the test ends.
	Store store.Store[Tx]
	// Reopen returns another store on the same database, as another process
	// has it.
	Reopen func(t *testing.T) store.Store[Tx]
	// Exec runs one statement without parameters, in a transaction of the
	// store.
	Exec func(ctx context.Context, tx Tx, statement string) error
	// Break breaks the transaction, as a lost connection or a full disk does, and returns
	// the error of the driver. Other transactions continue.
	Break func(ctx context.Context, tx Tx) error
	// Count returns how many rows "SELECT count(*) FROM " + from counts, as
	// another connection sees them.
	Count func(t *testing.T, from string) int
	// ExecUnchecked runs one statement on another connection, with every constraint and
	// trigger of the table disabled, as the owner of the database can.
	ExecUnchecked func(t *testing.T, table, statement string)
	// AllowAnyRows makes the database accept messages, deadlines and keys that no step
	// asks for, until the next Migrate. Most of those of the cases belong to no step.
	AllowAnyRows func(t *testing.T)
	// MigrateTo brings the engine's tables to another version, 0 being none.
	MigrateTo func(ctx context.Context, version int) error
	// Version is the current version of the engine's tables.
	Version int
}

// Open returns a new Subject and registers its clean-up with t.
type Open[Tx any] func(t *testing.T) Subject[Tx]
