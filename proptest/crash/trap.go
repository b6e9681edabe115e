package crash

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// trap is a file that says in which window one of several processes is to be
// killed. Who gets there first takes it away, and dies.
type trap struct {
	dir string
	// Of a process that may be caught: how it leaves word in the diary of a
	// scenario, and of which machine a message is.
	write     func(tag string, e entry) error
	machineOf func(messageID string) (string, error)
}

// bait is what the file says.
type bait struct {
	Tag    string `json:"tag"`
	Window Window `json:"window"`
	Cut    Cut    `json:"cut"` // by which the scenario knows it
}

func (t *trap) file() string { return filepath.Join(t.dir, "trap") }

func (t *trap) set(b bait) error {
	text, err := json.Marshal(b)
	if err == nil {
		err = replaceFile(t.file(), text)
	}
	if err != nil {
		return fmt.Errorf("set the trap: %w", err)
	}
	return nil
}

// sprung reports whether somebody has taken the bait.
func (t *trap) sprung() bool {
	_, err := os.Stat(t.file())
	return errors.Is(err, fs.ErrNotExist)
}

// reach kills this process if the trap is set where it has come to.
func (t *trap) reach(p Point, subjects ...subject) error {
	if t == nil || len(subjects) == 0 {
		return nil
	}
	text, err := os.ReadFile(t.file())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var b bait
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	if err != nil {
		return fmt.Errorf("read the trap: %w", err)
	}
	for _, x := range subjects {
		if x.kind != b.Window.Kind || p != b.Window.Point {
			continue
		}
		if x.machine == "" { // a settlement names its message only
			if x.machine, err = t.machineOf(x.label); err != nil {
				return err
			}
		}
		if x.machine != b.Window.Machine || os.Remove(t.file()) != nil {
			continue
		}
		if err := t.write(b.Tag, entry{Entry: cutHere, Point: b.Cut.Point, N: b.Cut.N}); err != nil {
			return err
		}
		die()
	}
	return nil
}
