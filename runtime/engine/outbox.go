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
// state; this file is the bridge. The typed view of the message says that it is being delivered:
// no other state has an outcome. Methods that end a task return a settlement and leave the task
// as it is: if an outcome can't be stored, another can follow.
type effectTask struct {
	msg      OutboxMessage // as the claim found it
	token    fsm.UUID
	policy   fsm.RetryPolicy
	delivery outbox.InDelivering
	known    *store.Row // the record, as the step left it that asked for this; nil: not known
}

// attempts is how often the message was claimed, this claim included.
func (task effectTask) attempts() int64 { return task.delivery.Record().Attempts }

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
	return max(1, task.attempts()-min(cut, forgiven))
}

// repeat reports whether the effect was attempted before, also before an operator requeued the
// message, which leaves a resolution.
func (task effectTask) repeat() bool { return task.msg.Attempts > 0 || task.msg.Resolution != "" }

// reserved reports whether this is certainly the first attempt: the transaction
// that stored the message claimed it for this process. The columns of a message
// that was claimed later don't prove that, since they can be edited.
func (task effectTask) reserved() bool { return task.known != nil }

// spent reports whether no further attempt is allowed after this one.
func (task effectTask) spent() bool { return task.used() >= task.limit() }

// claimed returns the task of a message that the store has claimed: the message takes the
// transitions that the claim stands for.
func claimed(msg OutboxMessage, token fsm.UUID, policy fsm.RetryPolicy, now time.Time) (effectTask, error) {
	task := effectTask{msg: msg, token: token, policy: policy}
	record, err := outboxRecord(msg)
	if err != nil {
		return task, &CorruptError{Machine: msg.Machine, ID: msg.RecordID, Err: fmt.Errorf("message %s: %w", msg.MessageID, err)}
	}
	switch record.State {
	case outbox.RetryWait:
		_, err = record.TimeReached(now)
	case outbox.Delivering:
		// Whether the attempts are spent is decided after the claim: recovery may
		// have to ask, to clean up, or to report first.
		err = endLease(&record, now)
	case outbox.Pending, outbox.Delivered, outbox.DeadLetter:
	}
	if err == nil {
		_, err = record.WorkerClaim(outbox.WorkerClaim{Locked: true, LeaseToken: token}, now)
	}
	if err != nil {
		return task, fmt.Errorf("message %s: %w", msg.MessageID, err)
	}
	var ok bool
	if task.delivery, ok = record.View().(outbox.InDelivering); !ok {
		return task, fmt.Errorf("message %s: its claim leads to %s", msg.MessageID, record.State)
	}
	return task, nil
}

// endLease returns a message whose worker has not settled it to all workers. The attempt counts.
func endLease(record *outbox.Record, now time.Time) error {
	_, err := outbox.Fire(record, outbox.LeaseExpired{}, outbox.Call{Params: outbox.Params{MaxAttempts: record.Attempts + 1}, Now: now})
	return err
}

// delivered returns the settlement of a task that succeeded. note is kept with the message: the
// failure that was answered with an event, or "".
func (task effectTask) delivered(note string, now time.Time) (store.Settlement, error) {
	v, err := outbox.FireHandlerSuccess(task.delivery, outbox.HandlerSuccess{Token: task.token}, now)
	if err != nil {
		return store.Settlement{}, fmt.Errorf("message %s: %w", task.msg.MessageID, err)
	}
	record := v.Record()
	if note != "" {
		record.LastError = fsm.Some(tidy(note))
	}
	return task.settlement(record), nil
}

// failed returns the settlement of an attempt that is followed by another after a delay.
func (task effectTask) failed(cause string, now time.Time, wait time.Duration) (store.Settlement, error) {
	return task.settleFailure(outbox.HandlerFailure{Token: task.token, RetryAt: now.Add(wait), Cause: tidy(cause)}, task.attempts()+1, now)
}

// givenUp returns the settlement that makes the message a dead letter, whatever its policy says.
func (task effectTask) givenUp(cause string, now time.Time) (store.Settlement, error) {
	return task.settleFailure(outbox.HandlerFailure{Token: task.token, RetryAt: now, Cause: tidy(cause)}, task.attempts(), now)
}

// settleFailure returns the settlement of a failed attempt. From maxAttempts on no other follows.
func (task effectTask) settleFailure(e outbox.HandlerFailure, maxAttempts int64, now time.Time) (store.Settlement, error) {
	v, err := outbox.FireHandlerFailure(task.delivery, e, outbox.Params{MaxAttempts: maxAttempts}, now)
	if err != nil {
		return store.Settlement{}, fmt.Errorf("message %s: %w", task.msg.MessageID, err)
	}
	return task.settlement(v.Record()), nil
}

// noneLeft says why a task whose attempts are spent is not attempted: what the last
// attempt reported, or that it did not report.
func (task effectTask) noneLeft() error {
	if task.cutShort() || task.msg.LastError == "" {
		return fmt.Errorf("%w, and the worker of the last one did not report", errSpent)
	}
	return fmt.Errorf("%w: %s", errSpent, task.msg.LastError)
}

// released returns the settlement that returns the message to all workers. The attempt counts.
func (task effectTask) released(now time.Time) (store.Settlement, error) {
	record := task.delivery.Record()
	if err := endLease(&record, now); err != nil {
		return store.Settlement{}, fmt.Errorf("message %s: %w", task.msg.MessageID, err)
	}
	record.AvailableAt = fsm.Some(now)
	return task.settlement(record), nil
}

// settlement returns what to store for the task: its message as record says.
func (task effectTask) settlement(record outbox.Record) store.Settlement {
	return settlement(task.msg, record, task.token)
}

func settlement(msg OutboxMessage, record outbox.Record, token fsm.UUID) store.Settlement {
	return store.Settlement{
		Kind: store.TaskEffect, Token: token, MessageID: msg.MessageID, MessageState: messageState(record, msg.MessageState),
		Machine: msg.Machine, RecordID: msg.RecordID,
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
