package simulate

import (
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// leases are who holds which task until when, as the claims and the commits of
// all workers tell it.
type leases struct {
	journal *journal
	held    map[task]lease
}

// task names what is leased: an effect by its message, a deadline by its record
// and kind.
type task struct {
	message, machine, record string
	timer                    store.DeadlineKind
}

type lease struct {
	worker string
	token  fsm.UUID
	until  time.Time
}

// claimed notes what a worker was given.
func (l leases) claimed(c store.Claim, tasks []store.Task) {
	for _, t := range tasks {
		name := task{message: t.Effect.MessageID}
		if t.Kind == store.TaskDeadline {
			name = task{"", t.Deadline.Machine, t.Deadline.RecordID, t.Deadline.Kind}
		}
		l.held[name] = lease{c.Worker, t.Token, c.Until}
	}
}

// settled notes what became of a task, and objects where that was stored for a
// worker that did not hold it. A person, who has no token, holds nothing.
func (l leases) settled(s store.Settlement) {
	if s.Token == (fsm.UUID{}) {
		return
	}
	name := task{message: s.MessageID}
	if s.Kind == store.TaskDeadline {
		name = task{"", s.Machine, s.RecordID, s.Deadline}
	}
	held := l.held[name]
	switch {
	case held.token != s.Token:
		l.journal.problem("%s %s was settled under a lease that was over", s.Kind, name)
	case s.Renew.IsZero():
		delete(l.held, name)
	default:
		l.held[name] = lease{held.worker, held.token, s.Renew}
	}
}

// saved notes what a commit ends: its task, and deadlines that are no longer
// what was leased.
func (l leases) saved(c store.Commit) {
	if c.Task != nil {
		l.settled(*c.Task)
	}
	for _, kind := range c.ClearDeadlines {
		delete(l.held, task{"", c.Machine, c.ID, kind})
	}
	if len(c.Steps) == 0 {
		return // what is armed without a step leaves a deadline of the same version alone
	}
	for _, armed := range c.SetDeadlines {
		delete(l.held, task{"", armed.Machine, armed.RecordID, armed.Kind})
	}
}

// holder is the worker that holds a message at a time; "": none.
func (l leases) holder(message string, now time.Time) string {
	if held := l.held[task{message: message}]; held.until.After(now) {
		return held.worker
	}
	return ""
}

// String names the task in a problem.
func (t task) String() string {
	if t.message != "" {
		return t.message
	}
	return alias(t.record) + " " + t.machine + " " + string(t.timer)
}
