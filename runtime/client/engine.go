package client

import (
	"context"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Firer applies events to records: an engine, or a transaction of one.
type Firer interface {
	// Create makes a record by one of its creation events.
	Create(ctx context.Context, machine, id string, event fsm.Payload, call Call) (Outcome[fsm.Record], error)
	// Fire applies an event to a record.
	Fire(ctx context.Context, machine, id string, event fsm.Payload, call Call) (Outcome[fsm.Record], error)
}

// Engine runs machines. Tx is the type of the caller's transactions.
type Engine[Tx any] interface {
	Firer
	// CreateTx is Create within the caller's transaction.
	CreateTx(ctx context.Context, tx Tx, machine, id string, event fsm.Payload, call Call) (Outcome[fsm.Record], error)
	// FireTx is Fire within the caller's transaction.
	FireTx(ctx context.Context, tx Tx, machine, id string, event fsm.Payload, call Call) (Outcome[fsm.Record], error)
	// Committed is called once the transaction of CreateTx and FireTx is committed.
	Committed(ctx context.Context, outcomes ...Outcome[fsm.Record])
	// FireBatch applies many events, with an outcome each.
	FireBatch(ctx context.Context, firings []Firing) ([]Outcome[fsm.Record], error)

	// Get returns a record.
	Get(ctx context.Context, machine, id string) (Snapshot[fsm.Record], error)
	// List returns records of a machine in a state, or in any if state is "", by
	// ascending id, above the id after.
	List(ctx context.Context, machine, state, after string, limit int) ([]Snapshot[fsm.Record], error)
	// History returns the steps of a record in their order, those above version after.
	History(ctx context.Context, machine, id string, after int64, limit int) ([]HistoryRow, error)
	// Legal reports which events a caller may fire at a record now, and why not the others.
	Legal(ctx context.Context, machine, id string, by fsm.Caller) ([]fsm.Verdict, Snapshot[fsm.Record], error)
}
