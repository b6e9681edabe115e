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
	// key answers with that outcome and changes nothing. It is kept for ever.
	// "": none.
	Key string
	// Correlation names the whole of what this call sets off: it is found in
	// histories, in dispatches, in logs, and in whatever they fire in turn. "":
	// one is made.
	Correlation string
}

// Outcome is an event that was accepted.
type Outcome struct {
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
