package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// fatal handles an accepted event that could not be recorded, because the database refused it or a
// handler inside the transaction failed. The event is rolled back by now. If the machine has a
// fatal event, it is fired once, in its own transaction. fatal returns the cause either way. If
// the transaction itself broke (ErrStore) or lost against another (ErrConflict), no fatal event is
// fired.
func (e *Engine[T]) fatal(ctx context.Context, r request[T], cause error) error {
	var handler *HandlerError
	recordable := !errors.Is(cause, ErrRefused) && !errors.As(cause, &handler)
	if recordable || errors.Is(cause, ErrStore) || errors.Is(cause, ErrConflict) || ctx.Err() != nil {
		return cause
	}
	e.count(r.machine.Name(), MetricFatal, "event", r.event.Name)
	var record fsm.Record // after the fatal event; nil: there was none
	defer func() {
		phase, kind := "record", "refused"
		if handler != nil {
			phase, kind = handler.Effect, "handler"
		}
		e.observed(r.machine, fsm.OfFatal, 0, record, "event", r.event.Name, "phase", phase, "error_type", kind)
	}()
	event, ok := r.machine.FatalEvent()
	if !ok || r.create || event.Name == r.event.Name {
		return cause
	}
	f := request[T]{
		machine: r.machine, id: r.id, idValue: r.idValue, event: event,
		by: fsm.System(), correlation: r.correlation, now: e.now(),
	}
	o, err := e.apply(ctx, f)
	if err != nil {
		return errors.Join(cause, fmt.Errorf("and %s could not be fired: %w", event.Name, err))
	}
	record = o.Record
	return cause
}
