package crash

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/runtime/engine"
)

// clock is set by the script alone.
type clock interface {
	engine.Clock
	set(t time.Time) error
}

// ownClock is the clock of one process.
type ownClock struct {
	mu  sync.Mutex
	now time.Time
}

// Now returns the time of the scenario.
func (c *ownClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *ownClock) set(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
	return nil
}

// wallClock is the clock of the computer.
type wallClock struct{ engine.SystemClock }

func (wallClock) set(time.Time) error { return errors.New("the clock of the computer can't be set") }

// sharedClock is a file that several processes read and one writes. A reader with a name
// writes the time of its last claim, with no transaction under way, to a file of its own.
type sharedClock struct {
	dir, name string

	mu      sync.Mutex
	last    time.Time
	claimed time.Time
}

func (c *sharedClock) file() string { return filepath.Join(c.dir, "clock") }

// Now returns the time of the scenario, or the last known one if the file can't be read.
func (c *sharedClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	text, err := os.ReadFile(c.file())
	t, problem := time.Parse(time.RFC3339Nano, string(text))
	if err != nil || problem != nil || t.Equal(c.last) {
		return c.last
	}
	c.last = t
	return t
}

// claims records that a claim at a time begins. A worker claims one at a time, so no
// claim with an earlier time is under way.
func (c *sharedClock) claims(by time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.name == "" || c.claimed.Equal(c.last) || !by.Equal(c.last.Truncate(time.Microsecond)) {
		return
	}
	c.claimed = c.last
	_ = replaceFile(c.file()+"."+c.name, clockText(c.last)) // the waiting process reports a missing file
}

// clockText formats a time for the files.
func clockText(t time.Time) []byte { return []byte(t.Format(time.RFC3339Nano)) }

// seenBy reports whether a reader has claimed with the present time, with no transaction under way.
func (c *sharedClock) seenBy(name string) bool {
	now, err := os.ReadFile(c.file())
	seen, problem := os.ReadFile(c.file() + "." + name)
	return err == nil && problem == nil && string(now) == string(seen)
}

func (c *sharedClock) set(t time.Time) error {
	if err := replaceFile(c.file(), clockText(t)); err != nil {
		return fmt.Errorf("set the clock: %w", err)
	}
	return nil
}

// replaceFile writes a file so that readers find the old or the new content.
func replaceFile(name string, content []byte) error {
	if err := os.WriteFile(name+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}
