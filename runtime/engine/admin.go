package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/generated/outbox"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// DeadLetters returns dead letters that match f, oldest first, behind the message with the id
// after ("" for the first page). It returns ErrNotFound if that message no longer exists.
func (e *Engine[T]) DeadLetters(ctx context.Context, f Filter, after string, limit int) ([]OutboxMessage, error) {
	q := store.Read{Kind: store.ReadDeadLetters, Filter: f, Limit: bounded(limit)}
	if after != "" {
		msg, err := e.message(ctx, after)
		if err != nil {
			return nil, fmt.Errorf("dead letters after message %s: %w", after, err)
		}
		q.AfterMessage = &msg
	}
	page, err := e.store.Read(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("dead letters: %w", err)
	}
	return page.Messages, nil
}

// Requeue gives a dead letter all its attempts again. The message keeps who and why.
func (e *Engine[T]) Requeue(ctx context.Context, messageID, who, why string) error {
	return e.resolve(ctx, "requeue", messageID, outbox.Requeue{Resolution: tidy(who + ": " + why)})
}

// Discard gives up a dead letter for good. It no longer blocks messages behind it. The message
// keeps who and why.
func (e *Engine[T]) Discard(ctx context.Context, messageID, who, why string) error {
	return e.resolve(ctx, "discard", messageID, outbox.Discard{Resolution: tidy(who + ": " + why)})
}

// resolve applies an operator's event of the machine outbox to a message. A message that is not in
// the right state is a *fsm.Rejection, and a text that is no id ErrBadID.
func (e *Engine[T]) resolve(ctx context.Context, what, messageID string, event outbox.Payload) error {
	if err := checkNested(ctx); err != nil {
		return err
	}
	msg, err := e.message(ctx, messageID)
	if err != nil {
		return fmt.Errorf("%s message %s: %w", what, messageID, err)
	}
	if msg.Cancelled {
		return fmt.Errorf("%s message %s: %w", what, messageID, ErrStateLeft)
	}
	if err := e.synchronise(ctx); err != nil {
		return fmt.Errorf("%s message %s: %w", what, messageID, err)
	}
	now := e.now()
	record, err := outboxRecord(msg)
	if err == nil {
		_, err = outbox.Fire(&record, event, outbox.Call{Params: outbox.DefaultParams(), Now: now})
	}
	if err != nil {
		return fmt.Errorf("%s: message %s: %w", what, messageID, err)
	}
	if record.State == outbox.Pending {
		record.AvailableAt = fsm.Some(now)
	}
	s := settlement(msg, record, fsm.UUID{})
	s.From = msg.State
	if err := e.settle(ctx, s); err != nil {
		return fmt.Errorf("%s message %s: %w", what, messageID, err)
	}
	e.config.Logger.InfoContext(ctx, "message resolved", "how", what, "message", messageID, "machine", msg.Machine,
		"record", msg.RecordID, "effect", msg.Effect, "resolution", record.Resolution.Or(""), "correlation", msg.Correlation)
	return nil
}

// message returns a row of the outbox.
func (e *Engine[T]) message(ctx context.Context, messageID string) (OutboxMessage, error) {
	id, err := fsm.ParseUUID(messageID)
	if err != nil {
		return OutboxMessage{}, fmt.Errorf("%w: %w", ErrBadID, err)
	}
	page, err := e.store.Read(ctx, store.Read{Kind: store.ReadMessage, MessageID: id.String(), Limit: 1})
	switch {
	case err != nil:
		return OutboxMessage{}, err
	case len(page.Messages) == 0:
		return OutboxMessage{}, ErrNotFound
	}
	return page.Messages[0], nil
}

// Resumed is the result of Resume.
type Resumed struct {
	Deadline bool // the state has a timeout, and its deadline is set
	Requeued int  // dead letters that got their attempts again
}

// Resume restores what keeps a record moving. It sets the timeout of the record's state, counted
// from when the state was entered, if it was lost or consumed by an event that the record refused;
// an existing deadline stays. It also requeues the record's dead letters.
func (e *Engine[T]) Resume(ctx context.Context, machine, id, who, why string) (Resumed, error) {
	var did Resumed
	if err := checkNested(ctx); err != nil {
		return did, err
	}
	m, key, err := e.machine(machine, id)
	if err != nil {
		return did, err
	}
	r := request[T]{machine: m, id: fsm.Text(key), idValue: key, correlation: e.config.NewToken().String(), now: e.now()}
	if err := e.store.InTx(ctx, func(tx T) (err error) {
		did.Deadline, err = e.resetDeadline(ctx, tx, r)
		return err
	}); err != nil {
		return did, fmt.Errorf("resume %s %s: %w", machine, id, err)
	}
	requeued, err := e.RequeueAll(ctx, Filter{Machine: machine, Record: r.id}, who, why)
	did.Requeued = requeued.Done
	if err = errors.Join(err, requeued.Err()); err != nil {
		return did, fmt.Errorf("resume %s %s: %w", machine, id, err)
	}
	return did, nil
}

// resetDeadline sets the timeout of the record's state, unless the record changes meanwhile.
func (e *Engine[T]) resetDeadline(ctx context.Context, tx T, r request[T]) (bool, error) {
	q := r.query()
	q.IdempotencyKeys = nil
	rows, err := e.store.Load(ctx, tx, []store.Query{q})
	if err != nil {
		return false, err
	}
	row := rows[0]
	switch {
	case row.Err != nil:
		return false, r.machine.unreadable(row.Err)
	case row.Record == nil:
		return false, ErrNotFound
	}
	deadline := r.machine.DeadlineOf(row.Record, row.EnteredAt)
	if deadline == nil {
		return false, nil
	}
	return true, e.store.Save(ctx, tx, []store.Commit{{
		Machine: r.machine.Name(), Tables: r.machine.tables, ID: r.id, IDValue: r.idValue, Expect: row.Version,
		SetDeadlines: []store.Deadline{r.deadline(store.DeadlineTimeout, row.Version, row.Record.StateName(), *deadline)},
	}})
}
