package ir

import (
	"slices"

	"github.com/fsmgen/fsmgen/gen/diag"
)

// Name is a declared name with the comment written above it and its place.
type Name struct {
	Text string
	// Doc is the `doc` of the declaration, or else the YAML comment at it;
	// it may have several lines.
	Doc  string
	Span diag.Span
}

// String returns the name as the spec spells it.
func (n Name) String() string { return n.Text }

// Machine is one lifecycle. File name, machine name and package name are the
// same word.
type Machine struct {
	Name
	Version string
	File    string // path of the spec as it was given to the compiler

	// Strict: a clause may read an optional name only where it is proven
	// present (document 001, FSM Subcontract Configuration).
	Strict bool
	// RepeatSucceeds: an unkeyed event that no row accepts, whose rows lead
	// to the present state, is answered "already there" (document 003).
	RepeatSucceeds bool
	// Fatal is fired in a new transaction when a decided step could not be
	// recorded; nil if the machine has none.
	Fatal *Event

	ID      *Field // the record's identity; never nil
	Storage Storage

	Enums      []*Enum
	Params     []*Param
	Actors     []*Actor // without the reserved `system`; empty: the machine knows no actors
	Fields     []*Field // record fields in spec order, without ID
	Uniques    []*Unique
	Failures   []*Failure
	Tables     []*Table
	States     []*State
	Events     []*Event
	Effects    []*Effect
	Metrics    []*Metric
	Do         []Action // on every accepted row
	Rows       []*Row   // expanded; rows of one spec row are adjacent
	Invariants []*Invariant
	Accepts    []*Accept
}

// Accept says why warnings of this machine's spec stay.
type Accept struct {
	Code   diag.Code
	Name   string // what the warning marks; "": whatever it marks
	Reason string
	Span   diag.Span
}

// Storage names the SQL objects of a machine.
type Storage struct {
	Table     string // default: the machine's name + "_records"
	State     string // column of the state, default "state"
	History   string // default: Table + "_history"
	Partition bool   // history is partitioned by its created_at column
	Span      diag.Span
}

// Kind is the semantic role of a state (document 001, State Type Terminology).
type Kind string

// The kinds of a state.
const (
	Initial     Kind = "initial"
	Operational Kind = "operational"
	Snapshot    Kind = "snapshot"
	Success     Kind = "success"
	Failed      Kind = "error"
	Terminal    Kind = "terminal"
)

// State is one state. Index is its place in Machine.States.
type State struct {
	Name
	Index int
	Kind  Kind
	// Terminal: no row with a target leaves it. Rows without a target may
	// still act in it.
	Terminal bool
	// Recoverable: error recovery is meaningful here.
	Recoverable bool
	// Initial: records are created into it.
	Initial bool
	Entry   []Action
	Exit    []Action
	// Holds are checked last, on the new record, whenever a step ends in
	// this state. They include the machine's `always` clauses.
	Holds   []*Clause
	Timeout *Timeout
}

// Timeout is the deadline of a state. Exactly one of After and At is set.
type Timeout struct {
	After *Operand // a duration: literal, param or record field; counts from entry
	At    *Field   // a record field of type time; the deadline follows it
	Fire  *Fire
	Span  diag.Span
}

// Fire is an event with bound fields: what a timeout fires, a row raises, an
// effect answers.
type Fire struct {
	Event *Event
	Args  []Assign // Target is a field or a write of Event
	Span  diag.Span
}

// Event is one event. Its payload is Fields then Writes.
type Event struct {
	Name
	Index  int
	Source EventSource
	By     []*Actor // who may fire it, nil where the machine knows no actors; contains System for `system`
	Fields []*Field // facts that are not stored
	Writes []Write  // record fields that acceptance stores
	// Internal events have no public method: only the machine fires them.
	Internal bool
	Key      *Template // idempotency key, nil: none
	Lock     *Lock
}

// EventSource tells where an event comes from.
type EventSource string

// The sources of an event.
const (
	External     EventSource = "external"
	Internal     EventSource = "internal"
	Answer       EventSource = "effect"
	Orchestrator EventSource = "orchestrator"
)

// Write is a record field carried by an event. Guards see the incoming value.
type Write struct {
	Field *Field
	// Optional: absence clears the field. Otherwise a value is required,
	// even where the record's field is optional.
	Optional bool
	Span     diag.Span
}

// Row is one concrete transition: one source state, one event.
type Row struct {
	Name            // of the spec row; rows expanded from one spec row share it
	Index    int    // place in Machine.Rows
	Group    int    // index of the spec row it was expanded from
	From     *State // nil: creation
	Event    *Event
	By       []*Actor // actors that may fire it; nil where the machine knows no actors
	Priority int      // larger wins
	Wildcard bool     // written as from: "*"
	When     []*Clause
	// Otherwise: taken when no other row of (From, Event) holds for the actor.
	Otherwise bool
	To        *State   // nil: internal (no exit, no entry, timer kept) or a rejection
	Reject    *Failure // set: the row answers with this failure class and stores nothing
	// Set are the row's own assignments; right sides read the old record
	// overlaid by the event. The event's Writes are stored besides.
	Set []Assign
	// Do is what the row itself names; Actions is exit(From), Do, entry(To),
	// machine Do, in this order (exit and entry only where To is set).
	Do      []Action
	Actions []Action
	Raise   *Fire // further step of the same call; nil: none
}

// Target returns the state a step through r ends in: To, or From for an
// internal row.
func (r *Row) Target() *State {
	if r.To != nil {
		return r.To
	}
	return r.From
}

// StoresCaller reports whether the row stores who fired it. It then refuses a
// caller without an id, `system` among them: the record would name no caller.
func (r *Row) StoresCaller() bool {
	return slices.ContainsFunc(r.Set, func(a Assign) bool { return a.Value.A.Special == ActorID || a.Value.B.Special == ActorID })
}

// Assign stores Value into Target.
type Assign struct {
	Target *Field
	Value  Expr
	Span   diag.Span
}

// Action names an effect or a metric; exactly one is set.
type Action struct {
	Effect *Effect
	Metric *Metric
	Span   diag.Span
}

// Actor is a role. System is the reserved one: the engine and trusted
// services.
type Actor struct {
	Name
	// Is: the caller's id must equal this record field; nil: any caller of
	// the role.
	Is     *Field
	System bool
}

// Unique forbids two records with equal Fields. WhileActive: only records in
// non-terminal states count.
type Unique struct {
	Name
	Fields      []*Field
	WhileActive bool
}

// Failure is a failure class with its retry policy.
type Failure struct {
	Name
	Retry  *Retry // nil: never
	Status int    // HTTP status of a rejection with this class; 0: none
}

// Retry is bounded exponential backoff: delays First, First*Factor, ... up to
// Max, each spread by +-Jitter (a share, 0 to 1), at most Attempts times.
type Retry struct {
	First, Max string // durations as written, valid for time.ParseDuration
	Factor     float64
	Jitter     float64
	Attempts   int
}

// Lock is taken by the engine around the attempts of an effect; safety never depends on it. That of
// an event is for the service that fires it.
type Lock struct {
	Key  *Template
	TTL  string // duration as written
	Span diag.Span
}

// Invariant is a promise of the document and what enforces it. Exactly one
// of the targets is set.
type Invariant struct {
	Name
	Holds     *State   // that state's holds enforce it
	Terminal  *State   // that state's lack of outgoing rows enforces it
	Immutable []*Field // write-once fields enforce it
	Unique    *Unique
	Never     *Never
	Always    []*Clause // hold in every state; already part of every State.Holds
	Test      string    // name of a test outside the generated package
}

// Never forbids edges. Unless: such an edge is legal where all these clauses
// hold on the new record.
type Never struct {
	From   *State
	To     []*State
	Unless []*Clause
}
