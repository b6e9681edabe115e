package fsm

import "fmt"

// StateError is returned when a machine has no state of this name. Another version of it has.
type StateError struct{ Machine, State string }

func (e *StateError) Error() string {
	return fmt.Sprintf("%s: %q is not a state", e.Machine, e.State)
}
