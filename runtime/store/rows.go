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
	// Forced names the operator that forced a step, and the reason.
	Forced = client.Forced
)

// StepWrite is one transition to write: the record's row and its history row.
type StepWrite struct {
	HistoryRow
	Entered bool       // To was entered, possibly from To itself
	Record  fsm.Record // after the step
	Before  fsm.Record // as read, or after the previous step; nil: unknown, or a creation
}

// OutboxMessage is an effect to be delivered: a row of fsm_outbox. Delivery changes its
// MessageState and its lease only.
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
	RecordState string // after that step; "": unknown
	Correlation string
	CreatedAt   time.Time
	MessageState
	// Lease, in a Commit, is the lease of a message that is inserted already claimed, in
	// state delivering. nil: it is not claimed.
	Lease *Lease
}

// Lease is a claim on a row.
type Lease struct {
	Token  fsm.UUID
	Until  time.Time
	Worker string // its name, for operators
}

// MessageState is the part of a message that the machine outbox governs. An empty string is
// NULL in the database.
type MessageState struct {
	State       string                  // pending, delivering, delivered, retry_wait or dead_letter
	Attempts    int64                   // claims so far
	Cut         int64                   // attempts that were cut short, as later claims found; only an operator's Settle writes it
	AvailableAt fsm.Optional[time.Time] // due from; always set in pending and retry_wait
	DeliveredAt fsm.Optional[time.Time]
	DiscardedAt fsm.Optional[time.Time]
	LastError   string
	Resolution  string
	Cancelled   bool // never written by Settle: only CancelWork sets it
}

// BeforeClaim returns the state of a claimed message before its claim, as far as the row
// tells: a message with an attempt that was cut short may have been a suspect.
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

// DeadlineKind is the purpose of a deadline. A record has at most one deadline of a kind.
type DeadlineKind string

// The kinds of deadlines.
const (
	DeadlineTimeout DeadlineKind = "timeout" // the state's timeout
	DeadlineRaise   DeadlineKind = "raise"   // the event that the last step raised, with engine.Config.TwoStep
)

// Deadline is a row of fsm_deadlines. Its key is machine, record and kind.
type Deadline struct {
	Machine     string
	RecordID    string
	Kind        DeadlineKind
	Version     int64 // of the step that set it
	DueAt       time.Time
	Event       fsm.Event
	RecordState string // in which it was set; "": unknown
	Correlation string
}

// IdempotencyKey is a used idempotency key: a row of fsm_keys. Its key is machine and key. It
// is kept for ever.
type IdempotencyKey struct {
	Machine   string
	Key       string
	RecordID  string
	Event     string
	Version   int64 // of the record after the event
	CreatedAt time.Time
	// By and Payload are those of the event's history row. Payload is nil if that row does
	// not exist.
	By      fsm.Caller
	Payload json.RawMessage
}
