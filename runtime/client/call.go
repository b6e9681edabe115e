package client

import (
	"encoding/json"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Call is what a caller passes with an event besides its payload.
type Call struct {
	// By is the caller; a machine without actors only records it.
	By fsm.Caller
	// IdempotencyKey makes firing again safe: after an event with it was accepted, the same key
	// returns that outcome and changes nothing. It is kept for ever. Each caller (By) has its own
	// keys. The same key with another event, payload or record is an error; but a creation returns
	// the record that it created, also if this call has another id. It may have 1,024 bytes. "":
	// none.
	IdempotencyKey string
	// IfVersion is the version that the record must have when the event is stored; 0: any. At
	// another version the call fails and changes nothing. A key that was accepted before returns
	// its outcome whatever the version is. Inside a transaction it is the version after the
	// transaction's events so far. Create returns an error for it.
	IfVersion int64
	// Correlation identifies everything that this call causes: it is in histories, dispatches and
	// logs, and in the events that follow. "": the engine makes one.
	Correlation string
}

// Apply makes a Call an Option: it replaces the whole Call.
func (c Call) Apply(to *Call) { *to = c }

// Option sets a part of a Call. An Actor of a generated package is an Option that names the
// caller, and a Call is an Option.
type Option interface{ Apply(*Call) }

type option func(*Call)

func (o option) Apply(c *Call) { o(c) }

// By names the caller. A machine with actors has functions for that in its own package, which know
// its roles.
func By(caller fsm.Caller) Option { return option(func(c *Call) { c.By = caller }) }

// Key makes firing again safe: see [Call].
func Key(key string) Option { return option(func(c *Call) { c.IdempotencyKey = key }) }

// IfVersion fires only at a record of this version: see [Call].
func IfVersion(version int64) Option { return option(func(c *Call) { c.IfVersion = version }) }

// Correlation identifies everything that the event causes: see Call.
func Correlation(id string) Option { return option(func(c *Call) { c.Correlation = id }) }

// CallOf returns a Call with the options applied in order.
func CallOf(with ...Option) (c Call) {
	for _, o := range with {
		o.Apply(&c)
	}
	return c
}

// Outcome is an accepted event. R is the type of the record.
type Outcome[R any] struct {
	ID      string     // of the record: that of the call, unless a creation is Replayed
	Record  R          // after the event
	Version int64      // of the record after the event
	Steps   []fsm.Step // the transitions taken
	// AlreadyThere reports that the record was in the state to which the event leads. Nothing
	// changed, and a key is still unused.
	AlreadyThere bool
	// Replayed reports that an earlier call with the same key was accepted. Version is the version
	// after that event; Record is the current record.
	Replayed    bool
	Correlation string
	// Err, only in the outcomes of a batch, is why this event was not accepted. The other fields
	// are empty then.
	Err error
	// Pending is for the engine: what it does after the commit of the caller's transaction.
	Pending any
}

// Snapshot is a record as it was read. R is the type of the record.
type Snapshot[R any] struct {
	ID        string
	Record    R // the zero value where Err is not nil
	Version   int64
	EnteredAt time.Time // when its state was entered
	Err       error     // in lists: the row can't be read
}

// HistoryRow is one transition taken: a row of the history.
type HistoryRow struct {
	EventID     fsm.UUID
	Version     int64 // after the step; 1: creation
	Transition  string
	From        string // "": creation; null in the history
	Event       string
	To          string
	By          fsm.Caller // the role is null where empty, and so is the id
	Payload     json.RawMessage
	Correlation string
	At          time.Time
	Forced      *Forced // by an operator: a row of fsm_forced; nil: it was not
}

// Forced names the operator that forced a step, and the reason.
type Forced struct{ Who, Why string }

// Firing is one event of a batch, with the names of the machine and the event as text.
type Firing struct {
	Machine string
	ID      string
	Event   fsm.Payload
	Call    Call
	Create  bool // the event makes the record, as with Create
}
