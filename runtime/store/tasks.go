package store

import (
	"time"

	"github.com/fsmgen/fsmgen/generated/outbox"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// TaskKind is the kind of a task: a message or a deadline.
type TaskKind string

// The kinds of tasks.
const (
	TaskEffect   TaskKind = "effect"
	TaskDeadline TaskKind = "deadline"
)

// Claim asks for work. A limit of 0 asks for none of that kind.
type Claim struct {
	Worker       string // its name, for operators
	Token        fsm.UUID
	Now          time.Time
	Until        time.Time     // end of the lease
	Destinations []Destination // whose messages are wanted, each once
	Effects      int           // at most so many messages
	Suspects     int           // at most so many of them that are suspects; 0: none
	Events       []Events      // whose deadlines are wanted
	Deadlines    int           // at most so many deadlines
	// Again says that an earlier claim with this Token returned an error and may have
	// succeeded. This call claims nothing. It returns the messages that carry the token, as
	// they were before that claim, and extends their leases to Until.
	Again bool
}

// Destination asks for the messages of one destination.
type Destination struct {
	Machine, Name string
	Effects       []string // that the worker knows; others are not claimed
	States        []string // of the machine, that the worker knows; messages of other states are not claimed
	Most          int      // at most so many messages of this destination in one claim
}

// Events asks for the deadlines of one machine.
type Events struct {
	Machine string
	Names   []string // that the worker knows; deadlines of others are not claimed
	States  []string // that the worker knows; deadlines of others are not claimed
}

// Task is a claimed message or deadline.
type Task struct {
	Kind  TaskKind
	Token fsm.UUID
	// Effect is the message as it was before this claim: state delivering means that an
	// earlier attempt was cut short, and Attempts does not count this claim.
	Effect   OutboxMessage
	Deadline Deadline
	Err      error // the row can't be read: a *CorruptError

}

// Suspect reports whether t is a message of which the last attempt was cut short, and an
// earlier one too. It may be what ends the processes that carry it out.
func (t Task) Suspect() bool {
	return t.Kind == TaskEffect && t.Effect.State == outbox.Delivering.String() && t.Effect.Cut > 0
}

// Settlement is the outcome of a task. It is one of four:
//
//   - With Renew: lease_until becomes Renew, nothing else changes. The row must carry the
//     token. The lease of a cancelled message must not have ended by Now, since the next
//     message of its ordering key may have started. Else ErrLeaseLost.
//   - A message with a Token: its state becomes MessageState, and its lease ends (lease_token
//     and lease_until NULL). It must be delivering and carry the token, else ErrLeaseLost.
//   - A message without a Token, by an operator: the same, if its state is From, it has no
//     lease and it is not cancelled; else ErrConflict. It is no longer parked.
//   - A deadline: its row is deleted. It must carry the token, else ErrLeaseLost: a deadline
//     that replaced it has no token.
type Settlement struct {
	Kind         TaskKind
	Token        fsm.UUID
	Renew        time.Time
	Now          time.Time    // with Renew
	MessageID    string       // of an effect
	From         string       // see above
	MessageState MessageState // of an effect
	Machine      string       // whose task it is
	RecordID     string
	Deadline     DeadlineKind // of a deadline
	// ShortLockWait is as in Commit.
	ShortLockWait bool
}
