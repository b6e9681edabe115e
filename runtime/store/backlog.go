package store

import "time"

// BacklogKind is what a Backlog counts.
type BacklogKind string

// The kinds of Backlog, in the order in which they are read.
const (
	BacklogBlocked BacklogKind = "blocked" // records whose messages to the destination Name wait behind a dead letter
	BacklogDue     BacklogKind = "due"     // messages of the effect Name that could be claimed: the oldest is due since Since
	BacklogOpen    BacklogKind = "open"    // messages of the effect Name that are open in State
	BacklogOverdue BacklogKind = "overdue" // deadlines with the event Name that could be claimed
)

// Backlog counts one kind of work that waits in a store.
type Backlog struct {
	Kind          BacklogKind
	Machine, Name string
	State         string
	Count         int64
	Since         time.Time
}
