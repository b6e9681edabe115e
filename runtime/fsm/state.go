package fsm

import "fmt"

// StateError says that a machine has no state of this name: another version of it has.
type StateError struct{ Machine, State string }

func (e *StateError) Error() string {
	return fmt.Sprintf("%s: %q is not a state", e.Machine, e.State)
}
