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

// entryKind tells what an entry of the diary notes.
type entryKind string

const (
	began     entryKind = "began"     // a scenario
	ended     entryKind = "ended"     // a scenario, in rest
	clockSet  entryKind = "clock"     // the clock of the scenario stands at At
	ticked    entryKind = "ticked"    // step Step, which lets time pass, is done
	mended    entryKind = "mended"    // what handlers failed for is mended
	accepted  entryKind = "accepted"  // the engine told a caller so
	refused   entryKind = "refused"   // the engine refused step Step, for the reason Cause
	overslept entryKind = "overslept" // a timer came due while nobody was there
	called    entryKind = "called"    // a handler was called
	done      entryKind = "done"      // it changed the world
	asked     entryKind = "asked"     // a query was asked
	cutHere   entryKind = "cut"       // the process kills itself now
	passed    entryKind = "passed"    // a point was passed, in a life without a cut
)

// entry is one line of the diary. Each kind uses some of the fields.
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

func (e entry) cut() Cut { return Cut{e.Point, e.N} }

// dispatched is an entry about an effect on its way.
func dispatched(kind entryKind, d fsm.Dispatch) entry {
	return entry{
		Entry: kind, Scenario: d.Correlation, Machine: d.Machine, Record: d.Record, Version: d.Version,
		Effect: d.Effect, ID: d.ID, Attempt: d.Attempt, Payload: d.Payload,
	}
}

// diary is the append-only file of one scenario, and what was read of it. An
// entry is one write, which a kill of the process does not undo; several
// processes write at once.
type diary struct {
	file *os.File

	mu      sync.Mutex
	read    int64   // bytes of the file that were read
	entries []entry // what all processes have written up to there
}

const diarySuffix = ".diary"

func diaryFile(dir, tag string) string { return filepath.Join(dir, tag+diarySuffix) }

func openDiary(dir, tag string) (*diary, error) {
	f, err := os.OpenFile(diaryFile(dir, tag), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open a diary: %w", err)
	}
	return &diary{file: f}, nil
}

func (d *diary) write(e entry) error {
	line, err := json.Marshal(e)
	if err == nil {
		_, err = d.file.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write the diary: %w", err)
	}
	return nil
}

// past returns what was written so far.
func (d *diary) past() ([]entry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	text, err := io.ReadAll(io.NewSectionReader(d.file, d.read, 1<<62))
	if err != nil {
		return nil, fmt.Errorf("read a diary: %w", err)
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1] // the rest is being written
	more, err := parseDiary(text)
	if err != nil {
		return nil, err
	}
	d.read += int64(len(text))
	d.entries = append(d.entries, more...)
	return d.entries, nil
}

func parseDiary(text []byte) (out []entry, err error) {
	for line := range bytes.Lines(text) {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("diary, line %q: %w", line, err)
		}
		out = append(out, e)
	}
	return out, nil
}

// readDiary returns what the diary of a scenario says; nothing if there is none.
func readDiary(dir, tag string) ([]entry, error) {
	text, err := os.ReadFile(diaryFile(dir, tag))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read a diary: %w", err)
	}
	return parseDiary(text)
}

// readDiaries returns all diaries by the tags of their scenarios.
func readDiaries(dir string, p plan) (map[string][]entry, error) {
	out := map[string][]entry{}
	for _, sc := range p.Scenarios {
		entries, err := readDiary(dir, sc.Tag)
		if err != nil {
			return nil, err
		}
		out[sc.Tag] = entries
	}
	return out, nil
}
