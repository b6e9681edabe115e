package engine

import (
	"context"
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Force fires an event in the place of whoever should have: the timeout of a state whose
// deadline got lost, the answer of an effect that nothing will give any more. It is for
// operators. The event is judged as by Fire: it must be one that the table allows in the
// record's state, and its guards and the invariants must hold.
//
// call.By is the caller in whose place the event is fired, whose role the table must
// allow; without one it is the system, who fires timeouts and answers. The history names that
// caller, and HistoryRow.Forced of the event's own step says who forced it and why. Both
// must be given.
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
