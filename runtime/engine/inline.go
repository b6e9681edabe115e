package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// InlineFunc carries out effects of one name within a transaction: all that the
// events of the transaction ask for at this moment, each of another record. It
// returns an answer for each, in their order; nil leaves the effect to a worker, as
// if it had not been tried.
//
// It works in tx alone, neither commits nor rolls back, and returns the error of a
// statement that failed: the transaction is then done again without. The steps that
// ask for the effects are decided; the database may not have them yet. The payloads
// are not to be changed.
type InlineFunc[T any] func(ctx context.Context, tx T, effects []fsm.Dispatch) ([]*fsm.Event, error)

// Inline has an effect carried out within the transaction of the step that asks for
// it, and its answer applied there: one that is idempotent or keyed, that has an
// answer, and whose handler would work in the database of the store alone. It is
// never a row of the outbox then, and no crash comes in between.
//
// It is an attempt. Where f has no answer or fails, where the answer is refused or
// can't be written, and where something stands before the effect in its lane, it is
// left to a worker and to the handler, with all that its policy says. FireTx and
// CreateTx carry out nothing. Inline is called before the engine is used.
func (e *Engine[T]) Inline(machine, effect string, f InlineFunc[T]) error {
	m, err := e.lookup(machine)
	if err != nil {
		return err
	}
	info, known := m.effects[effect]
	repeats := info.Delivery == fsm.Idempotent || info.Delivery == fsm.Keyed
	if !known || info.Kind != fsm.EffectCall || !info.Work || !repeats || info.Cleanup != "" {
		return fmt.Errorf("engine: %s of machine %s is no effect with an answer, idempotent or keyed, and without a cleanup", effect, machine)
	}
	m.inline[effect] = f
	e.inlines = true
	return nil
}

// inlineTurns bounds how far a transaction goes on with what its effects answer: a
// table may lead in a circle.
const inlineTurns = 16

// declinedError is an error of a transaction in which effects were carried out. It
// is undone, and done again without.
type declinedError struct{ err error }

func (e *declinedError) Error() string { return e.err.Error() }

func (e *declinedError) Unwrap() error { return e.err }

// declined is an error of the end of a transaction in which effects were carried
// out, to which it may be due. It is not known of a store that failed whether the
// transaction is undone.
func declined(err error) error {
	if errors.Is(err, store.ErrStore) {
		return err
	}
	return &declinedError{err}
}

func (e *Engine[T]) tellDeclined(ctx context.Context, d *declinedError) {
	e.config.Logger.WarnContext(ctx, "the effects of a transaction are left to a worker", "error", d.err)
}

// carryOut carries out the effects that Inline names, and what their answers ask
// for in turn.
func (s *scope[T]) carryOut(ctx context.Context) error {
	if !s.inline {
		return nil
	}
	tried := map[string]bool{}
	for range inlineTurns {
		rows := s.due(tried)
		if len(rows) == 0 {
			break
		}
		s.inlined = true
		err := s.perform(ctx, rows)
		for _, row := range rows {
			s.engine.leaveInline(row)
		}
		if err != nil {
			return &declinedError{fmt.Errorf("effect %s of %d records of machine %s, %s the first: %w", rows[0].Effect, len(rows), rows[0].Machine, rows[0].RecordID, err)}
		}
	}
	return nil
}

// due are the effects of one name that can be carried out now, and were not tried
// before.
func (s *scope[T]) due(tried map[string]bool) (due []store.OutboxMessage) {
	for i := range s.drafts {
		for _, row := range s.drafts[i].heads() {
			switch {
			case tried[row.MessageID] || s.engine.machines[row.Machine].inline[row.Effect] == nil:
			case len(due) > 0 && (due[0].Machine != row.Machine || due[0].Effect != row.Effect):
			default:
				tried[row.MessageID] = true
				if s.engine.pauses.begin(*row) && s.engine.enterInline(*row) {
					due = append(due, *row)
				}
			}
		}
	}
	return due
}

// enterInline takes a place at the destination of an inline effect, if that has a limit
// of its own: the default limits the effects of workers alone. Without a place the
// effect is left to a worker.
func (e *Engine[T]) enterInline(row store.OutboxMessage) bool {
	return !e.destinations.isSet(row.Destination) || e.destinations.take(row.Destination)
}

func (e *Engine[T]) leaveInline(row store.OutboxMessage) {
	if e.destinations.isSet(row.Destination) && e.destinations.leave(row.Destination) {
		e.crew.wake()
	}
}

// perform carries out effects of one name and applies their answers.
func (s *scope[T]) perform(ctx context.Context, rows []store.OutboxMessage) error {
	m := s.engine.machines[rows[0].Machine]
	dispatches := make([]fsm.Dispatch, len(rows))
	for i, row := range rows {
		dispatches[i] = dispatchOf(row, 1)
	}
	answers, err := s.handle(ctx, m.inline[rows[0].Effect], dispatches)
	if err != nil {
		return err
	}
	for i, row := range rows {
		if answers[i] == nil {
			continue
		}
		if err := s.conclude(ctx, m, row, *answers[i]); err != nil {
			return err
		}
	}
	return nil
}

// handle calls f and waits for it: it must not be at the transaction when somebody
// else is.
func (s *scope[T]) handle(ctx context.Context, f InlineFunc[T], effects []fsm.Dispatch) (answers []*fsm.Event, err error) {
	ctx, cancel := context.WithTimeout(inside(ctx), s.engine.config.HandlerTimeout)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	answers, err = f(ctx, s.tx, effects)
	if err == nil && len(answers) != len(effects) {
		err = fmt.Errorf("%d answers to %d effects", len(answers), len(effects))
	}
	return answers, err
}

// conclude ends an effect that was carried out with its answer. What the record
// refuses is left to a worker, who knows what to do then.
func (s *scope[T]) conclude(ctx context.Context, m *definition[T], row store.OutboxMessage, event fsm.Event) (err error) {
	ctx, end := s.engine.config.Trace(ctx, operationOf(store.Task{Kind: store.TaskEffect, Effect: row}))
	defer func() { end(err) }()
	p, err := s.answer(ctx, m, row, event)
	var refused *fsm.Rejection
	if errors.As(err, &refused) {
		return nil
	}
	if err != nil {
		return err
	}
	d := s.find(place{row.Machine, row.RecordID})
	d.Outbox = slices.DeleteFunc(d.Outbox, func(other store.OutboxMessage) bool { return other.MessageID == row.MessageID })
	pendingOf(&p.outcome).then(func(context.Context) {
		s.engine.count(m.Name(), MetricAttempts, "effect", row.Effect, "outcome", "delivered")
	})
	s.add(p)
	return nil
}

// answer decides the event that an effect answers with.
func (s *scope[T]) answer(ctx context.Context, m *definition[T], row store.OutboxMessage, event fsm.Event) (p plan[T], err error) {
	r, err := s.engine.taskRequest(m, row.RecordID, event, row.Correlation, nil)
	if err != nil {
		return p, err
	}
	ctx, end := s.engine.config.Trace(ctx, r.operation())
	defer func() { end(err) }()
	if err := s.engine.checkSize(r); err != nil {
		return p, err
	}
	return s.consider(ctx, r)
}
