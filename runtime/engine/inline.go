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

// InlineFunc carries out effects of one name inside a transaction: all that its events ask for so
// far, each of another record. It returns an answer for each, in order. A nil answer leaves the
// effect to a worker.
//
// It works in tx alone, neither commits nor rolls back, and returns the error of a statement that
// failed; the transaction is then repeated without inline effects. The steps that ask for the
// effects are decided, but the database may not have them yet. It must not change the payloads.
type InlineFunc[T any] func(ctx context.Context, tx T, effects []fsm.Dispatch) ([]*fsm.Event, error)

// Inline registers f to carry out an effect inside the transaction of the step that asks for it,
// and to apply its answer there. The effect must be idempotent or keyed and have an answer, and
// its handler must work in the store's database alone. An effect carried out inline is no message,
// and no crash comes between it and its answer.
//
// Inline is an attempt. If f returns no answer or an error, if the answer is refused or can't be
// written, or if an earlier message with the same ordering key is pending, a worker carries the
// effect out with its handler and its policy. FireTx and CreateTx carry out no inline effects.
// Call Inline before the engine is used.
func (e *Engine[T]) Inline(machine, effect string, f InlineFunc[T]) error {
	m, err := e.lookup(machine)
	if err != nil {
		return err
	}
	info, known := m.effects[effect]
	if !known || !info.InOutbox() || !info.Work || !info.Delivery.RepeatsUnasked() || info.Cleanup != "" {
		return fmt.Errorf("engine: %s of machine %s can't be inline: it must be an idempotent or keyed effect with an answer and without a cleanup", effect, machine)
	}
	m.inline[effect] = f
	e.inlines = true
	return nil
}

// inlineTurns bounds how often inline effects ask for further inline effects in one transaction: a
// table may contain a cycle.
const inlineTurns = 16

// declinedError is an error of a transaction with inline effects. The transaction is rolled back
// and repeated without them.
type declinedError struct{ err error }

func (e *declinedError) Error() string { return e.err.Error() }

func (e *declinedError) Unwrap() error { return e.err }

// declined marks an error at the end of a transaction with inline effects, which may have caused
// it. ErrStore is not marked: the transaction may be committed.
func declined(err error) error {
	if errors.Is(err, ErrStore) {
		return err
	}
	return &declinedError{err}
}

func (e *Engine[T]) tellDeclined(ctx context.Context, d *declinedError) {
	e.config.Logger.WarnContext(ctx, "the effects of a transaction are left to a worker", "error", d.err)
}

// carryOut carries out the inline effects of the transaction, and those that their answers ask
// for.
func (t *txn[T]) carryOut(ctx context.Context) error {
	if !t.inline {
		return nil
	}
	tried := map[string]bool{}
	for range inlineTurns {
		messages := t.due(tried)
		if len(messages) == 0 {
			break
		}
		t.inlined = true
		err := t.perform(ctx, messages)
		for _, msg := range messages {
			t.engine.leaveInline(msg)
		}
		if err != nil {
			return &declinedError{fmt.Errorf("effect %s of %d records of machine %s, %s the first: %w", messages[0].Effect, len(messages), messages[0].Machine, messages[0].RecordID, err)}
		}
	}
	return nil
}

// due returns the messages of one effect that can be carried out inline now and were not tried
// before.
func (t *txn[T]) due(tried map[string]bool) (due []OutboxMessage) {
	for i := range t.pending {
		for _, msg := range t.pending[i].heads() {
			switch {
			case tried[msg.MessageID] || t.engine.machines[msg.Machine].inline[msg.Effect] == nil:
			case len(due) > 0 && (due[0].Machine != msg.Machine || due[0].Effect != msg.Effect):
			default:
				tried[msg.MessageID] = true
				if t.engine.pauses.allow(*msg) && t.engine.enterInline(*msg) {
					due = append(due, *msg)
				}
			}
		}
	}
	return due
}

// enterInline takes a slot at the destination of an inline effect, if Config.Limits names that
// destination: the default limits the effects of workers alone. Without a slot the effect is left
// to a worker.
func (e *Engine[T]) enterInline(msg OutboxMessage) bool {
	return !e.destinations.isSet(msg.Destination) || e.destinations.take(msg.Destination)
}

func (e *Engine[T]) leaveInline(msg OutboxMessage) {
	if e.destinations.isSet(msg.Destination) && e.destinations.leave(msg.Destination) {
		e.workers.wake()
	}
}

// perform carries out messages of one effect and applies their answers.
func (t *txn[T]) perform(ctx context.Context, messages []OutboxMessage) error {
	m := t.engine.machines[messages[0].Machine]
	dispatches := make([]fsm.Dispatch, len(messages))
	for i, msg := range messages {
		dispatches[i] = dispatchOf(msg, 1)
	}
	answers, err := t.handle(ctx, m.inline[messages[0].Effect], dispatches)
	if err != nil {
		return err
	}
	for i, msg := range messages {
		if answers[i] == nil {
			continue
		}
		if err := t.conclude(ctx, m, msg, *answers[i]); err != nil {
			return err
		}
	}
	return nil
}

// handle calls f and waits for it, since nothing else may use the transaction meanwhile.
func (t *txn[T]) handle(ctx context.Context, f InlineFunc[T], effects []fsm.Dispatch) (answers []*fsm.Event, err error) {
	ctx, cancel := context.WithTimeout(inside(ctx), t.engine.config.HandlerTimeout)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	answers, err = f(ctx, t.tx, effects)
	if err == nil && len(answers) != len(effects) {
		err = fmt.Errorf("%d answers to %d effects", len(answers), len(effects))
	}
	return answers, err
}

// conclude applies the answer of an inline effect and removes its message. If the record refuses
// the answer, the message stays for a worker.
func (t *txn[T]) conclude(ctx context.Context, m *definition[T], msg OutboxMessage, event fsm.Event) (err error) {
	ctx, end := t.engine.config.Trace(ctx, operationOf(store.Task{Kind: store.TaskEffect, Effect: msg}))
	defer func() { end(err) }()
	p, err := t.answer(ctx, m, msg, event)
	var refused *fsm.Rejection
	if errors.As(err, &refused) {
		return nil
	}
	if err != nil {
		return err
	}
	w := t.find(place{msg.Machine, msg.RecordID})
	w.Outbox = slices.DeleteFunc(w.Outbox, func(other OutboxMessage) bool { return other.MessageID == msg.MessageID })
	pendingOf(&p.outcome).then(func(context.Context) {
		t.engine.count(m.Name(), MetricAttempts, "effect", msg.Effect, "outcome", "delivered")
	})
	t.add(p)
	return nil
}

// answer decides the event with which an effect answers.
func (t *txn[T]) answer(ctx context.Context, m *definition[T], msg OutboxMessage, event fsm.Event) (p plan[T], err error) {
	r, err := t.engine.taskRequest(m, msg.RecordID, event, msg.Correlation, nil)
	if err != nil {
		return p, err
	}
	ctx, end := t.engine.config.Trace(ctx, r.operation())
	defer func() { end(err) }()
	if err := t.engine.checkSize(r); err != nil {
		return p, err
	}
	return t.consider(ctx, r)
}
