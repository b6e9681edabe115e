package engine

import (
	"context"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// Machine is a generated machine together with its handlers. Each generated
// package has a Definition that is one; nobody writes one by hand. Its methods
// are safe for concurrent use, and pure but for HandleTx, Handle and Query.
type Machine[T any] interface {
	store.Machine
	// States lists every state in spec order.
	States() []string
	// TerminalStates lists the states that no transition leaves.
	TerminalStates() []string
	// Blank returns a record to scan into.
	Blank() fsm.Record
	// ParseID reads the text form of an id; the result is what [fsm.Plain] takes.
	ParseID(text string) (any, error)

	// Create decides a creation. The error is a *fsm.Rejection.
	Create(id string, e fsm.Event, in fsm.Input) (fsm.Decision, error)
	// Fire decides an event. r is not changed. The error is a *fsm.Rejection.
	Fire(r fsm.Record, e fsm.Event, in fsm.Input) (fsm.Decision, error)
	// Legal judges every event of the machine for a caller at r, in spec order. A
	// caller that the machine does not know is an error.
	Legal(r fsm.Record, by fsm.Caller, now time.Time) ([]fsm.Verdict, error)
	// DeadlineOf returns the deadline that the state of r has if it was entered at
	// the given time; nil for none. The engine arms with it what got lost.
	DeadlineOf(r fsm.Record, entered time.Time) *fsm.Deadline
	// KeyOf returns the idempotency key that the event itself has. r is nil
	// for a creation.
	KeyOf(e fsm.Event, r fsm.Record) (string, bool)
	// FatalEvent returns the event that is fired when an accepted event could
	// not be recorded.
	FatalEvent() (fsm.Event, bool)

	// HandleTx carries out a call whose delivery is transaction.
	HandleTx(ctx context.Context, tx T, d fsm.Dispatch) error
	// Handle carries out any other call. A nil event is the success of an
	// effect that answers nothing.
	Handle(ctx context.Context, d fsm.Dispatch) (*fsm.Event, error)
	// Query asks whether a queryable effect has happened. done is false where
	// it has not, also because no attempt was made.
	Query(ctx context.Context, d fsm.Dispatch) (answer *fsm.Event, done bool, err error)
	// CleanupOf returns the effect that runs before the given one is repeated
	// and before it fails, with its payload from the record as it is.
	CleanupOf(effect string, r fsm.Record, now time.Time) (fsm.Effect, bool)
	// FailEvent returns what is fired when the effect has failed for good; nil
	// for nothing.
	FailEvent(effect, message string) *fsm.Event
	// LostEvent returns what is fired when an attempt with an unknown outcome
	// can't be repeated; nil for nothing.
	LostEvent(effect string) *fsm.Event
	// TableWrite returns an effect on a table as data.
	TableWrite(e fsm.Effect) (fsm.TableWrite, error)
	// StartOf returns the creation that an effect of kind start asks for.
	StartOf(e fsm.Effect) (fsm.Start, error)
}
