package simulate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// lack is what an older version of a machine does not have: an effect, an event that a
// deadline fires, or a state. The zero value lacks nothing.
type lack struct{ machine, effect, event, state string }

// drawLack chooses what the version of a new worker lacks.
func (run *run[Tx]) drawLack() lack {
	const some = 300
	if run.noFaults || !run.rng.chance(some) {
		return lack{}
	}
	r := oneOf(run.rng, run.machines)
	var lacks []lack
	for _, e := range r.Effects() {
		if e.InOutbox() {
			lacks = append(lacks, lack{machine: r.Name(), effect: e.Name})
		}
	}
	for _, state := range slices.Sorted(maps.Keys(r.Timeouts())) {
		lacks = append(lacks, lack{machine: r.Name(), event: r.Timeouts()[state]})
	}
	for _, state := range r.States() {
		if begins := func(t fsm.TransitionInfo) bool { return t.From == "" && t.To == state }; !slices.ContainsFunc(r.Transitions(), begins) {
			lacks = append(lacks, lack{machine: r.Name(), state: state})
		}
	}
	if len(lacks) == 0 {
		return lack{}
	}
	return oneOf(run.rng, lacks)
}

// deadline reports whether a deadline fires the missing event.
func (l lack) deadline(t *fsm.Deadline) bool {
	return t != nil && l.event != "" && t.Fire.Name == l.event
}

// transition reports whether the older version does not have a transition.
func (l lack) transition(t fsm.TransitionInfo) bool {
	return l.state != "" && (t.From == l.state || t.To == l.state) || l.event != "" && (t.Event == l.event || t.Raises == l.event) || l.effect != "" && slices.Contains(t.Effects, l.effect)
}

// decision reports whether the older version can't have made a decision.
func (l lack) decision(d fsm.Decision) bool {
	return d.Raised != nil && d.Raised.Name == l.event || slices.ContainsFunc(d.Steps, func(s fsm.Step) bool {
		return s.Event == l.event || s.To == l.state || l.deadline(s.Deadline) || slices.ContainsFunc(s.Effects, func(e fsm.Effect) bool { return e.Name == l.effect })
	})
}

// older is an older version of a machine. It lacks something and every transition that
// leads there.
type older[Tx any] struct {
	engine.Machine[Tx]
	lack lack
}

// States leaves out the missing state.
func (m older[Tx]) States() []string {
	return slices.DeleteFunc(slices.Clone(m.Machine.States()), func(s string) bool { return s == m.lack.state })
}

// Effects leaves out the missing effect.
func (m older[Tx]) Effects() []fsm.EffectInfo {
	return slices.DeleteFunc(m.Machine.Effects(), func(e fsm.EffectInfo) bool { return e.Name == m.lack.effect })
}

// Transitions leaves out the missing transitions.
func (m older[Tx]) Transitions() []fsm.TransitionInfo {
	return slices.DeleteFunc(slices.Clone(m.Machine.Transitions()), m.lack.transition)
}

// Timeouts leaves out the missing event.
func (m older[Tx]) Timeouts() map[string]string {
	out := maps.Clone(m.Machine.Timeouts())
	maps.DeleteFunc(out, func(state, event string) bool { return event == m.lack.event || state == m.lack.state })
	return out
}

// DeadlineOf returns no deadline of a missing event.
func (m older[Tx]) DeadlineOf(r fsm.Record, entered time.Time) *fsm.Deadline {
	if t := m.Machine.DeadlineOf(r, entered); !m.lack.deadline(t) {
		return t
	}
	return nil
}

// Create takes no missing transition.
func (m older[Tx]) Create(id string, e fsm.Event, in fsm.Input) (fsm.Decision, error) {
	return m.decided(e, in)(m.Machine.Create(id, e, in))
}

// Fire takes no missing transition.
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

// lacks reports whether the version of the worker lacks an effect.
func (w *worker[Tx]) lacks(machine, effect string) bool {
	return w.store.lack == lack{machine: machine, effect: effect}
}

// checkLeft checks and counts the due tasks that a claim of an older version leaves to
// others.
func (s *faultyStore[Tx]) checkLeft(ctx context.Context, c store.Claim, tasks []store.Task) error {
	const most = 100
	if s.lack == (lack{}) {
		return nil
	}
	for _, t := range tasks {
		e, d := t.Effect, t.Deadline
		if e.Machine == s.lack.machine && (e.Effect == s.lack.effect || e.RecordState == s.lack.state) ||
			d.Machine == s.lack.machine && (d.Event.Name == s.lack.event || d.RecordState == s.lack.state) {
			s.run.log.problem("%s was given what it does not know: %s%s in %s%s", s.worker, e.Effect, d.Event.Name, e.RecordState, d.RecordState)
		}
	}
	page, err := s.Store.Read(ctx, store.Read{Kind: store.ReadUnknown, Now: c.Now, Destinations: c.Destinations, Events: c.Events, Limit: most})
	if err != nil {
		return fmt.Errorf("unknown work: %w", err)
	}
	for _, u := range page.Unknown {
		what := "it"
		if u.State != "" {
			what = "its state"
		}
		s.run.log.count(fmt.Sprintf("a due %s is left to a version that knows %s", u.Kind, what))
		s.run.log.printf("  %s leaves %d of %s %s %s to another version", s.worker, u.Count, u.Machine, u.Name, u.State)
	}
	return nil
}

// Load can't read a record in a state that the worker's version lacks.
func (s *faultyStore[Tx]) Load(ctx context.Context, tx Tx, queries []store.Query) ([]store.Row, error) {
	rows, err := s.Store.Load(ctx, tx, queries)
	for i := range rows {
		s.unread(&rows[i], queries[i].Machine)
	}
	return rows, err
}

// unread turns a record in such a state into one that can't be read.
func (s *faultyStore[Tx]) unread(row *store.Row, machine string) {
	if row.Record == nil || s.lack.state == "" || machine != s.lack.machine || row.Record.StateName() != s.lack.state {
		return
	}
	s.run.log.count("a record is in a state that the version does not have")
	id := fsm.Text(row.Record.Values()[0])
	row.Record, row.Err = nil, &store.CorruptError{Machine: machine, ID: id, Err: &fsm.StateError{Machine: machine, State: s.lack.state}}
}
