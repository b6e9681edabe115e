package store

import (
	"errors"
	"fmt"
	"strings"
)

// The errors of a store, for errors.Is. Each but ErrLeaseLost and ErrStore has a type with details.
var (
	ErrExists    = errors.New("record exists")           // see ExistsError, UniqueError
	ErrConflict  = errors.New("conflict")                // see ConflictError
	ErrKeyUsed   = errors.New("idempotency key is used") // see KeyError
	ErrRefused   = errors.New("can't be recorded")       // see RefusedError
	ErrCorrupt   = errors.New("corrupt row")             // see CorruptError
	ErrDrift     = errors.New("the database differs")    // see DriftError
	ErrLeaseLost = errors.New("lease lost")
	ErrStore     = errors.New("store failed") // see Failed
)

// ConflictError is returned when another writer was first. It has what is stored now.
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

// ExistsError is returned when a record with this id was created before.
type ExistsError struct{ Machine, ID string }

func (e *ExistsError) Error() string { return fmt.Sprintf("%s %s: record exists", e.Machine, e.ID) }

// Is makes errors.Is(err, ErrExists) hold.
func (e *ExistsError) Is(target error) bool { return target == ErrExists }

// UniqueError is returned when another record has the values of a unique constraint.
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

// KeyError is returned when an idempotency key belongs to another event or record, or to
// the same event with another payload. Save of a store returns it when the key is stored
// already, whatever it belongs to.
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

// RefusedError is returned when the machine accepts an event whose result can't be
// recorded: a constraint or a trigger of the database refuses it, or the machine of a
// record that the event starts.
type RefusedError struct {
	Machine, ID string // of the record that can't be written
	Err         error  // of the driver, or the *fsm.Rejection
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s %s: refused: %v", e.Machine, e.ID, e.Err)
}

// Is makes errors.Is(err, ErrRefused) hold.
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }

// Unwrap returns the reason.
func (e *RefusedError) Unwrap() error { return e.Err }

// CorruptError is returned when a row can't be read: it has a state that the table does
// not know, or broken JSON. Only the record that it names is affected.
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

// SchemaError is returned when the engine's tables have another version than the store needs:
// Migrate has not been called yet, or a newer program has called it.
type SchemaError struct{ Found, Known int }

func (e *SchemaError) Error() string {
	advice := "run Migrate, which keeps what is in them"
	if e.Found > e.Known {
		advice = "a newer program has migrated them, update this one"
	}
	return fmt.Sprintf("the engine's tables are at version %d, and this program works with version %d: %s", e.Found, e.Known, advice)
}

// TableError is returned when a table of a machine lacks what this version of the machine needs:
// another version created it. Migrate does not alter it.
type TableError struct {
	Machine, Table string
	Missing        []string // columns, or tables that it refers to
}

func (e *TableError) Error() string {
	return fmt.Sprintf("machine %s: table %s lacks %s: it was made by another version of the machine, or a machine that it refers to is not there",
		e.Machine, e.Table, strings.Join(e.Missing, ", "))
}

// Failed wraps an error of the database or of the connection to it, and names what was
// attempted. It returns nil for nil. errors.Is finds ErrStore and the cause.
func Failed(attempt string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w: %w", attempt, ErrStore, err)
}
