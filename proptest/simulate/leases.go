package simulate

import (
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// leases records which worker holds which task until when, as the claims and commits of
// all workers say.
type leases struct {
	log  *runLog
	held map[task]lease
}

// task identifies what is leased: an effect by its message, a deadline by its record and
// kind.
type task struct {
	message, machine, record string
	deadline                 store.DeadlineKind
}

type lease struct {
	worker string
	token  fsm.UUID
	until  time.Time
}

// claimed records the tasks of a claim.
func (l leases) claimed(c store.Claim, tasks []store.Task) {
	for _, t := range tasks {
		name := task{message: t.Effect.MessageID}
		if t.Kind == store.TaskDeadline {
			name = task{"", t.Deadline.Machine, t.Deadline.RecordID, t.Deadline.Kind}
		}
		l.held[name] = lease{c.Worker, t.Token, c.Until}
	}
}

// settled records the end of a task. It is a problem if the worker did not hold the task.
// An operator has no token and holds nothing.
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
		l.log.problem("%s %s was settled under a lease that was over", s.Kind, name)
	case s.Renew.IsZero():
		delete(l.held, name)
	default:
		l.held[name] = lease{held.worker, held.token, s.Renew}
	}
}

// saved records what a commit ends: its task, and the leases of deadlines that it clears
// or replaces.
func (l leases) saved(c store.Commit) {
	if c.Task != nil {
		l.settled(*c.Task)
	}
	for _, kind := range c.ClearDeadlines {
		delete(l.held, task{"", c.Machine, c.ID, kind})
	}
	if len(c.Steps) == 0 {
		return // a deadline that is set without a step does not replace one of the same version
	}
	for _, armed := range c.SetDeadlines {
		delete(l.held, task{"", armed.Machine, armed.RecordID, armed.Kind})
	}
}

// holder returns the worker that holds a message at the given time, "" if there is none.
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
	return alias(t.record) + " " + t.machine + " " + string(t.deadline)
}
