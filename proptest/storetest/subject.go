package storetest

import (
	"context"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// Subject is a store under examination, with an empty database of its own, and
// what the exam needs beside it.
type Subject[Tx any] struct {
	// Store is not migrated yet. Whoever made it closes it.
	Store store.Store[Tx]
	// Reopen returns another store on the same database, as another process
	// has it.
	Reopen func(t *testing.T) store.Store[Tx]
	// Exec runs one statement without parameters, in a transaction of the
	// store.
	Exec func(ctx context.Context, tx Tx, statement string) error
	// Break breaks the transaction, as a lost connection or a full disk does, and
	// returns the error of the driver. Other transactions go on.
	Break func(ctx context.Context, tx Tx) error
	// Count returns how many rows "SELECT count(*) FROM " + from counts, as
	// another connection sees them.
	Count func(t *testing.T, from string) int
	// Vandalise runs one statement on a connection of its own, with every
	// constraint and trigger of the given table out of force, as somebody with
	// an owner's rights can.
	Vandalise func(t *testing.T, table, statement string)
	// Unjudged lets the database take rows of the engine that no step asks for, until
	// it is migrated again: most of those of the exam are made up.
	Unjudged func(t *testing.T)
	// MigrateTo brings the engine's tables to another version, 0 being none.
	MigrateTo func(ctx context.Context, version int) error
	// Version is the current version of the engine's tables.
	Version int
}

// Open makes a subject; t says when it can be cleaned up.
type Open[Tx any] func(t *testing.T) Subject[Tx]
