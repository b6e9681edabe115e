package simulation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// lack is what an older version of a machine does not have: an effect, or an event
// that a deadline fires. The zero value lacks nothing.
type lack struct{ machine, effect, event string }

// drawLack draws what the version of a new worker lacks.
func (p *play[Tx]) drawLack() lack {
	const some = 300
	if p.calm || !p.dice.chance(some) {
		return lack{}
	}
	r := oneOf(p.dice, p.roles)
	var lacks []lack
	for _, e := range r.Effects() {
		if e.Kind == fsm.EffectCall && e.Delivery != fsm.InTransaction {
			lacks = append(lacks, lack{machine: r.Name(), effect: e.Name})
		}
	}
	for _, state := range slices.Sorted(maps.Keys(r.Timeouts())) {
		lacks = append(lacks, lack{machine: r.Name(), event: r.Timeouts()[state]})
	}
	if len(lacks) == 0 {
		return lack{}
	}
	return oneOf(p.dice, lacks)
}

// timer reports whether a timer fires what is not there.
func (l lack) timer(t *fsm.Timer) bool { return t != nil && l.event != "" && t.Fire.Name == l.event }

// transition reports whether the older version does not have a transition.
func (l lack) transition(t fsm.TransitionInfo) bool {
	return l.event != "" && (t.Event == l.event || t.Raises == l.event) || l.effect != "" && slices.Contains(t.Effects, l.effect)
}

// decision reports whether the older version can't have decided so.
func (l lack) decision(d fsm.Decision) bool {
	return d.Raised != nil && d.Raised.Name == l.event || slices.ContainsFunc(d.Steps, func(s fsm.Step) bool {
		return s.Event == l.event || l.timer(s.Timer) || slices.ContainsFunc(s.Effects, func(e fsm.Effect) bool { return e.Name == l.effect })
	})
}

// older is an older version of a machine: it knows nothing of what it lacks, and
// takes no transition that leads there.
type older[Tx any] struct {
	engine.Machine[Tx]
	lack lack
}

// Effects leaves out the effect that is not there.
func (m older[Tx]) Effects() []fsm.EffectInfo {
	return slices.DeleteFunc(m.Machine.Effects(), func(e fsm.EffectInfo) bool { return e.Name == m.lack.effect })
}

// Transitions leaves out those that are not there.
func (m older[Tx]) Transitions() []fsm.TransitionInfo {
	return slices.DeleteFunc(slices.Clone(m.Machine.Transitions()), m.lack.transition)
}

// Timeouts leaves out the event that is not there.
func (m older[Tx]) Timeouts() map[string]string {
	out := maps.Clone(m.Machine.Timeouts())
	maps.DeleteFunc(out, func(_, event string) bool { return event == m.lack.event })
	return out
}

// TimerOf knows no timer of an event that is not there.
func (m older[Tx]) TimerOf(r fsm.Record, entered time.Time) *fsm.Timer {
	if t := m.Machine.TimerOf(r, entered); !m.lack.timer(t) {
		return t
	}
	return nil
}

// Create takes no transition that is not there.
func (m older[Tx]) Create(id string, e fsm.Event, in fsm.Input) (fsm.Decision, error) {
	return m.decided(e, in)(m.Machine.Create(id, e, in))
}

// Fire takes no transition that is not there.
func (m older[Tx]) Fire(r fsm.Record, e fsm.Event, in fsm.Input) (fsm.Decision, error) {
	return m.decided(e, in)(m.Machine.Fire(r, e, in))
}

func (m older[Tx]) decided(e fsm.Event, in fsm.Input) func(fsm.Decision, error) (fsm.Decision, error) {
	return func(d fsm.Decision, err error) (fsm.Decision, error) {
		if err == nil && m.lack.decision(d) {
			return fsm.Decision{}, &fsm.Rejection{Machine: m.Name(), Reason: fsm.ErrInvalidTransition, Event: e.Name, Actor: in.By.Role}
		}
		return d, err
	}
}

// lacks reports whether the version of the worker has no such effect.
func (w *worker[Tx]) lacks(machine, effect string) bool {
	return w.store.lack == lack{machine: machine, effect: effect}
}

// leave looks at the due work that a claim of an older version leaves to others.
func (s *store[Tx]) leave(ctx context.Context, c engine.Claim, tasks []engine.Task) error {
	const most = 100
	if s.lack == (lack{}) {
		return nil
	}
	for _, t := range tasks {
		if t.Effect.Machine == s.lack.machine && t.Effect.Effect == s.lack.effect || t.Deadline.Machine == s.lack.machine && t.Deadline.Event.Name == s.lack.event {
			s.play.journal.problem("%s was given what it does not know: %s%s", s.worker, t.Effect.Effect, t.Deadline.Event.Name)
		}
	}
	page, err := s.Store.Read(ctx, engine.Read{Kind: engine.ReadUnknown, Now: c.Now, Lanes: c.Lanes, Events: c.Events, Limit: most})
	if err != nil {
		return fmt.Errorf("unknown work: %w", err)
	}
	for _, u := range page.Unknown {
		s.play.journal.count(fmt.Sprintf("a due %s is left to a version that knows it", u.Kind))
		s.play.journal.say("  %s leaves %d of %s %s to another version", s.worker, u.Count, u.Machine, u.Name)
	}
	return nil
}
