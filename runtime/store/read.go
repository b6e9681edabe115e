package store

import (
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// ReadKind tells what is read.
type ReadKind string

// The kinds of reads.
const (
	ReadRecord  ReadKind = "record"  // the record ID: Page.Records
	ReadRecords ReadKind = "records" // records in State, ID ascending, above After
	ReadHistory ReadKind = "history" // of the record ID, version ascending, above AfterVersion
	// ReadDeadLetters: those that Filter lets through, neither cancelled nor discarded,
	// by CreatedAt, Version, Seq and MessageID, behind AfterMessage: Page.Messages.
	ReadDeadLetters ReadKind = "dead_letters"
	ReadMessage     ReadKind = "message" // the message MessageID: Page.Messages
	// due work of the machines of Destinations and Events that these do not name: Page.Unknown
	ReadUnknown ReadKind = "unknown"
	// what waits of the machines of Destinations and Events, of at most Limit messages and as
	// many deadlines: Page.Backlog
	ReadBacklog ReadKind = "backlog"
	ReadPauses  ReadKind = "pauses" // by machine, effect and destination: Page.Pauses
)

// Read is a question. Limit is always set, so that an answer fits in memory, but for
// pauses: there are at most as many as machines, effects and destinations.
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
	AfterMessage *OutboxMessage // only its place counts; nil: from the start
	Now          time.Time      // when unknown work, or the backlog, has to be due
	Destinations []Destination  // with the effects that the caller knows
	Events       []Events       // with the events that it knows
	Limit        int
}

// Page is an answer: the part that the kind of the question names.
type Page struct {
	Records  []Row
	History  []HistoryRow
	Messages []OutboxMessage
	Unknown  []UnknownWork // by kind, machine, name and state
	Pauses   []Pause
	Backlog  []Backlog // by kind, machine, name and state
}

// UnknownWork is work that is due and that a process does not know: another version of its
// machine asked for it.
type UnknownWork struct {
	Kind          TaskKind
	Machine, Name string // of the effect, or of the deadline's event
	State         string // of the record, if it is not known either; else ""
	Record        string // one of those that it is about
	Count         int64
}

// Machines lists the machines that a question names, each once.
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
