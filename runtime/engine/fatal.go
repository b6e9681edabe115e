package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// fatal handles an event that was accepted and could not be recorded: the
// database refused it, or a handler inside the transaction failed. The event is
// rolled back by now; if the machine has a fatal event, that one is fired once,
// in a transaction of its own. The cause is returned either way. A handler whose
// transaction broke under it (ErrStore), or was given up for the sake of another
// (ErrConflict), says nothing about the event.
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
