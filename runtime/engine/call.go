package engine

import (
	"context"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Call is what a caller says about an event besides its payload.
type Call struct {
	// By is who fires; a machine without actors records it only.
	By fsm.Caller
	// Key makes firing again safe: once an event with it was accepted, the same
	// key answers with that outcome and changes nothing. It is kept for ever. Each
	// caller (By) has keys of its own. The same key with another event, payload or
	// record is a *KeyError; but a creation with it answers with the record that it
	// created, also where this call has another id. It may have 1,024 bytes.
	// "": none.
	IdempotencyKey string
	// IfVersion, unless it is 0, is the version that the record must have when the
	// event is stored: at any other nothing is changed, and the error is a
	// *VersionError. A key that was accepted before answers all the same, whatever
	// the version is by then. Within Transact it is the version that the events of
	// the transaction so far lead to. Create refuses it.
	IfVersion int64
	// Correlation names the whole of what this call sets off: it is found in
	// histories, in dispatches, in logs, and in whatever they fire in turn. "":
	// one is made.
	Correlation string
}

// Outcome is an event that was accepted.
type Outcome struct {
	ID      string     // of the record: that of the call, unless a creation is Replayed
	Record  fsm.Record // after the event
	Version int64      // of the record after the event
	Steps   []fsm.Step // the transitions taken
	// AlreadyThere: the record was in the state to which the event leads.
	// Nothing was changed, and a key is still unused.
	AlreadyThere bool
	// Replayed: the event was accepted by an earlier call with the same key.
	// Version is what it led to; Record is the record as it is now.
	Replayed    bool
	Correlation string
	// Err says, in the outcomes of FireBatch only, why this event was not
	// accepted. The rest of the outcome is empty then.
	Err error

	after []func(context.Context) // log lines and metrics
	loud  bool                    // it leaves something for a worker to look for
}

// Firing is one event of a batch.
type Firing struct {
	Machine string
	ID      string
	Event   fsm.Payload
	Call    Call
	Create  bool // the event makes the record, as with Create
}
