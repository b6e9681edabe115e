package engine

import (
	"fmt"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/generated/outbox"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// effectTask is a claimed message in a worker. The generated machine outbox decides its next
// state; this file is the bridge. Methods that end a task work on a copy: if an outcome can't be
// stored, another can follow.
type effectTask struct {
	msg    OutboxMessage // as the claim found it
	token  fsm.UUID
	policy fsm.RetryPolicy
	record outbox.Record
	known  *store.Row // the record, as the step left it that asked for this; nil: not known
}

// pendingState returns the state of a new message.
func pendingState(now time.Time) MessageState {
	return MessageState{State: outbox.Pending.String(), AvailableAt: fsm.Some(now)}
}

// limit is how many claims a message gets, of those that used counts: the first and
// the repeats.
func (task effectTask) limit() int64 { return int64(task.policy.Attempts) + 1 }

// cutShort reports whether an earlier attempt ended without an outcome: its
// worker died, or lost its lease.
func (task effectTask) cutShort() bool { return task.msg.State == outbox.Delivering.String() }

// forgiven is how many attempts that were cut short don't count: another message may have
// ended the process. After that a message is a suspect and claimed alone, so it answers for
// itself.
const forgiven = 2

// used is how many attempts count against the policy, this one included.
func (task effectTask) used() int64 {
	cut := task.msg.Cut
	if task.cutShort() {
		cut++
	}
	return max(1, task.record.Attempts-min(cut, forgiven))
}

// repeat reports whether the effect was attempted before: also where a person,
// who leaves a resolution, gave it its attempts again.
func (task effectTask) repeat() bool { return task.msg.Attempts > 0 || task.msg.Resolution != "" }

// reserved reports whether this is certainly the first attempt: the transaction
// that stored the message claimed it for this process. The columns of a message
// that was claimed later don't prove that, since they can be edited.
func (task effectTask) reserved() bool { return task.known != nil }

// spent reports whether no further attempt is allowed after this one.
func (task effectTask) spent() bool { return task.used() >= task.limit() }

// claimed takes an outbox row over from the store's claim: the letter goes
// through the same transitions that the claim stands for.
func claimed(msg OutboxMessage, token fsm.UUID, policy fsm.RetryPolicy, now time.Time) (effectTask, error) {
	task := effectTask{msg: msg, token: token, policy: policy}
	record, err := outboxRecord(msg)
	if err != nil {
		return task, &CorruptError{Machine: msg.Machine, ID: msg.RecordID, Err: fmt.Errorf("message %s: %w", msg.MessageID, err)}
	}
	task.record = record
	switch task.record.State {
	case outbox.RetryWait:
		err = task.fire(outbox.TimeReached{}, now, 0)
	case outbox.Delivering:
		// Whether the attempts are spent is judged after the claim: recovery may
		// have to ask, to clean up, or to report first.
		err = task.fire(outbox.LeaseExpired{}, now, task.record.Attempts+1)
	case outbox.Pending, outbox.Delivered, outbox.DeadLetter:
	}
	if err != nil {
		return task, err
	}
	err = task.fire(outbox.WorkerClaim{Locked: true, LeaseToken: token}, now, 0)
	return task, err
}

// delivered ends d with success. note is kept with it: the failure that was
// answered with an event, or "".
func (task effectTask) delivered(note string, now time.Time) (store.Settlement, error) {
	if err := task.fire(outbox.HandlerSuccess{Token: task.token}, now, 0); err != nil {
		return store.Settlement{}, err
	}
	if note != "" {
		task.record.LastError = fsm.Some(tidy(note))
	}
	return task.settlement(), nil
}

// failed ends an attempt that is followed by another after a delay.
func (task effectTask) failed(cause string, now time.Time, wait time.Duration) (store.Settlement, error) {
	err := task.fire(outbox.HandlerFailure{Token: task.token, RetryAt: now.Add(wait), Cause: tidy(cause)}, now, task.record.Attempts+1)
	return task.settlement(), err
}

// noneLeft says why d, whose attempts are spent, is not attempted: what the last
// attempt reported, or that it did not report.
func (task effectTask) noneLeft() error {
	if task.cutShort() || task.msg.LastError == "" {
		return fmt.Errorf("%w, and the worker of the last one did not report", errSpent)
	}
	return fmt.Errorf("%w: %s", errSpent, task.msg.LastError)
}

// givenUp returns the settlement that makes the message a dead letter, whatever its policy says.
func (task effectTask) givenUp(cause string, now time.Time) (store.Settlement, error) {
	err := task.fire(outbox.HandlerFailure{Token: task.token, RetryAt: now, Cause: tidy(cause)}, now, task.record.Attempts)
	return task.settlement(), err
}

// released returns the settlement that returns the message to all workers. The attempt counts.
func (task effectTask) released(now time.Time) (store.Settlement, error) {
	err := task.fire(outbox.LeaseExpired{}, now, task.record.Attempts+1)
	task.record.AvailableAt = fsm.Some(now)
	return task.settlement(), err
}

// fire applies an event of the machine outbox. maxAttempts is its limit on
// claims; 0 where the event does not ask.
func (task *effectTask) fire(e outbox.Payload, now time.Time, maxAttempts int64) error {
	params := outbox.DefaultParams()
	if maxAttempts > 0 {
		params.MaxAttempts = maxAttempts
	}
	_, err := outbox.Fire(&task.record, e, outbox.Call{Params: params, Now: now})
	if err != nil {
		return fmt.Errorf("message %s: %w", task.msg.MessageID, err)
	}
	return nil
}

// settlement returns what to store for the task.
func (task effectTask) settlement() store.Settlement {
	return store.Settlement{
		Kind: store.TaskEffect, Token: task.token, MessageID: task.msg.MessageID, MessageState: messageState(task.record, task.msg.MessageState),
		Machine: task.msg.Machine, RecordID: task.msg.RecordID,
	}
}

// outboxRecord returns a message as a record of the machine outbox.
func outboxRecord(msg OutboxMessage) (outbox.Record, error) {
	id, err := fsm.ParseUUID(msg.MessageID)
	if err != nil {
		return outbox.Record{}, err
	}
	state, err := outbox.ParseState(msg.State)
	if err != nil {
		return outbox.Record{}, err
	}
	return outbox.Record{
		MessageID: id, State: state, Topic: msg.Effect, Payload: "{}", Attempts: msg.Attempts,
		AvailableAt: msg.AvailableAt, DeliveredAt: msg.DeliveredAt, DiscardedAt: msg.DiscardedAt,
		LastError: optional(msg.LastError), Resolution: optional(msg.Resolution),
	}, nil
}

// messageState returns what to store of a record of the machine outbox. before has what the
// machine does not know: since when the message can be claimed, and how many of its attempts were
// cut short.
func messageState(r outbox.Record, before MessageState) MessageState {
	l := MessageState{
		State: r.State.String(), Attempts: r.Attempts, Cut: min(before.Cut, r.Attempts), AvailableAt: r.AvailableAt, DeliveredAt: r.DeliveredAt,
		DiscardedAt: r.DiscardedAt, LastError: r.LastError.Or(""), Resolution: r.Resolution.Or(""), Cancelled: before.Cancelled,
	}
	if !l.AvailableAt.IsSet {
		l.AvailableAt = before.AvailableAt
	}
	return l
}

func optional(text string) fsm.Optional[string] {
	if text == "" {
		return fsm.None[string]()
	}
	return fsm.Some(text)
}

// tidy makes an error message storable: databases take neither NUL nor broken
// UTF-8, and a handler's message may be of any length.
func tidy(message string) string {
	const longest = 4000
	message = strings.ReplaceAll(message[:min(len(message), longest)], "\x00", "")
	return strings.ToValidUTF8(message, "?")
}
