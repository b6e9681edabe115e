package engine

import (
	"context"
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Force lets an operator fire an event in place of another caller: the timeout of a state whose
// deadline was lost, or the answer of an effect that nothing will give. The table applies to the event
// as in Fire: it must be legal in the record's state, and its guards and the invariants must hold.
//
// call.By is the caller that the operator stands in for. The table must allow its role. Without
// it, the caller is the system, which fires timeouts and answers. The history names that caller,
// and HistoryRow.Forced of the event's own step names who and why. Both must be given.
func (e *Engine[T]) Force(ctx context.Context, machine, id string, event fsm.Payload, who, why string, call Call) (o Outcome, err error) {
	if call.By == (fsm.Caller{}) {
		call.By = fsm.System()
	}
	f := Firing{Machine: machine, ID: id, Event: event, Call: call}
	if err := checkNested(ctx); err != nil {
		return Outcome{}, err
	}
	if err := checkReason(who, why); err != nil {
		return Outcome{}, describe(f, fmt.Errorf("force: %w", err))
	}
	if err := e.synchronise(ctx); err != nil {
		return Outcome{}, describe(f, fmt.Errorf("force: %w", err))
	}
	r, err := e.request(f)
	if err != nil {
		return Outcome{}, describe(f, fmt.Errorf("force: %w", err))
	}
	r.forced = &Forced{Who: tidy(who), Why: tidy(why)}
	ctx, end := e.config.Trace(ctx, r.operation())
	defer func() { end(err) }()
	if o, err = e.fire(ctx, r); err != nil {
		return o, describe(f, fmt.Errorf("force %s: %w", r.event.Name, err))
	}
	if len(o.Steps) > 0 {
		e.config.Logger.WarnContext(ctx, "a step was forced", "machine", machine, "record", r.id, "event", r.event.Name, "by", r.by.Role,
			"from", o.Steps[0].From, "to", o.Steps[0].To, "who", who, "why", why, "correlation", r.correlation)
	}
	return o, nil
}
