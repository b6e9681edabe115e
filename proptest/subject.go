package proptest

import (
	"encoding/json"
	"time"
)

// Call is one event as JSON, with the names of the spec.
type Call struct {
	// Record is the record before, nil for a creation.
	Record json.RawMessage
	// ID is the id of a record to be created.
	ID      json.RawMessage
	Event   string
	Payload json.RawMessage
	// Role is "" where the machine knows no actors; ActorID is null where
	// the actor has no id.
	Role    string
	ActorID json.RawMessage
	Now     time.Time
	// Params are the values of the params by name.
	Params json.RawMessage
}

// Outcome is what the generated package answers.
type Outcome struct {
	// Reason is "" if the call was accepted, and then Record is the new
	// record.
	Reason string
	// Class is the failure class of a refusal.
	Class string
	// Transitions are the names of the rows taken; none: already there.
	Transitions []string
	Record      json.RawMessage
	Effects     []json.RawMessage
	// Deadline is what the state of Record sets, or nil.
	Deadline *Deadline
}

// Deadline is an event that is due at a time.
type Deadline struct {
	At      time.Time
	Event   string
	Payload json.RawMessage
}

// Subject is a generated package under test.
type Subject func(Call) Outcome
