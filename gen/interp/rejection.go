package interp

import (
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// Reason says why a call was rejected. The words are shared by all
// executions of a machine.
type Reason string

// The reasons.
const (
	InvalidTransition Reason = "invalid_transition" // no row of this state and event
	NotAllowed        Reason = "not_allowed"        // rows, but none for this actor
	GuardFailed       Reason = "guard_failed"       // rows, but no guard holds
	Refused           Reason = "refused"            // a reject row was chosen
	HoldsFailed       Reason = "holds_failed"       // the new record breaks its state's holds
	Immutable         Reason = "immutable"          // a write-once field would change
	OutOfRange        Reason = "out_of_range"       // a field's min or max would break
	Overflow          Reason = "overflow"           // an expression does not fit its type
	InvalidEvent      Reason = "invalid_event"      // the payload is not valid
	Corrupt           Reason = "corrupt"            // the record is in no declared state
	Ambiguous         Reason = "ambiguous"          // two rows of one priority hold: a fault of the table
)

// Rejection explains why nothing happened.
type Rejection struct {
	Reason Reason
	State  *ir.State // nil before creation
	Event  *ir.Event
	Actor  Actor
	// Failure is the class of a refusal.
	Failure *ir.Failure
	// Field is the one that is invalid, immutable or out of range.
	Field *ir.Field
	// Rows are the two that an ambiguous table does not tell apart.
	Rows []*ir.Row
	// Clauses are the failing ones: the first of every row that was
	// considered, or the broken clause of the holds.
	Clauses []FailedClause
}

// FailedClause is a clause that was false, with the values that it saw.
type FailedClause struct {
	Row         *ir.Row
	Clause      *ir.Clause
	Left, Right ir.Value
}

// Error renders the rejection in one line.
func (r *Rejection) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s in %s", r.Reason, r.Event, stateName(r.State))
	if r.Actor.Role != nil {
		fmt.Fprintf(&b, " by %s", r.Actor)
	}
	if r.Failure != nil {
		fmt.Fprintf(&b, ": class %s", r.Failure)
	}
	if r.Field != nil {
		fmt.Fprintf(&b, ": field %s", r.Field)
	}
	if len(r.Rows) == 2 {
		fmt.Fprintf(&b, ": rows %s and %s both hold", r.Rows[0], r.Rows[1])
	}
	for i, c := range r.Clauses {
		fmt.Fprintf(&b, "%s %s", [2]string{":", ";"}[min(i, 1)], c)
	}
	return b.String()
}

// String renders the clause, its row and the values seen.
func (c FailedClause) String() string {
	return fmt.Sprintf("%s of row %s is false (%s %s %s)", c.Clause.Text, c.Row, show(c.Left), c.Clause.Op, show(c.Right))
}

func show(v ir.Value) string {
	switch v := v.(type) {
	case nil:
		return "absent"
	case string:
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprint(v)
}

func stateName(s *ir.State) string {
	if s == nil {
		return "none"
	}
	return s.Text
}
