package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// journal is what a play showed: a log that is the same whenever the seed is,
// the problems that were found on the way, and how often each thing happened.
type journal struct {
	mu       sync.Mutex
	clock    *clock
	text     strings.Builder
	problems []string
	counts   map[string]int
}

// say adds a line.
func (j *journal) say(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	fmt.Fprintf(&j.text, "%14s  %s\n", j.clock.peek().Sub(epoch).Round(time.Microsecond), fmt.Sprintf(format, args...))
}

// count notes that something happened.
func (j *journal) count(what string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.counts[what]++
}

// problem notes what must not be.
func (j *journal) problem(format string, args ...any) {
	p := fmt.Sprintf(format, args...)
	j.say("PROBLEM %s", p)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.problems = append(j.problems, p)
}

// lines is what the engine logs; errors are left out, since stores word theirs
// in their own ways.
type lines struct{ journal *journal }

// Enabled says that warnings and errors are logged.
func (l lines) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// WithAttrs is not used by the engine.
func (l lines) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup is not used by the engine.
func (l lines) WithGroup(string) slog.Handler { return l }

// Handle logs a line.
func (l lines) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "machine", "record", "effect", "event", "task", "attempt":
			b.WriteString(" " + a.String())
		}
		return true
	})
	l.journal.say("  log %s %s%s", r.Level, r.Message, b.String())
	l.journal.count("log: " + r.Message)
	return nil
}
