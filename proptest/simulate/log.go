package simulate

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// runLog collects the log of a run, which is the same whenever the seed is, the problems
// that were found, and how often each thing happened.
type runLog struct {
	mu       sync.Mutex
	clock    *clock
	text     strings.Builder
	problems []string
	counts   map[string]int
}

// printf adds a line to the log.
func (l *runLog) printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(&l.text, "%14s  %s\n", l.clock.peek().Sub(startTime).Round(time.Microsecond), fmt.Sprintf(format, args...))
}

// count counts something that happened.
func (l *runLog) count(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[what]++
}

// problem records something that must not be.
func (l *runLog) problem(format string, args ...any) {
	p := fmt.Sprintf(format, args...)
	l.printf("PROBLEM %s", p)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.problems = append(l.problems, p)
}

// Took begins the counts of taken transitions. "machine.transition" follows.
const Took = "took "

// Situations lists what the counts of many runs must contain: every fault, every
// behaviour of a handler, and every other situation that a run can lead to.
func Situations() []string {
	out := []string{
		"accepted", "replayed", "already there", "told: rejected: invalid_transition", "told: rejected: not_allowed",
		"told: conflict", "told: record exists", "told: idempotency key is used", "told: injected", "told: refused", "told: handler failed",
		"a batch", "a caller's own transaction",
		"a transaction of several events", "a transaction has several events of a record", "a transaction rolls back what it tried", "a transaction that has written can't roll back what it tried", "a transaction is rolled back", "a transaction cancels work that it has written", "a transaction runs again",
		"a record is resumed", "an operator requeues a dead letter", "an operator discards a dead letter",
		"a query fails however often it is tried", "a handler in a transaction fails", "something else happens in between", "log: another worker has taken over",
		"a worker is killed", "a worker is killed at work", "a worker is replaced", "the clock jumps", "the clock jumps back", "a state is left while its work is under way",
		"a caller fires while a handler is at work", "a lease runs out while a handler is at work", "what has happened is delivered again",
		"log: the effects of a transaction are left to a worker", "effects of several records are carried out in one transaction",
		"an inline effect has ended", "answers are stored together", "answers that were to be stored together are stored one by one", "an inline effect is left to a worker", "counted: fsm_late_deadlines_total",
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
	for _, c := range behaviours {
		out = append(out, "a handler "+string(c.what))
	}
	for _, c := range queries {
		out = append(out, "a query "+string(c.what))
	}
	for _, c := range inlineBehaviours {
		out = append(out, "inline: "+string(c.what))
	}
	return out
}

// logHandler adds the log lines of the engine. It leaves out errors, since each store
// words them in its own way.
type logHandler struct{ log *runLog }

// Enabled accepts warnings and errors.
func (l logHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// WithAttrs is not used by the engine.
func (l logHandler) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup is not used by the engine.
func (l logHandler) WithGroup(string) slog.Handler { return l }

// Handle adds a line.
func (l logHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "machine", "record", "effect", "event", "task", "attempt":
			b.WriteString(" " + a.String())
		}
		return true
	})
	l.log.printf("  log %s %s%s", r.Level, r.Message, b.String())
	l.log.count("log: " + r.Message)
	return nil
}
