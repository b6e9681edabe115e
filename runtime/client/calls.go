package client

import (
	"context"
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Calls fires events of one machine: P is its closed set of payloads, R its record, and
// ID the type of its ids.
type Calls[ID any, P fsm.Payload, R fsm.Record] struct {
	machine string
	firer   Firer
}

// NewCalls returns the calls of a machine through a firer.
func NewCalls[ID any, P fsm.Payload, R fsm.Record](machine string, firer Firer) Calls[ID, P, R] {
	return Calls[ID, P, R]{machine: machine, firer: firer}
}

// Create makes a record by one of its creation events.
func (c Calls[ID, P, R]) Create(ctx context.Context, id ID, event P, with ...Option) (Outcome[R], error) {
	o, err := c.firer.Create(ctx, c.machine, text(id), event, CallOf(with...))
	return typed[R](c.machine, o, err)
}

// Fire applies an event to a record.
func (c Calls[ID, P, R]) Fire(ctx context.Context, id ID, event P, with ...Option) (Outcome[R], error) {
	o, err := c.firer.Fire(ctx, c.machine, text(id), event, CallOf(with...))
	return typed[R](c.machine, o, err)
}

// text is an id as the engine takes it.
func text[ID any](id ID) string { return fsm.Text(fsm.Plain(id)) }

// typed is an outcome with the type of its record.
func typed[R fsm.Record](machine string, o Outcome[fsm.Record], err error) (Outcome[R], error) {
	t := Outcome[R]{
		ID: o.ID, Version: o.Version, Steps: o.Steps, AlreadyThere: o.AlreadyThere, Replayed: o.Replayed,
		Correlation: o.Correlation, Err: o.Err, Pending: o.Pending,
	}
	if err != nil || o.Record == nil {
		return t, err
	}
	t.Record, err = recordOf[R](machine, o.Record)
	return t, err
}

// untyped is an outcome as the engine made it.
func untyped[R fsm.Record](o Outcome[R]) Outcome[fsm.Record] {
	return Outcome[fsm.Record]{
		ID: o.ID, Record: o.Record, Version: o.Version, Steps: o.Steps, AlreadyThere: o.AlreadyThere, Replayed: o.Replayed,
		Correlation: o.Correlation, Err: o.Err, Pending: o.Pending,
	}
}

// recordOf is a record of the machine that the client is of. An engine has another
// package's records where it was made with another version of the machine.
func recordOf[R fsm.Record](machine string, r fsm.Record) (R, error) {
	record, ok := r.(R)
	if !ok {
		return record, fmt.Errorf("client of %s: the engine has a %T, and not a %T: make it with this package's Define", machine, r, record)
	}
	return record, nil
}

// inTx fires within a transaction of the caller.
type inTx[Tx any] struct {
	engine Engine[Tx]
	tx     Tx
}

func (t inTx[Tx]) Create(ctx context.Context, machine, id string, event fsm.Payload, call Call) (Outcome[fsm.Record], error) {
	return t.engine.CreateTx(ctx, t.tx, machine, id, event, call)
}

func (t inTx[Tx]) Fire(ctx context.Context, machine, id string, event fsm.Payload, call Call) (Outcome[fsm.Record], error) {
	return t.engine.FireTx(ctx, t.tx, machine, id, event, call)
}
