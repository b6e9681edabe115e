package store

import (
	"encoding/json"
	"time"

	"github.com/fsmgen/fsmgen/generated/outbox"
	"github.com/fsmgen/fsmgen/runtime/client"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

type (
	// HistoryRow is one transition taken: a row of the history.
	HistoryRow = client.HistoryRow
	// Forced says who forced a step, and why.
	Forced = client.Forced
)

// StepWrite is one transition to be written: the record's row and the row of
// the history.
type StepWrite struct {
	HistoryRow
	Entered bool       // To was entered, also by leaving and entering it again
	Record  fsm.Record // after the step
	Before  fsm.Record // as it was read, or after the step before; nil: not known, or a creation
}

// OutboxMessage is an effect to be delivered: a row of fsm_outbox. Delivering never
// changes anything but its state and its lease.
type OutboxMessage struct {
	MessageID   string // a UUID, the same however often the step is tried
	Machine     string
	RecordID    string
	Version     int64 // of the step that asked for it
	Seq         int   // its place within the step
	Effect      string
	Destination string
	Delivery    fsm.Delivery
	Work        bool
	Payload     json.RawMessage
	RecordState string // after that step; "": not known
	Correlation string
	CreatedAt   time.Time
	MessageState
	// Lease, in a Commit, is that of the worker who has the row in hand from its
	// beginning: it is in state delivering. nil: it has none.
	Lease *Lease
}

// Lease is a claim on a row.
type Lease struct {
	Token  fsm.UUID
	Until  time.Time
	Worker string // for people who look into the database
}

// MessageState is the part of a message that the machine outbox governs. Empty
// texts are null in the database.
type MessageState struct {
	State       string                  // pending, delivering, delivered, retry_wait or dead_letter
	Attempts    int64                   // claims so far
	Cut         int64                   // those of them that were cut short, as later claims found; only an operator's Settle writes it
	AvailableAt fsm.Optional[time.Time] // due from; always there when pending or retry_wait
	DeliveredAt fsm.Optional[time.Time]
	DiscardedAt fsm.Optional[time.Time]
	LastError   string
	Resolution  string
	Cancelled   bool // never written by Settle: only CancelWork sets it
}

// BeforeClaim is what the letter of a claimed message was before its claim, as far as
// it tells: one of which an attempt was cut short may have been a suspect.
func (l MessageState) BeforeClaim() MessageState {
	l.Attempts--
	switch {
	case l.Attempts == 0:
		l.State = outbox.Pending.String()
	case l.Cut == 0:
		l.State = outbox.RetryWait.String()
	default:
		l.Cut--
	}
	return l
}

// DeadlineKind tells what a deadline is for. A record has at most one of each.
type DeadlineKind string

// The kinds of deadlines.
const (
	DeadlineTimeout DeadlineKind = "timeout" // the state's timeout
	DeadlineRaise   DeadlineKind = "raise"   // what the last step raised, with Config.TwoStep
)

// Deadline is a row of fsm_deadlines, whose key is machine, record
// and kind.
type Deadline struct {
	Machine     string
	RecordID    string
	Kind        DeadlineKind
	Version     int64 // of the step that armed it
	DueAt       time.Time
	Event       fsm.Event
	RecordState string // that it is set in; "": not known
	Correlation string
}

// IdempotencyKey is an idempotency key that was consumed: a row of fsm_keys, whose key
// is machine and key. It is kept for ever.
type IdempotencyKey struct {
	Machine   string
	Key       string
	RecordID  string
	Event     string
	Version   int64 // of the record after the event
	CreatedAt time.Time
	// By and Payload are those of the event's history row, from where Load reads them:
	// the key's row does not repeat them. Payload nil: there is no such history row.
	By      fsm.Caller
	Payload json.RawMessage
}
