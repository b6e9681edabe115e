package fsm

// Reason is why an event was rejected. It is an error, so that callers can
// ask errors.Is(err, fsm.ErrGuardFailed).
type Reason string

// The reasons.
const (
	ErrInvalidTransition Reason = "invalid_transition" // no row for this state and event
	ErrNotAllowed        Reason = "not_allowed"        // rows, but none for this actor
	ErrGuardFailed       Reason = "guard_failed"       // no row's clauses hold
	ErrRefused           Reason = "refused"            // a row that answers with a failure class
	ErrHoldsFailed       Reason = "holds_failed"       // the new record breaks a holds of the target state
	ErrImmutable         Reason = "immutable"          // a write-once field would change
	ErrOutOfRange        Reason = "out_of_range"       // a field would leave its bounds
	ErrOverflow          Reason = "overflow"           // an int64 or the years 1 to 9999 would be left
	ErrInvalidEvent      Reason = "invalid_event"      // the payload is not one
	ErrCorrupt           Reason = "corrupt"            // the record's state is not a declared one
	ErrExists            Reason = "exists"             // creation of a record that exists
)

// Error returns the reason in words.
func (r Reason) Error() string {
	switch r {
	case ErrInvalidTransition:
		return "no transition"
	case ErrNotAllowed:
		return "not allowed"
	case ErrGuardFailed:
		return "guard failed"
	case ErrRefused:
		return "refused"
	case ErrHoldsFailed:
		return "state condition failed"
	case ErrImmutable:
		return "field is write-once"
	case ErrOutOfRange:
		return "field out of range"
	case ErrOverflow:
		return "arithmetic overflow"
	case ErrInvalidEvent:
		return "invalid event"
	case ErrCorrupt:
		return "record is in no declared state"
	case ErrExists:
		return "record exists"
	}
	return string(r)
}
