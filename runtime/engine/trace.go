package engine

import (
	"context"
	"errors"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// OperationKind is the kind of an Operation.
type OperationKind string

// The kinds of operations.
const (
	OpCreate   OperationKind = "create"   // a creation event of a caller
	OpFire     OperationKind = "fire"     // an event of a caller or a task
	OpBatch    OperationKind = "batch"    // many events in a few transactions
	OpEffect   OperationKind = "effect"   // a message in a worker, with its settlement
	OpHandle   OperationKind = "handle"   // a handler, for as long as the engine waits for it
	OpDeadline OperationKind = "deadline" // a due deadline in a worker
)

// Operation is a unit of work with a duration and an outcome: a span of a trace. Fields that do
// not apply are empty.
type Operation struct {
	Kind        OperationKind
	Machine     string
	Record      string
	Name        string // of the event or the effect
	Correlation string
	Attempt     int // of an effect, from 1
	Size        int // of a batch
}

// TraceFunc is called when an operation begins. The operation, its handlers and the operations
// inside it use the context that it returns. end is called once with the outcome. Both must be
// quick, safe for concurrent use, and must not panic.
type TraceFunc func(ctx context.Context, op Operation) (traced context.Context, end func(error))

// untraced is the TraceFunc of an engine without one.
func untraced(ctx context.Context, _ Operation) (context.Context, func(error)) {
	return ctx, func(error) {}
}

// operation returns r as a trace shows it.
func (r request[T]) operation() Operation {
	op := Operation{Kind: OpFire, Machine: r.machine.Name(), Record: r.id, Name: r.event.Name, Correlation: r.correlation}
	if r.create {
		op.Kind = OpCreate
	}
	return op
}

// refusals joins the errors of a batch, for its trace.
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
