package crash

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// entryKind is the kind of an entry of the event log.
type entryKind string

const (
	began        entryKind = "began"         // a scenario
	ended        entryKind = "ended"         // a scenario, in rest
	clockSet     entryKind = "clock"         // the clock of the scenario stands at At
	ticked       entryKind = "ticked"        // step Step, which lets time pass, is done
	repaired     entryKind = "repaired"      // what made handlers fail is repaired
	accepted     entryKind = "accepted"      // the engine accepted an event
	refused      entryKind = "refused"       // the engine refused step Step, for the reason Cause
	lateDeadline entryKind = "late_deadline" // a deadline became due during a task
	called       entryKind = "called"        // a handler was called
	done         entryKind = "done"          // it changed the world
	asked        entryKind = "asked"         // a query was asked
	killedHere   entryKind = "killed"        // the process kills itself now
	passed       entryKind = "passed"        // a point was passed, in an uninterrupted run
)

// entry is one line of the event log. Each kind uses some of the fields.
type entry struct {
	Entry    entryKind `json:"entry"`
	Scenario string    `json:"scenario"`
	At       time.Time `json:"at,omitzero"`
	Step     int       `json:"step,omitempty"`

	Machine string `json:"machine,omitempty"`
	Record  string `json:"record,omitempty"`
	Event   string `json:"event,omitempty"`
	Key     string `json:"key,omitempty"`
	Cause   string `json:"cause,omitempty"`
	Version int64  `json:"version,omitempty"`

	Effect  string          `json:"effect,omitempty"`
	ID      string          `json:"id,omitempty"`
	Attempt int             `json:"attempt,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
	// Of work: the version of its record, and whether it was cancelled, in one
	// snapshot of the database.
	Seen      int64 `json:"seen,omitempty"`
	Cancelled bool  `json:"cancelled,omitempty"`

	Kind  Kind   `json:"kind,omitempty"`
	Point Point  `json:"point,omitempty"`
	N     int    `json:"n,omitempty"`
	Label string `json:"label,omitempty"`
}

func (e entry) hit() Hit { return Hit{e.Point, e.N} }

// dispatched is an entry about an effect on its way.
func dispatched(kind entryKind, d fsm.Dispatch) entry {
	return entry{
		Entry: kind, Scenario: d.Correlation, Machine: d.Machine, Record: d.Record, Version: d.Version,
		Effect: d.Effect, ID: d.ID, Attempt: d.Attempt, Payload: d.Payload,
	}
}

// eventLog is the append-only file of one scenario, and what was read of it. An entry is
// one write, which a kill of the process does not undo. Several processes write at once.
type eventLog struct {
	file *os.File

	mu      sync.Mutex
	read    int64   // bytes of the file that were read
	entries []entry // what all processes have written up to there
}

const eventLogSuffix = ".log"

func eventLogFile(dir, tag string) string { return filepath.Join(dir, tag+eventLogSuffix) }

func openEventLog(dir, tag string) (*eventLog, error) {
	f, err := os.OpenFile(eventLogFile(dir, tag), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open an event log: %w", err)
	}
	return &eventLog{file: f}, nil
}

func (l *eventLog) write(e entry) error {
	line, err := json.Marshal(e)
	if err == nil {
		_, err = l.file.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write the event log: %w", err)
	}
	return nil
}

// past returns the entries written so far.
func (l *eventLog) past() ([]entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text, err := io.ReadAll(io.NewSectionReader(l.file, l.read, 1<<62))
	if err != nil {
		return nil, fmt.Errorf("read an event log: %w", err)
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1] // the rest is being written
	more, err := parseEventLog(text)
	if err != nil {
		return nil, err
	}
	l.read += int64(len(text))
	l.entries = append(l.entries, more...)
	return l.entries, nil
}

func parseEventLog(text []byte) (out []entry, err error) {
	for line := range bytes.Lines(text) {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("event log, line %q: %w", line, err)
		}
		out = append(out, e)
	}
	return out, nil
}

// readEventLog returns the entries of a scenario, none if it has no event log.
func readEventLog(dir, tag string) ([]entry, error) {
	text, err := os.ReadFile(eventLogFile(dir, tag))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read an event log: %w", err)
	}
	return parseEventLog(text)
}

// readEventLogs returns all event logs by the tags of their runs.
func readEventLogs(dir string, p plan) (map[string][]entry, error) {
	out := map[string][]entry{}
	for _, sc := range p.Runs {
		entries, err := readEventLog(dir, sc.Tag)
		if err != nil {
			return nil, err
		}
		out[sc.Tag] = entries
	}
	return out, nil
}
