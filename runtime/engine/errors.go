package engine

import (
	"errors"
	"fmt"
	"strings"
)

// What callers test for. A refused event is a *fsm.Rejection.
var (
	ErrNotFound       = errors.New("no such record")
	ErrUnknownMachine = errors.New("no such machine") // the engine was made without it
	ErrBadID          = errors.New("bad id")          // a text that is no id of the machine, or no id of a message
	ErrExists         = errors.New("record exists")
	ErrConflict       = errors.New("conflict")                               // see ConflictError
	ErrVersion        = errors.New("not at the version that the call names") // see VersionError
	ErrKeyUsed        = errors.New("idempotency key is used")                // see KeyError
	ErrRefused        = errors.New("can't be recorded")                      // see RefusedError
	ErrCorrupt        = errors.New("corrupt row")                            // see CorruptError
	ErrUnknownState   = errors.New("unknown state")                          // see UnknownStateError
	ErrDrift          = errors.New("the database differs")                   // see DriftError
	ErrLeaseLost      = errors.New("lease lost")
	ErrStore          = errors.New("store failed") // see StoreError
)

// ErrNested is returned by a call that needs a transaction of its own (Fire, Create,
// FireBatch, Transact, Requeue, Run and the like) when its context is that of a
// transaction: the one that Transact gives to its function, or that of a handler
// inside a transaction.
var ErrNested = errors.New("this call needs a transaction of its own and is made inside one: use the Tx within Transact, FireTx or CreateTx within a handler, or call it after the commit")

// ConflictError says that another writer was first, and what is there now.
type ConflictError struct {
	Machine, ID string
	Expected    int64  // the version that was read
	Version     int64  // the version that is there now; 0: unknown
	State       string // the state that is there now; "": unknown
}

func (e *ConflictError) Error() string {
	if e.Version == 0 {
		return fmt.Sprintf("%s %s: conflict: it is no longer at version %d", e.Machine, e.ID, e.Expected)
	}
	return fmt.Sprintf("%s %s: conflict: it was at version %d and is at version %d in %s", e.Machine, e.ID, e.Expected, e.Version, e.State)
}

// Is makes errors.Is(err, ErrConflict) hold.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// VersionError says that a call with IfVersion was not applied, since the record is
// at another version, and what is there now. To fire again with the same IfVersion
// is of no use: whoever decided on the event has not seen this version.
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

// ExistsError says that a record with this id was created before.
type ExistsError struct{ Machine, ID string }

func (e *ExistsError) Error() string { return fmt.Sprintf("%s %s: record exists", e.Machine, e.ID) }

// Is makes errors.Is(err, ErrExists) hold.
func (e *ExistsError) Is(target error) bool { return target == ErrExists }

// UniqueError says that another record has the values of a unique constraint.
type UniqueError struct {
	Machine, ID string
	Constraint  string // its name in the database, or the columns where it has none
	Err         error  // of the driver
}

func (e *UniqueError) Error() string {
	return fmt.Sprintf("%s %s: another record exists by %s: %v", e.Machine, e.ID, e.Constraint, e.Err)
}

// Is makes errors.Is(err, ErrExists) hold.
func (e *UniqueError) Is(target error) bool { return target == ErrExists }

// Unwrap returns the error of the driver.
func (e *UniqueError) Unwrap() error { return e.Err }

// KeyError says that an idempotency key belongs to another event or record, or to
// the same event with another payload. As
// the answer of a store to a Save it says only that the key is there already.
type KeyError struct {
	Machine, Key string
	RecordID     string // which consumed it; "": unknown
	Event        string // that consumed it; "": unknown
}

func (e *KeyError) Error() string {
	if e.RecordID == "" {
		return fmt.Sprintf("%s: key %q is used", e.Machine, e.Key)
	}
	return fmt.Sprintf("%s: key %q is used by %s of %s: make a key for each event that you fire, and repeat it with the same payload alone", e.Machine, e.Key, e.Event, e.RecordID)
}

// Is makes errors.Is(err, ErrKeyUsed) hold.
func (e *KeyError) Is(target error) bool { return target == ErrKeyUsed }

// RefusedError says that an event was accepted, but what it leads to can't be
// recorded: a constraint or a trigger of the database refused it, or the machine
// whose record it starts did.
type RefusedError struct {
	Machine, ID string // of the record that can't be written
	Err         error  // of the driver, or the *fsm.Rejection
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s %s: refused: %v", e.Machine, e.ID, e.Err)
}

// Is makes errors.Is(err, ErrRefused) hold.
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }

// Unwrap returns why.
func (e *RefusedError) Unwrap() error { return e.Err }

// CorruptError says that a row is there and can't be read: a state that the
// table does not have, broken JSON. Only the record it names is affected.
type CorruptError struct {
	Machine, ID string
	Err         error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s %s: corrupt row: %v", e.Machine, e.ID, e.Err)
}

// Is makes errors.Is(err, ErrCorrupt) hold.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// Unwrap returns what is wrong with the row.
func (e *CorruptError) Unwrap() error { return e.Err }

// SchemaError says that the engine's tables have another version than the one
// that the store works with: nobody has called Migrate yet, or a newer program
// has.
type SchemaError struct{ Found, Known int }

func (e *SchemaError) Error() string {
	advice := "run Migrate, which keeps what is in them"
	if e.Found > e.Known {
		advice = "a newer program has migrated them, update this one"
	}
	return fmt.Sprintf("the engine's tables are at version %d, and this program works with version %d: %s", e.Found, e.Known, advice)
}

// TableError says that a table of a machine lacks what this version of the
// machine needs: it was made by another one. Migrate does not alter it.
type TableError struct {
	Machine, Table string
	Missing        []string // columns, or tables that it refers to
}

func (e *TableError) Error() string {
	return fmt.Sprintf("machine %s: table %s lacks %s: it was made by another version of the machine, or a machine that it refers to is not there",
		e.Machine, e.Table, strings.Join(e.Missing, ", "))
}

// HandlerError says that a handler failed, panicked or did not return.
type HandlerError struct {
	Machine, ID, Effect string
	// Unknown: the handler panicked or did not return, so the effect may have
	// happened.
	Unknown bool
	Err     error
}

func (e *HandlerError) Error() string {
	return fmt.Sprintf("%s %s: effect %s: %v", e.Machine, e.ID, e.Effect, e.Err)
}

// Unwrap returns the handler's own error.
func (e *HandlerError) Unwrap() error { return e.Err }

// StoreError wraps a failure of the database or the way to it, naming what was
// attempted. It keeps nil. errors.Is finds ErrStore and the cause.
func StoreError(attempt string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w: %w", attempt, ErrStore, err)
}
