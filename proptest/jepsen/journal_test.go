//go:build unix

package jepsen_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"
)

// entry is one line of a journal: a call of the outside world, or what a loader
// knows of an event that it fired.
type entry struct {
	Call  *call  `json:",omitempty"`
	Fired *fired `json:",omitempty"`
}

// verdict is what a loader knows of an event.
type verdict string

const (
	meant    verdict = "meant" // not answered yet
	accepted verdict = "accepted"
	refused  verdict = "refused"
)

// fired is an event of a loader.
type fired struct {
	Ref     string // unique
	Record  string
	Event   string
	Verdict verdict
	Version int64 // that it led to, where accepted
}

// journal is a file that outlives the process that appends to it.
type journal struct {
	mu   sync.Mutex
	file *os.File
}

func openJournal(path string) (*journal, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	return &journal{file: f}, err
}

// add appends an entry. It is with the kernel when add returns.
func (j *journal) add(e entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	_, err = j.file.Write(append(line, '\n'))
	return err
}

// readJournal reads all entries of a file.
func readJournal(path string) ([]entry, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []entry
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, e)
	}
	return all, nil
}
