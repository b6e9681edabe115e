package engine

import (
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// What callers test for. A refused event is a *fsm.Rejection.
var (
	ErrNotFound       = errors.New("no such record")
	ErrUnknownMachine = errors.New("no such machine")                        // the engine was made without it
	ErrBadID          = errors.New("bad id")                                 // a text that is no id of the machine, or no id of a message
	ErrVersion        = errors.New("not at the version that the call names") // see VersionError
	ErrUnknownState   = errors.New("unknown state")                          // see UnknownStateError
)

// The errors of a store, which the engine returns unchanged. See package store.
var (
	ErrExists   = store.ErrExists   // see ExistsError, UniqueError
	ErrConflict = store.ErrConflict // see ConflictError
	ErrKeyUsed  = store.ErrKeyUsed  // see KeyError
	ErrRefused  = store.ErrRefused  // see RefusedError
	ErrCorrupt  = store.ErrCorrupt  // see CorruptError
	ErrDrift    = store.ErrDrift    // see DriftError
	ErrStore    = store.ErrStore
)

type (
	// ConflictError is returned when another writer was first. It has what is stored now.
	ConflictError = store.ConflictError
	// ExistsError is returned when a record with this id exists.
	ExistsError = store.ExistsError
	// UniqueError is returned when another record has the values of a unique constraint.
	UniqueError = store.UniqueError
	// KeyError is returned when an idempotency key belongs to another call.
	KeyError = store.KeyError
	// RefusedError is returned when the database refuses what an accepted event writes.
	RefusedError = store.RefusedError
	// CorruptError is returned when a row exists and can't be read.
	CorruptError = store.CorruptError
	// SchemaError is returned when the engine's tables have another version than the store needs.
	SchemaError = store.SchemaError
	// TableError is returned when a machine's table lacks what this version of the machine needs.
	TableError = store.TableError
	// DriftError is returned when the database differs from what this program was generated with.
	DriftError = store.DriftError
	// Drift lists the differences of one machine.
	Drift = store.Drift
)

// ErrNested is returned by a call that needs its own transaction (Fire, Create, FireBatch,
// Transact, Requeue, Run and the like) if its context belongs to a transaction: the context that
// Transact passes to its function, or that of a handler inside a transaction.
var ErrNested = errors.New("this call needs a transaction of its own and is made inside one: use the Tx within Transact, FireTx or CreateTx within a handler, or call it after the commit")

// VersionError is returned when a call with IfVersion was not applied, because the record is at
// another version. Firing again with the same IfVersion fails again.
type VersionError struct {
	Machine, ID string
	IfVersion   int64  // the version that the call names
	Version     int64  // the version that is there now; 0: unknown
	State       string // the state that is there now; "": unknown
}

func (e *VersionError) Error() string {
	if e.Version == 0 {
		return fmt.Sprintf("%s %s: the call is for version %d, and the record is no longer at it: read the record and decide again", e.Machine, e.ID, e.IfVersion)
	}
	return fmt.Sprintf("%s %s: the call is for version %d, and the record is at version %d in %s: read the record and decide again",
		e.Machine, e.ID, e.IfVersion, e.Version, e.State)
}

// Is makes errors.Is(err, ErrVersion) hold.
func (e *VersionError) Is(target error) bool { return target == ErrVersion }

// HandlerError is the error of a handler that failed, panicked or did not return.
type HandlerError struct {
	Machine, ID, Effect string
	// Unknown reports that the effect may have happened: the handler panicked or did not return.
	Unknown bool
	Err     error
}

func (e *HandlerError) Error() string {
	return fmt.Sprintf("%s %s: effect %s: %v", e.Machine, e.ID, e.Effect, e.Err)
}

// Unwrap returns the handler's own error.
func (e *HandlerError) Unwrap() error { return e.Err }
