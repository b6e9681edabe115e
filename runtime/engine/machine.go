package engine

import (
	"context"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// Machine is a generated machine with its handlers. Each generated package has a Definition that
// implements it. Its methods are safe for concurrent use. All but HandleTx, Handle and Query are
// pure.
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
	// Legal returns a verdict on every event of the machine for a caller at r, in spec order. A
	// caller that the machine does not know is an error.
	Legal(r fsm.Record, by fsm.Caller, now time.Time) ([]fsm.Verdict, error)
	// DeadlineOf returns the deadline of r's state if it was entered at the given time; nil for
	// none. Resume uses it to restore a lost deadline.
	DeadlineOf(r fsm.Record, entered time.Time) *fsm.Deadline
	// Owns reports whether p is a payload struct of this machine.
	Owns(p fsm.Payload) bool
	// KeyOf returns the event's own idempotency key. r is nil for a creation.
	KeyOf(e fsm.Event, r fsm.Record) (string, bool)
	// FatalEvent returns the event to fire when an accepted event could not be recorded.
	FatalEvent() (fsm.Event, bool)

	// HandleTx carries out a call whose delivery is transaction.
	HandleTx(ctx context.Context, tx T, d fsm.Dispatch) error
	// Handle carries out any other call. A nil event is the success of an effect without an
	// answer.
	Handle(ctx context.Context, d fsm.Dispatch) (*fsm.Event, error)
	// Query asks whether a queryable effect has happened. done is false if it has not, also if
	// there was no attempt.
	Query(ctx context.Context, d fsm.Dispatch) (answer *fsm.Event, done bool, err error)
	// CleanupOf returns the effect that runs before the given one is repeated and before it fails.
	// Its payload is taken from the current record.
	CleanupOf(effect string, r fsm.Record, now time.Time) (fsm.Effect, bool)
	// FailEvent returns the event to fire when the effect has failed for good; nil for none.
	FailEvent(effect, message string) *fsm.Event
	// LostEvent returns the event to fire when an attempt with an unknown outcome can't be
	// repeated; nil for none.
	LostEvent(effect string) *fsm.Event
	// TableWrite returns an effect on a table as data.
	TableWrite(e fsm.Effect) (fsm.TableWrite, error)
	// StartOf returns the creation that an effect of kind start asks for.
	StartOf(e fsm.Effect) (fsm.Start, error)
}
