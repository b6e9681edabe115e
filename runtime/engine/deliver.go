package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// deliver carries out one effect and stores the outcome. It calls handled between the two, unless
// the effect has failed.
func (e *Engine[T]) deliver(ctx context.Context, t task, handled func()) error {
	msg, now := t.Effect, e.now()
	if !now.Before(t.until) { // it waited too long for its turn: another worker may have it
		return store.ErrLeaseLost
	}
	m, err := e.lookup(msg.Machine)
	if err != nil {
		return err
	}
	info, known := m.effects[msg.Effect]
	task, err := claimed(msg, t.Token, e.policy(info), now)
	task.known = t.known
	switch {
	case err != nil:
		return errors.Join(t.Err, err)
	case t.Err != nil:
		return e.giveUp(ctx, task, t.Err)
	case !known || !info.InOutbox():
		return e.giveUp(ctx, task, fsm.UnknownEffect(msg.Machine, msg.Effect))
	}
	e.observe(msg.Machine, MetricOutboxLag, now.Sub(msg.AvailableAt.Or(msg.CreatedAt)).Seconds(), "effect", msg.Effect)
	lease := e.keepLease(ctx, task, t.until)
	defer lease.stop()
	r := e.attemptLocked(lease.working, m, info, task)
	if context.Cause(lease.working) == nil {
		e.report(ctx, info, msg, r.err)
	}
	switch {
	case r.err == nil:
		handled()
		return e.succeed(ctx, m, task, r)
	case errors.Is(context.Cause(lease.working), store.ErrLeaseLost), errors.Is(r.err, store.ErrLeaseLost):
		return store.ErrLeaseLost
	case ctx.Err() != nil:
		return e.interrupt(ctx, info, task, r.err)
	}
	return e.fail(ctx, m, info, task, r.err)
}

// report counts the result of an attempt for the breaker of its destination. An error that a
// repeat would meet again is an answer of the destination, not a failure of it.
func (e *Engine[T]) report(ctx context.Context, info fsm.EffectInfo, msg OutboxMessage, err error) {
	open, changed := e.destinations.report(msg.Destination, err != nil && (unknownOutcome(err) || repeatable(info, err)))
	if !changed {
		return
	}
	state, level, message := 0.0, slog.LevelInfo, "the destination works again"
	if open {
		state, level, message = 1, slog.LevelError, "a destination fails: one attempt at a time until one succeeds"
	}
	e.config.Metrics(Metric{Machine: msg.Machine, Name: MetricBreaker, Type: "gauge", Value: state, Labels: labels([]string{"destination", msg.Destination})})
	e.config.Logger.Log(ctx, level, message, "destination", msg.Destination, "machine", msg.Machine, "effect", msg.Effect, "error", err)
}

// policy returns the retry policy of an effect.
func (e *Engine[T]) policy(info fsm.EffectInfo) fsm.RetryPolicy {
	if info.HasRetry || info.InOutbox() && !info.Delivery.Repeats() {
		return info.Retry
	}
	return e.config.Retry
}

// attemptLocked carries out the effect while it holds the lock that the spec declares.
func (e *Engine[T]) attemptLocked(ctx context.Context, m *definition[T], info fsm.EffectInfo, task effectTask) reply {
	release, err := e.lock(ctx, info.Lock, task.dispatch())
	if err != nil {
		return reply{err: err}
	}
	defer release()
	return e.attempt(ctx, m, info, task)
}

// attempt carries out the effect by its delivery class. A queryable effect is queried first,
// unless this is certainly its first attempt. What an earlier attempt left behind is cleaned up.
// An at_most_once effect that was cut short is not repeated.
func (e *Engine[T]) attempt(ctx context.Context, m *definition[T], info fsm.EffectInfo, task effectTask) reply {
	dispatch := task.dispatch()
	if task.cutShort() && !info.Delivery.Repeats() {
		return reply{err: task.failure(errCutShort, true)}
	}
	asks := info.Delivery.Asked() && !task.reserved()
	if asks {
		switch r := e.query(ctx, m, dispatch); {
		case r.err != nil:
			return reply{err: &queryError{r.err}}
		case r.done:
			return r
		}
	}
	cleans := task.repeat() && info.Cleanup != ""
	if task.repeat() {
		// Recovery found the last attempt cut short, or only asking was left.
		if task.used() > task.limit() {
			return reply{err: task.failure(task.noneLeft(), false)}
		}
		if r := e.cleanUp(ctx, m, info, dispatch); r.err != nil {
			return r
		}
	}
	if asks || cleans {
		if err := e.stillHeld(ctx, task); err != nil {
			return reply{err: err}
		}
	}
	return e.handle(ctx, m, dispatch, !info.Delivery.Repeats())
}

// stillHeld renews the lease of a task. The query and the cleanup may have taken longer than the
// lease; a worker that can't tell whether it still holds the message leaves it alone.
func (e *Engine[T]) stillHeld(ctx context.Context, task effectTask) error {
	_, _, err := e.renew(ctx, task)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return errors.Join(store.ErrLeaseLost, err)
	}
	return nil
}

// cleanUp removes what an attempt may have left behind.
func (e *Engine[T]) cleanUp(ctx context.Context, m *definition[T], info fsm.EffectInfo, d fsm.Dispatch) reply {
	if info.Cleanup == "" {
		return reply{}
	}
	record, err := e.Get(ctx, d.Machine, d.Record)
	if err != nil {
		return reply{err: err}
	}
	effect, ok := m.CleanupOf(info.Name, record.Record, e.now())
	if !ok {
		return reply{err: fsm.UnknownEffect(d.Machine, info.Cleanup)}
	}
	if d.Payload, err = json.Marshal(effect.Payload); err != nil {
		return reply{err: fmt.Errorf("payload of effect %s: %w", effect.Name, err)}
	}
	d.ID, d.Effect = identity("cleanup", d.ID).String(), effect.Name
	return e.handle(ctx, m, d, false) // a cleanup is idempotent: check reports any other
}

// succeed stores that the effect has happened, and fires its answer.
func (e *Engine[T]) succeed(ctx context.Context, m *definition[T], task effectTask, r reply) error {
	err := e.conclude(ctx, m, task, r)
	if unrecordable(err) {
		// The handler succeeded, so the engine's attempt to record it has failed. It is
		// repeated by the policy, since an operator may remove the cause.
		return e.fail(ctx, m, m.effects[task.msg.Effect], task, err)
	}
	return err
}

// conclude stores that the effect has happened. An unrecordable error leaves the
// row as it is.
func (e *Engine[T]) conclude(ctx context.Context, m *definition[T], task effectTask, r reply) error {
	if r.answer != nil {
		return e.answer(ctx, m, task, *r.answer, "")
	}
	s, err := task.delivered("", e.now())
	if err != nil {
		return err
	}
	e.count(task.msg.Machine, MetricAttempts, "effect", task.msg.Effect, "outcome", "delivered")
	return e.settle(ctx, s)
}

// fail stores that the attempt has failed: the effect is repeated later, or its failure event is
// fired, or the message becomes a dead letter. A queryable effect whose query failed has not
// failed: see unknown.
func (e *Engine[T]) fail(ctx context.Context, m *definition[T], info fsm.EffectInfo, task effectTask, cause error) error {
	e.tellFailure(ctx, task, cause)
	var unasked *queryError
	switch {
	case foreign(cause):
		return e.leave(ctx, info, task, cause)
	case !info.Delivery.Repeats() && unknownOutcome(cause):
		return e.finish(ctx, m, task, m.LostEvent(info.Name), cause)
	case errors.As(cause, &unasked):
		return e.unknown(ctx, m, info, task, cause)
	case !task.spent() && repeatable(info, cause):
		return e.retryLater(ctx, task, task.policy, int(task.used()), cause)
	case info.Delivery.Asked() && !errors.Is(cause, errSpent):
		switch r := e.query(ctx, m, task.dispatch()); {
		case r.err != nil:
			return e.unknown(ctx, m, info, task, errors.Join(cause, &queryError{r.err}))
		case r.done:
			err := e.conclude(ctx, m, task, r)
			if unrecordable(err) {
				// It has happened, so the record must not get its failure event. An operator
				// has to remove the cause.
				return e.giveUp(ctx, task, errors.Join(cause, err))
			}
			return err
		}
	}
	event := m.FailEvent(info.Name, firstLine(task.failureText(cause)))
	if event != nil {
		if r := e.cleanUp(ctx, m, info, task.dispatch()); r.err != nil {
			cause = errors.Join(cause, r.err)
			event = m.FailEvent(info.Name, firstLine(task.failureText(cause)))
		}
	}
	return e.finish(ctx, m, task, event, cause)
}

// unknown ends an attempt at a queryable effect whose query failed. The effect may
// have happened, so its failure is not reported: the query is repeated, by the
// effect's policy while that has attempts left, then by Config.Retry. After that
// the lost event is fired; without one the message is a dead letter. A query that
// fails permanently is not repeated.
func (e *Engine[T]) unknown(ctx context.Context, m *definition[T], info fsm.EffectInfo, task effectTask, cause error) error {
	var permanent *PermanentError
	over := task.used() - task.limit() // queries beyond the policy of the effect, this one included; negative: attempts left
	switch {
	case errors.As(cause, &permanent):
	case over < 0:
		return e.retryLater(ctx, task, task.policy, int(task.used()), cause)
	case over < int64(e.config.Retry.Attempts):
		return e.retryLater(ctx, task, e.config.Retry, int(over)+1, cause)
	}
	return e.finish(ctx, m, task, m.LostEvent(info.Name), cause)
}

// leave ends an attempt whose payload, or whose record's state, is of another version of the
// machine. A process of that version may claim the message next. The effect has not failed, so no
// failure is reported. When its attempts are used up the message is a dead letter; an at_most_once
// message is one at once.
func (e *Engine[T]) leave(ctx context.Context, info fsm.EffectInfo, task effectTask, cause error) error {
	if task.spent() || !info.Delivery.Repeats() {
		return e.giveUp(ctx, task, cause)
	}
	return e.retryLater(ctx, task, task.policy, int(task.used()), cause)
}

// retryLater stores that the message is due again after the delay of repeat number n.
func (e *Engine[T]) retryLater(ctx context.Context, task effectTask, policy fsm.RetryPolicy, n int, cause error) error {
	wait, _ := policy.Backoff(n, e.config.Rand())
	s, err := task.failed(task.failureText(cause), e.now(), wait)
	if err != nil {
		return err
	}
	e.count(task.msg.Machine, MetricAttempts, "effect", task.msg.Effect, "outcome", "retry_later")
	return e.settle(ctx, s)
}

// repeatable reports whether a failed attempt may be repeated. If an effect names no failure class
// and has an event for its failure, the table decides what follows a reported failure; only a
// failure that no handler reported is repeated.
func repeatable(info fsm.EffectInfo, cause error) bool {
	var permanent *PermanentError
	switch {
	case !info.Delivery.Repeats(), errors.As(cause, &permanent):
		return false
	case info.HasRetry || !info.HasFails:
		return true
	}
	var handler *HandlerError
	return !errors.As(cause, &handler) || handler.Unknown
}

// foreign reports whether the effect, or the state of its record, is one of another
// version of the machine.
func foreign(cause error) bool {
	var payload *fsm.PayloadError
	return errors.As(cause, &payload) && payload.Foreign || errors.Is(cause, ErrUnknownState)
}

// finish fires the event of an effect that has failed for good. Without one, or if it can't be
// recorded, the message is a dead letter.
func (e *Engine[T]) finish(ctx context.Context, m *definition[T], task effectTask, event *fsm.Event, cause error) error {
	if event == nil {
		return e.giveUp(ctx, task, cause)
	}
	err := e.answer(ctx, m, task, *event, task.failureText(cause))
	if unrecordable(err) {
		return e.giveUp(ctx, task, errors.Join(cause, err))
	}
	return err
}

// giveUp makes the message of a task a dead letter. It blocks the messages behind it until an
// operator requeues or discards it.
func (e *Engine[T]) giveUp(ctx context.Context, task effectTask, cause error) error {
	s, err := task.givenUp(task.failureText(cause), e.now())
	if err != nil {
		return err
	}
	if err := e.settle(ctx, s); err != nil {
		return err
	}
	e.count(task.msg.Machine, MetricAttempts, "effect", task.msg.Effect, "outcome", "dead_letter")
	e.config.Logger.ErrorContext(ctx, "a message became a dead letter", "machine", task.msg.Machine, "record", task.msg.RecordID,
		"effect", task.msg.Effect, "message", task.msg.MessageID, "attempts", task.attempts(), "error", cause, "correlation", task.msg.Correlation)
	return nil
}

// interrupt ends an attempt that was cancelled because Run stopped. If a repeat is harmless,
// another worker may start it at once. Else the lease must end first: by then the handler has
// returned or has ended with its process.
func (e *Engine[T]) interrupt(ctx context.Context, info fsm.EffectInfo, task effectTask, cause error) error {
	if !info.Delivery.RepeatsUnasked() || errors.Is(cause, errNoReturn) {
		return nil
	}
	s, err := task.released(e.now())
	if err != nil {
		return err
	}
	e.count(task.msg.Machine, MetricAttempts, "effect", task.msg.Effect, "outcome", "released")
	return e.settle(ctx, s)
}

// dispatch returns what the handler gets.
func (task effectTask) dispatch() fsm.Dispatch { return dispatchOf(task.msg, task.attempts()) }

// failure returns the error of an attempt that no handler reported.
func (task effectTask) failure(err error, unknown bool) error {
	return &HandlerError{Machine: task.msg.Machine, ID: task.msg.RecordID, Effect: task.msg.Effect, Unknown: unknown, Err: err}
}

// unknownOutcome reports whether the effect may have happened all the same.
func unknownOutcome(err error) bool {
	var handler *HandlerError
	return errors.As(err, &handler) && handler.Unknown
}

// failureText returns the text of a failure without the record and the effect, which the message's
// row has.
func (task effectTask) failureText(err error) string {
	about := task.failure(errors.New(""), false).Error()
	return tidy(strings.ReplaceAll(err.Error(), about, ""))
}

// tellFailure logs a failed attempt.
func (e *Engine[T]) tellFailure(ctx context.Context, task effectTask, cause error) {
	attrs := []any{
		"machine", task.msg.Machine, "record", task.msg.RecordID, "effect", task.msg.Effect,
		"attempt", task.attempts(), "error", cause, "correlation", task.msg.Correlation,
	}
	var panicked *PanicError
	if errors.As(cause, &panicked) {
		attrs = append(attrs, "stack", string(panicked.Stack))
	}
	e.config.Logger.WarnContext(ctx, "effect failed", attrs...)
}

// firstLine returns the part of a failure that a record may keep, without joined errors.
func firstLine(message string) string {
	line, _, _ := strings.Cut(message, "\n")
	return line
}
