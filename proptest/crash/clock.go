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

// clock is moved by the script alone.
type clock interface {
	engine.Clock
	set(t time.Time) error
}

// ownClock is that of one process.
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

// wallClock is that of the machine.
type wallClock struct{ engine.SystemClock }

func (wallClock) set(time.Time) error { return errors.New("nobody sets the clock of the machine") }

// sharedClock is a file that several processes read and one writes. A reader
// with a name leaves the time by which it claims in a file of its own.
type sharedClock struct {
	dir, name string

	mu      sync.Mutex
	last    time.Time
	claimed time.Time
}

func (c *sharedClock) file() string { return filepath.Join(c.dir, "clock") }

// Now returns the time of the scenario; the last one known if there is no file.
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

// claims notes that a claim by a time begins. A worker claims one at a time, so nothing
// is claimed by an earlier reading of the clock any more.
func (c *sharedClock) claims(by time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.name == "" || c.claimed.Equal(c.last) || !by.Equal(c.last.Truncate(time.Microsecond)) {
		return
	}
	c.claimed = c.last
	_ = replaceFile(c.file()+"."+c.name, clockText(c.last)) // who waits for it will say that it is not there
}

// clockText is a time as the files have it.
func clockText(t time.Time) []byte { return []byte(t.Format(time.RFC3339Nano)) }

// seenBy reports whether a reader claims by the present time.
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

// replaceFile writes a file so that whoever reads it finds the old or the new
// content.
func replaceFile(name string, content []byte) error {
	if err := os.WriteFile(name+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}
