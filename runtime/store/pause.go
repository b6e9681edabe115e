package store

import "time"

// Scope is what a pause is about. Exactly one of these is set: Machine, Machine and
// Effect, or Destination.
type Scope struct {
	Machine     string // its effects and its deadlines
	Effect      string // this effect of Machine
	Destination string // the effects with this `to` (or name, without one), of all machines
}

// String names the scope.
func (s Scope) String() string {
	switch {
	case s.Destination != "":
		return "destination " + s.Destination
	case s.Effect != "":
		return "effect " + s.Effect + " of machine " + s.Machine
	}
	return "machine " + s.Machine
}

// Pause is a scope that an operator has paused.
type Pause struct {
	Scope
	Who, Why string
	At       time.Time
}
