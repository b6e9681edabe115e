package client

import (
	"encoding/json"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Call is what a caller says about an event besides its payload.
type Call struct {
	// By is who fires; a machine without actors records it only.
	By fsm.Caller
	// IdempotencyKey makes firing again safe: once an event with it was accepted, the same
	// key answers with that outcome and changes nothing. It is kept for ever. Each
	// caller (By) has keys of its own. The same key with another event, payload or
	// record is an error; but a creation with it answers with the record that it
	// created, also where this call has another id. It may have 1,024 bytes.
	// "": none.
	IdempotencyKey string
	// IfVersion, unless it is 0, is the version that the record must have when the
	// event is stored: at any other nothing is changed, and the call fails. A key that
	// was accepted before answers all the same, whatever the version is by then. In a
	// transaction it is the version that the events of the transaction so far lead to.
	// Create refuses it.
	IfVersion int64
	// Correlation names the whole of what this call sets off: it is found in
	// histories, in dispatches, in logs, and in whatever they fire in turn. "":
	// one is made.
	Correlation string
}

// Apply makes a Call an option too: all of it, also what is not set.
func (c Call) Apply(to *Call) { *to = c }

// Option says something about an event besides its payload. An Actor of a generated
// package is one, which says who fires, and so is a Call.
type Option interface{ Apply(*Call) }

type option func(*Call)

func (o option) Apply(c *Call) { o(c) }

// By says who fires. A machine with actors has functions of its own for that, which
// know its roles.
func By(caller fsm.Caller) Option { return option(func(c *Call) { c.By = caller }) }

// Key makes firing again safe: see [Call].
func Key(key string) Option { return option(func(c *Call) { c.IdempotencyKey = key }) }

// IfVersion fires only at a record of this version: see [Call].
func IfVersion(version int64) Option { return option(func(c *Call) { c.IfVersion = version }) }

// Correlation names the whole of what the event sets off: see [Call].
func Correlation(id string) Option { return option(func(c *Call) { c.Correlation = id }) }

// CallOf gathers options. Of two that say the same thing the later one counts.
func CallOf(with ...Option) (c Call) {
	for _, o := range with {
		o.Apply(&c)
	}
	return c
}

// Outcome is an event that was accepted. R is the type of the record.
type Outcome[R any] struct {
	ID      string     // of the record: that of the call, unless a creation is Replayed
	Record  R          // after the event
	Version int64      // of the record after the event
	Steps   []fsm.Step // the transitions taken
	// AlreadyThere: the record was in the state to which the event leads.
	// Nothing was changed, and a key is still unused.
	AlreadyThere bool
	// Replayed: the event was accepted by an earlier call with the same key.
	// Version is what it led to; Record is the record as it is now.
	Replayed    bool
	Correlation string
	// Err says, in the outcomes of a batch only, why this event was not
	// accepted. The rest of the outcome is empty then.
	Err error
	// Pending belongs to the engine: what it does when the transaction of the caller is
	// committed.
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

// Forced says who forced a step, and why.
type Forced struct{ Who, Why string }

// Firing is one event of a batch, with the names of the machine and the event as text.
type Firing struct {
	Machine string
	ID      string
	Event   fsm.Payload
	Call    Call
	Create  bool // the event makes the record, as with Create
}
