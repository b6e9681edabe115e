package engine

import (
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// UnknownStateError is returned when this program's version of the machine does not have the state
// of a record: another version took it there. errors.Is finds ErrCorrupt too.
type UnknownStateError struct {
	Machine, ID string
	State       string // of the record
	Version     string // of the machine in this program
	Err         error  // the *CorruptError
}

func (e *UnknownStateError) Error() string {
	return fmt.Sprintf("%s %s: version %s of the machine has no state %q: run the version that took the record there", e.Machine, e.ID, e.Version, e.State)
}

// Is makes errors.Is(err, ErrUnknownState) hold.
func (e *UnknownStateError) Is(target error) bool { return target == ErrUnknownState }

// Unwrap returns what the store said.
func (e *UnknownStateError) Unwrap() error { return e.Err }

// unreadable returns why a record can't be read: err, or an *UnknownStateError.
func (d *definition[T]) unreadable(err error) error {
	var corrupt *CorruptError
	var state *fsm.StateError
	if !errors.As(err, &corrupt) || !errors.As(err, &state) {
		return err
	}
	return &UnknownStateError{Machine: corrupt.Machine, ID: corrupt.ID, State: state.State, Version: d.Version(), Err: err}
}
