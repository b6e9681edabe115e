package simulate

import (
	"fmt"
	"maps"
	"time"

	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// Config is where a walk begins.
type Config struct {
	Now time.Time // default: [Epoch]
	ID  string    // identity of the record; default: one that fits its type
}

// Epoch is when the clock of a session starts, so that transcripts repeat.
var Epoch = time.Date(2026, time.January, 1, 9, 0, 0, 0, time.UTC)

// Session is one walk through a machine.
type Session struct {
	machine *ir.Machine
	id      ir.Value
	start   time.Time
	walk
	before []walk // for undo
}

// walk is everything that a command can change.
type walk struct {
	record  *interp.Record // nil before creation
	now     time.Time
	timer   *timer
	params  map[*ir.Param]ir.Value
	actor   *interp.Actor // who fires when the command does not say; nil: not set
	history []entry
}

// timer is the armed deadline of the record.
type timer struct {
	at   time.Time
	fire *ir.Fire
	args []ir.Value
}

// entry is one line of the history.
type entry struct {
	at    time.Time
	actor interp.Actor
	step  interp.Step
}

// New starts a session without a record.
func New(m *ir.Machine, c Config) (*Session, error) {
	if c.Now.IsZero() {
		c.Now = Epoch
	}
	if c.ID == "" {
		c.ID = defaultID(m.ID.Type)
	}
	id, err := parseValue(c.ID, m.ID.Type, c.Now)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.ID, err)
	}
	s := &Session{machine: m, id: id, start: c.Now.UTC().Truncate(time.Microsecond)}
	s.reset()
	return s, nil
}

func defaultID(t ir.Type) string {
	switch t.Base {
	case ir.UUID:
		return "00000000-0000-4000-8000-000000000001"
	case ir.Int:
		return "1"
	case ir.String, ir.Bool, ir.Time, ir.Duration, ir.JSON, ir.ListOf, ir.EnumOf: // where it is none, parseValue says what is one
		return "first"
	}
	panic(ir.NoForm("simulate.defaultID", t.Base))
}

// reset forgets everything but the machine and the identity.
func (s *Session) reset() { s.walk = walk{now: s.start, params: map[*ir.Param]ir.Value{}} }

// remember keeps the present for undo.
func (s *Session) remember() {
	kept := s.walk
	kept.params = maps.Clone(s.params)
	s.before = append(s.before, kept)
}

// undo returns to what was before the last command that changed something.
func (s *Session) undo() bool {
	if len(s.before) == 0 {
		return false
	}
	s.walk = s.before[len(s.before)-1]
	s.before = s.before[:len(s.before)-1]
	return true
}

// outcome is what became of one event.
type outcome struct {
	event     *ir.Event
	actor     interp.Actor
	at        time.Time
	deadline  bool // the clock fired it
	result    interp.Result
	rejection *interp.Rejection
}

// fire offers one event to the record and keeps what is accepted.
func (s *Session) fire(ev *ir.Event, args []ir.Value, actor interp.Actor) outcome {
	out := s.try(ev, args, actor)
	if out.rejection != nil {
		return out
	}
	s.record = out.result.Record
	for _, step := range out.result.Steps {
		s.history = append(s.history, entry{s.now, actor, step})
		actor = interp.System() // what follows is raised
		switch d := step.Deadline; {
		case d.Kept:
		case d.At == nil:
			s.timer = nil
		default:
			s.timer = &timer{*d.At, d.Fire, d.Args}
		}
	}
	return out
}

// try is fire without consequences.
func (s *Session) try(ev *ir.Event, args []ir.Value, actor interp.Actor) outcome {
	in := interp.Input{Event: ev, Args: args, Actor: actor, Now: s.now, Params: s.params}
	out := outcome{event: ev, actor: actor, at: s.now}
	if s.record == nil {
		out.result, out.rejection = interp.Create(s.machine, s.id, in)
	} else {
		out.result, out.rejection = interp.Fire(s.machine, s.record, in)
	}
	return out
}

// maxDeadlines bounds one advance: two states whose deadlines lead to each
// other would otherwise never end.
const maxDeadlines = 1000

// advance moves the clock and fires the deadlines that come due on the way. A
// deadline that is refused is consumed.
func (s *Session) advance(d time.Duration) ([]outcome, error) {
	until := s.now.Add(d)
	var fired []outcome
	for s.timer != nil && !s.timer.at.After(until) {
		if len(fired) == maxDeadlines {
			return fired, fmt.Errorf("stopped after %d deadlines, at %s", maxDeadlines, show(s.now))
		}
		due := s.timer
		s.timer = nil
		if due.at.After(s.now) {
			s.now = due.at
		}
		out := s.fire(due.fire.Event, due.args, interp.System())
		out.deadline = true
		fired = append(fired, out)
	}
	s.now = until
	return fired, nil
}
