package store

import (
	"time"

	"github.com/fsmgen/fsmgen/generated/outbox"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// TaskKind tells outbox rows from deadlines.
type TaskKind string

// The kinds of tasks.
const (
	TaskEffect   TaskKind = "effect"
	TaskDeadline TaskKind = "deadline"
)

// Claim asks for work. The limits keep a worker from holding more than it can
// do within its lease; 0 is none of that kind.
type Claim struct {
	Worker       string // for people who look into the database
	Token        fsm.UUID
	Now          time.Time
	Until        time.Time     // end of the lease
	Destinations []Destination // the destinations of which messages are wanted, each once
	Effects      int           // at most so many messages in all
	Suspects     int           // at most so many of them that are suspects; 0: none
	Events       []Events      // the events of which deadlines are wanted
	Deadlines    int           // at most so many deadlines
	// Again says that an earlier claim with this Token failed, and may have been
	// granted all the same. Nothing is claimed then: the messages that carry the token
	// are returned as before that claim, and their leases last until Until.
	Again bool
}

// Destination asks for the messages of one destination.
type Destination struct {
	Machine, Name string
	Effects       []string // that the worker knows; other effects are left for workers that know them
	States        []string // of the machine, that the worker knows; what was asked for in others is left, too
	Most          int      // at most so many messages of this destination in one claim
}

// Events asks for the deadlines of one machine.
type Events struct {
	Machine string
	Names   []string // that the worker knows; deadlines of other events are left alone
	States  []string // that it knows; deadlines of other states are left alone
}

// Task is a leased row.
type Task struct {
	Kind  TaskKind
	Token fsm.UUID
	// Effect is the row as it was before this claim: its state says whether an
	// earlier attempt was cut short (delivering), and Attempts does not count
	// this claim.
	Effect   OutboxMessage
	Deadline Deadline
	Err      error // the row can't be read: a *CorruptError

}

// Suspect reports whether t is a message whose last attempt was cut short, and one before
// that: it may be what ends the processes that carry it out.
func (t Task) Suspect() bool {
	return t.Kind == TaskEffect && t.Effect.State == outbox.Delivering.String() && t.Effect.Cut > 0
}

// Settlement is what becomes of a task. It is one of four:
//
//   - Renew set: lease_until becomes Renew, nothing else changes. It must carry the
//     token, and what is cancelled must not have lost its lease by Now, since the
//     next of its lane may have begun: else ErrLeaseLost.
//   - An effect with a Token: the message's state becomes MessageState, its lease ends
//     (lease_token and lease_until null). It must be delivering and carry the
//     token, else ErrLeaseLost.
//   - An effect without a Token, by a person: the same, if its state is From and
//     it carries no lease and is not cancelled; else ErrConflict. It is parked no more.
//   - A deadline: its row is deleted. It must carry the token, else
//     ErrLeaseLost: an arming that replaced it has none.
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
	// ShortLockWait says that others wait for this Settle, as Commit.ShortLockWait does of a Save.
	ShortLockWait bool
}
