package engine

import (
	"context"
	"errors"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// expire fires the event of a due deadline, by the system. The transaction consumes the deadline;
// if the event is refused, it is consumed alone.
//
// A deadline that was cleared or replaced meanwhile has another token, and expire changes nothing.
// If the event can't be recorded, the deadline stays and is due again when its lease ends:
// an operator may have repaired the cause by then.
func (e *Engine[T]) expire(ctx context.Context, t store.Task) error {
	row := t.Deadline
	m, err := e.lookup(row.Machine)
	if err != nil || t.Err != nil {
		return errors.Join(t.Err, err)
	}
	s := store.Settlement{Kind: store.TaskDeadline, Token: t.Token, Machine: row.Machine, RecordID: row.RecordID, Deadline: row.Kind}
	r, err := e.taskRequest(m, row.RecordID, row.Event, row.Correlation, &s)
	if err != nil {
		return err
	}
	e.observe(row.Machine, MetricDeadlineLag, r.now.Sub(row.DueAt).Seconds(), "event", row.Event.Name)
	// It was due when it was claimed. A clock that jumps back since does not
	// make its event come too early, to be refused and lost.
	r.notBefore = row.DueAt
	err = e.fireTask(ctx, r)
	var x *fsm.Rejection
	switch {
	case errors.Is(err, store.ErrLeaseLost):
		e.count(row.Machine, MetricLateDeadlines, "event", row.Event.Name)
		return nil
	case errors.Is(err, ErrNotFound), errors.As(err, &x) && !errors.Is(err, ErrRefused):
		e.count(row.Machine, MetricRefusedDeadlines, "event", row.Event.Name)
		e.config.Logger.WarnContext(ctx, "deadline refused", "machine", row.Machine, "record", row.RecordID,
			"event", row.Event.Name, "error", err, "correlation", row.Correlation)
		err = e.settle(ctx, s)
		if errors.Is(err, store.ErrLeaseLost) {
			return nil
		}
	}
	return err
}
