package crash

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// sharedFailpoint is a file that says in which window one of several processes is killed.
// The first process that reaches it removes the file, and dies.
type sharedFailpoint struct {
	dir string
	// write adds to the event log of a run, and machineOf returns the machine of a message.
	// The process that sets the failpoint has neither.
	write     func(tag string, e entry) error
	machineOf func(messageID string) (string, error)
}

// target is the content of the file.
type target struct {
	Tag    string `json:"tag"`
	Window Window `json:"window"`
	Kill   Hit    `json:"kill"` // by which the scenario knows it
}

func (f *sharedFailpoint) file() string { return filepath.Join(f.dir, "failpoint") }

func (f *sharedFailpoint) set(b target) error {
	text, err := json.Marshal(b)
	if err == nil {
		err = replaceFile(f.file(), text)
	}
	if err != nil {
		return fmt.Errorf("set the failpoint: %w", err)
	}
	return nil
}

// taken reports whether a process has reached the failpoint.
func (f *sharedFailpoint) taken() bool {
	_, err := os.Stat(f.file())
	return errors.Is(err, fs.ErrNotExist)
}

// reach kills this process if it has reached the failpoint.
func (f *sharedFailpoint) reach(p Point, subjects ...subject) error {
	if f == nil || len(subjects) == 0 {
		return nil
	}
	text, err := os.ReadFile(f.file())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var b target
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	if err != nil {
		return fmt.Errorf("read the failpoint: %w", err)
	}
	for _, x := range subjects {
		if x.kind != b.Window.Kind || p != b.Window.Point {
			continue
		}
		if x.machine == "" { // a settlement names its message only
			if x.machine, err = f.machineOf(x.label); err != nil {
				return err
			}
		}
		if x.machine != b.Window.Machine || os.Remove(f.file()) != nil {
			continue
		}
		if err := f.write(b.Tag, entry{Entry: killedHere, Point: b.Kill.Point, N: b.Kill.N}); err != nil {
			return err
		}
		die()
	}
	return nil
}
