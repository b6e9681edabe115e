package engine

import (
	"context"
	"errors"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// OperationKind tells what an engine is at.
type OperationKind string

// The kinds of operations.
const (
	OpCreate   OperationKind = "create"   // an event that makes a record, of a caller
	OpFire     OperationKind = "fire"     // an event, of a caller or of a task
	OpBatch    OperationKind = "batch"    // many events in a few transactions
	OpEffect   OperationKind = "effect"   // a message in the hands of a worker, with all that comes of it
	OpHandle   OperationKind = "handle"   // a handler, for as long as the engine waits for it
	OpDeadline OperationKind = "deadline" // a due deadline in the hands of a worker
)

// Operation is something that takes time and has an outcome: what a trace shows
// as a span. Fields that do not apply are empty.
type Operation struct {
	Kind        OperationKind
	Machine     string
	Record      string
	Name        string // of the event or the effect
	Correlation string
	Attempt     int // of an effect, from 1
	Size        int // of a batch
}

// TraceFunc is told that an operation begins. The context it returns is used
// for the operation, and so for handlers and the operations within; end is
// called once with the outcome. Both must be quick, safe for concurrent use, and
// not panic.
type TraceFunc func(ctx context.Context, op Operation) (traced context.Context, end func(error))

// untraced is the TraceFunc of an engine that nobody traces.
func untraced(ctx context.Context, _ Operation) (context.Context, func(error)) {
	return ctx, func(error) {}
}

// operation is r as a trace shows it.
func (r request[T]) operation() Operation {
	op := Operation{Kind: OpFire, Machine: r.machine.Name(), Record: r.id, Name: r.event.Name, Correlation: r.correlation}
	if r.create {
		op.Kind = OpCreate
	}
	return op
}

// refusals joins what a batch refused, for its trace.
func refusals(outcomes []Outcome) error {
	var errs []error
	for _, o := range outcomes {
		errs = append(errs, o.Err)
	}
	return errors.Join(errs...)
}

// operationOf returns t as a trace shows it.
func operationOf(t store.Task) Operation {
	if t.Kind == store.TaskDeadline {
		d := t.Deadline
		return Operation{Kind: OpDeadline, Machine: d.Machine, Record: d.RecordID, Name: d.Event.Name, Correlation: d.Correlation}
	}
	m := t.Effect
	return Operation{
		Kind: OpEffect, Machine: m.Machine, Record: m.RecordID, Name: m.Effect, Correlation: m.Correlation, Attempt: int(m.Attempts) + 1,
	}
}
