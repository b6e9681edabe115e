package simulate

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

// Took begins what is counted for each row of a table that was taken:
// machine.transition follows.
const Took = "took "

// Happenings lists what the counts of many plays must all contain: every fault,
// every course of a handler, and what else a play can lead to.
func Happenings() []string {
	out := []string{
		"accepted", "replayed", "already there", "told: rejected: invalid_transition", "told: rejected: not_allowed",
		"told: conflict", "told: record exists", "told: idempotency key is used", "told: injected", "told: refused", "told: handler failed",
		"a batch", "a caller's own transaction",
		"a unit", "a unit leads a record on more than once", "a unit forgets what it tried", "a unit that has written can't forget", "a unit is rolled back", "a transaction takes work back that it has written", "a unit runs again",
		"a record is resumed", "a person requeues a dead letter", "a person discards a dead letter",
		"a query fails however often it is tried", "a handler in a transaction fails", "something else happens in between", "log: another worker has taken over",
		"a worker is killed", "a worker is killed at work", "a worker is replaced", "the clock jumps", "the clock jumps back", "a state is left while its work is under way",
		"somebody fires while a handler is at work", "a lease runs out while a handler is at work", "what has happened is delivered again",
		"log: the effects of a transaction are left to a worker", "effects of several records are carried out in one transaction",
		"an inline effect has ended", "answers are stored together", "answers that were to be stored together are stored one by one", "an inline effect is left to a worker", "counted: fsm_late_timers_total",
		"a worker is cut off for longer than a lease", "a worker is cut off at work", "the store is away for longer than a lease",
		"the store is asked during an outage", "an effect is taken over from a worker that is cut off",
		"the store does not tell the time", "log: the clock of this machine differs from that of the database, which is used: set it",
		"a due effect is left to a version that knows it", "a due deadline is left to a version that knows it",
		"a due effect is left to a version that knows its state", "a due deadline is left to a version that knows its state", "a record is in a state that the version does not have", "counted: fsm_unrecordable_events_total",
	}
	for _, f := range faults {
		if f.what != none {
			out = append(out, string(f.what))
		}
	}
	for _, c := range courses {
		out = append(out, "a handler "+string(c.what))
	}
	for _, c := range queries {
		out = append(out, "a query "+string(c.what))
	}
	for _, c := range inlineCourses {
		out = append(out, "inline: "+string(c.what))
	}
	return out
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
