package store

import (
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// ReadKind is what a Read asks for.
type ReadKind string

// The kinds of reads.
const (
	ReadRecord  ReadKind = "record"  // the record ID: Page.Records
	ReadRecords ReadKind = "records" // records in State, ID ascending, above After
	ReadHistory ReadKind = "history" // of the record ID, version ascending, above AfterVersion
	// ReadDeadLetters asks for dead letters that match Filter and are neither cancelled nor
	// discarded, by CreatedAt, Version, Seq and MessageID, behind AfterMessage: Page.Messages.
	ReadDeadLetters ReadKind = "dead_letters"
	ReadMessage     ReadKind = "message" // the message MessageID: Page.Messages
	// ReadUnknown asks for due work of the machines in Destinations and Events that these do
	// not name: Page.Unknown.
	ReadUnknown ReadKind = "unknown"
	// ReadBacklog counts what waits of the machines in Destinations and Events, at most Limit
	// messages and as many deadlines: Page.Backlog.
	ReadBacklog ReadKind = "backlog"
	ReadPauses  ReadKind = "pauses" // by machine, effect and destination: Page.Pauses
)

// Read is a question. Limit is always set, so that an answer fits in memory; only ReadPauses
// has none, since there are at most as many pauses as machines, effects and destinations.
type Read struct {
	Kind         ReadKind
	Machine      string
	Tables       fsm.Tables
	Blank        func() fsm.Record // for each record found
	ID           string
	IDValue      any    // driver value of ID
	State        string // "": any
	After        any    // driver value of an id; nil: from the start
	AfterVersion int64
	MessageID    string
	Filter       Filter
	AfterMessage *OutboxMessage // its place in the order; nil: from the start
	Now          time.Time      // of ReadUnknown and ReadBacklog: what is due at this time
	Destinations []Destination  // and the effects that the caller knows
	Events       []Events       // and the events that the caller knows
	Limit        int
}

// Page is the answer to a Read: the field that its kind names.
type Page struct {
	Records  []Row
	History  []HistoryRow
	Messages []OutboxMessage
	Unknown  []UnknownWork // by kind, machine, name and state
	Pauses   []Pause
	Backlog  []Backlog // by kind, machine, name and state
}

// UnknownWork is due work that a process does not know: another version of the machine
// asked for it.
type UnknownWork struct {
	Kind          TaskKind
	Machine, Name string // of the effect, or of the deadline's event
	State         string // of the record, if that is unknown too; else ""
	Record        string // an example
	Count         int64
}

// Machines returns the machines that q names, each once.
func (q Read) Machines() (names []string) {
	for _, l := range q.Destinations {
		names = append(names, l.Machine)
	}
	for _, e := range q.Events {
		names = append(names, e.Machine)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
