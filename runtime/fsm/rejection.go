package fsm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Rejection says that an event was not accepted and why. The record is as it
// was. errors.Is compares a rejection with its [Reason].
type Rejection struct {
	Machine string `json:"machine"`
	Reason  Reason `json:"reason"`
	State   string `json:"state,omitempty"` // "" on creation
	Event   string `json:"event"`
	Actor   string `json:"actor,omitempty"` // the role
	// Row is the transition that was chosen before the step failed; "" where
	// none was.
	Row string `json:"row,omitempty"`
	// Rows are the candidates with the first clause of each that failed; for
	// ErrHoldsFailed the one clause of the target state.
	Rows []Unmet `json:"rows,omitempty"`
	// Because are the clauses of a row that refuses under a guard of its own.
	Because []Unmet `json:"because,omitempty"`
	Failure string  `json:"failure,omitempty"` // failure class of ErrRefused
	Status  int     `json:"status,omitempty"`  // HTTP status of that class
	Field   string  `json:"field,omitempty"`   // the field that is wrong
	Problem string  `json:"problem,omitempty"` // what is wrong with it
	// Legal are the events that the actor may fire in this state, as far as guards
	// allow, in spec order.
	Legal []string `json:"legal,omitempty"`
}

// Unmet is a clause that did not hold; in Because, one that did.
type Unmet struct {
	Name   string `json:"name"` // of the row, or of the state whose holds failed
	Clause string `json:"clause"`
	Seen   []Seen `json:"seen"`
}

// Seen is a value that a clause read. Value is nil where it was absent.
type Seen struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
}

// Clause is a clause with its verdict and the values it read. Generated code
// makes clauses on the way to a rejection only.
type Clause struct {
	Text  string
	Holds bool
	Seen  []Seen
}

// Read returns what a clause saw. An absent optional becomes nil.
func Read(name string, v any) Seen {
	if o, ok := v.(interface{ plain() any }); ok {
		v = o.plain()
	}
	return Seen{Name: name, Value: v}
}

// Check makes a clause from its text, its verdict and the values it read.
func Check(text string, holds bool, seen ...Seen) Clause {
	return Clause{Text: text, Holds: holds, Seen: seen}
}

// Candidate records a row that the actor may fire with the first of its
// clauses that does not hold. A rejection with a candidate is [ErrGuardFailed].
func (x *Rejection) Candidate(row string, clauses ...Clause) {
	x.Reason = ErrGuardFailed
	x.add(row, clauses)
}

// Explain adds the first clause that does not hold, none when all do. It
// returns x.
func (x *Rejection) Explain(name string, clauses ...Clause) *Rejection {
	x.add(name, clauses)
	return x
}

func (x *Rejection) add(name string, clauses []Clause) {
	for _, c := range clauses {
		if !c.Holds {
			x.Rows = append(x.Rows, Unmet{Name: name, Clause: c.Text, Seen: c.Seen})
			return
		}
	}
}

// OnRow names the transition that was chosen. It returns x.
func (x *Rejection) OnRow(name string) *Rejection {
	x.Row = name
	return x
}

// WithField names the field that is wrong and what is wrong with it. It
// returns x.
func (x *Rejection) WithField(field, problem string) *Rejection {
	x.Field, x.Problem = field, problem
	return x
}

// Refuse makes x the answer of a row that rejects with a failure class; the
// candidates that x has say what the other rows wanted. It returns x.
func (x *Rejection) Refuse(row, class string, status int) *Rejection {
	x.Reason, x.Row, x.Failure, x.Status = ErrRefused, row, class, status
	return x
}

// On adds the clauses under which the row refused. It returns x.
func (x *Rejection) On(clauses ...Clause) *Rejection {
	for _, c := range clauses {
		x.Because = append(x.Because, Unmet{Name: x.Row, Clause: c.Text, Seen: c.Seen})
	}
	return x
}

// AnyOf reports whether one of several conditions holds.
func AnyOf(conditions ...bool) bool { return slices.Contains(conditions, true) }

// May notes events with transitions in this state, if the actor may take one of each.
func (x *Rejection) May(may bool, events ...string) {
	if may {
		x.Legal = append(x.Legal, events...)
	}
}

// Error says in one line what was rejected, why, and what is possible.
func (x *Rejection) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", x.Machine, x.Event)
	if x.Actor != "" {
		fmt.Fprintf(&b, " by %s", x.Actor)
	}
	if x.State != "" {
		fmt.Fprintf(&b, " in %s", x.State)
	}
	fmt.Fprintf(&b, ": %s", x.Reason.Error())
	if x.Failure != "" {
		fmt.Fprintf(&b, " as %s", x.Failure)
	}
	if x.Field != "" {
		fmt.Fprintf(&b, ": %s %s", x.Field, x.Problem)
	}
	sep := ": "
	for _, u := range x.Because {
		b.WriteString(sep + u.clause())
		sep = ", "
	}
	for _, u := range x.Rows {
		b.WriteString(sep + u.String())
		sep = "; "
	}
	if x.Reason == ErrInvalidTransition && len(x.Legal) > 0 {
		fmt.Fprintf(&b, "; possible: %s", strings.Join(x.Legal, ", "))
	}
	return b.String()
}

// Is reports whether target is the reason of x.
func (x *Rejection) Is(target error) bool {
	var reason Reason
	return errors.As(target, &reason) && reason == x.Reason
}

// String renders u as: name wants clause (field is value).
func (u Unmet) String() string { return u.Name + " wants " + u.clause() }

// clause renders the clause with what it saw.
func (u Unmet) clause() string {
	seen := make([]string, len(u.Seen))
	for i, s := range u.Seen {
		seen[i] = s.String()
	}
	return fmt.Sprintf("%s (%s)", u.Clause, strings.Join(seen, ", "))
}

// String renders s as: name is value.
func (s Seen) String() string {
	switch v := s.Value.(type) {
	case nil:
		return s.Name + " is absent"
	case string:
		return fmt.Sprintf("%s is %q", s.Name, v)
	}
	return fmt.Sprintf("%s is %v", s.Name, s.Value)
}
