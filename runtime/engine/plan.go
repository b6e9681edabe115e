package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// plan is what follows from accepted events, before anything is written. The
// fields stand in the order in which they are carried out: what the store
// writes, the calls that run inside the transaction, and, once it is committed,
// the log lines and metrics that the outcome holds back.
type plan[T any] struct {
	writes  []pendingWrite // of the record itself, then of those that it starts
	calls   []txCall[T]
	demand  demand
	outcome Outcome
}

// plan turns a decision about r into writes.
func (e *Engine[T]) plan(r request[T], row store.Row, d fsm.Decision) (plan[T], error) {
	p := plan[T]{outcome: Outcome{
		ID: r.id, Record: d.Record, Version: row.Version + int64(len(d.Steps)), Steps: d.Steps, Correlation: r.correlation,
	}}
	p.demand = r.demand()
	err := e.addWrite(&p, r, row, d, 0)
	for i := range p.writes {
		p.writes[i].closed = len(p.calls) > 0
	}
	return p, err
}

// addWrite adds the write of one record to a plan, then those of the records that it starts. depth
// is the number of starts that led here.
func (e *Engine[T]) addWrite(p *plan[T], r request[T], row store.Row, d fsm.Decision, depth int) error {
	c := store.Commit{Machine: r.machine.Name(), Tables: r.machine.tables, ID: r.id, IDValue: r.idValue, Task: r.task}
	version, entered, before := row.Version, row.EnteredAt, row.Record
	var starts []start[T]
	left := false
	for i, s := range d.Steps {
		version++
		eventID := e.config.NewToken()
		c.Steps = append(c.Steps, r.step(s, eventID, version, before))
		if i == 0 {
			c.Steps[0].Forced = r.forced
		}
		before = s.Record
		if !s.Internal && s.From != "" {
			left = true
			c.CancelWork = r.machine.hasWork && !row.OnlyPending && row.Version > 0
			// Work of a state that this very chain leaves never begins.
			c.Outbox = slices.DeleteFunc(c.Outbox, func(m OutboxMessage) bool { return m.Work })
		}
		r.setDeadline(&c, s, version)
		seq := 0
		for _, effect := range s.Effects {
			begun, err := e.addEffect(p, &c, asking[T]{r, s, eventID, version, seq}, effect)
			if err != nil {
				return err
			}
			starts = append(starts, begun...)
			if effect.Kind != fsm.EffectMetric { // a step leaves out a metric whose condition fails
				seq++
			}
		}
		pendingOf(&p.outcome).then(e.tellStep(r, s, entered, i == 0))
		if !s.Internal {
			entered = r.now
		}
	}
	if d.Raised != nil {
		c.SetDeadlines = append(c.SetDeadlines, r.deadline(store.DeadlineRaise, version, d.Record.StateName(), fsm.Deadline{At: r.now, Fire: *d.Raised}))
	}
	keys := r.keys(row.Record)
	if err := r.checkKeys(keys); err != nil {
		return err
	}
	for _, key := range keys {
		c.IdempotencyKeys = append(c.IdempotencyKeys, store.IdempotencyKey{
			Machine: c.Machine, Key: key, RecordID: r.id, Event: r.event.Name, Version: version, CreatedAt: r.now,
			By: r.by, Payload: d.Steps[0].Payload,
		})
	}
	p.writes = append(p.writes, pendingWrite{
		Commit: c, record: d.Record, version: version, entered: entered, onlyPending: row.OnlyPending || r.create, left: left,
	})
	for _, s := range starts {
		if err := e.addStart(p, r, s, depth+1); err != nil {
			return &RefusedError{Machine: s.machine.Name(), ID: s.id, Err: fmt.Errorf("started by %s %s: %w", c.Machine, c.ID, err)}
		}
	}
	return nil
}

// step returns the write of a transition.
func (r request[T]) step(s fsm.Step, eventID fsm.UUID, version int64, before fsm.Record) store.StepWrite {
	return store.StepWrite{
		HistoryRow: HistoryRow{
			EventID: eventID, Version: version, Transition: s.Transition, From: s.From, Event: s.Event, To: s.To, By: s.By, Payload: s.Payload,
			Correlation: r.correlation, At: r.now,
		},
		Entered: !s.Internal,
		Record:  s.Record,
		Before:  before,
	}
}

// setDeadline makes c set the deadline of s and clear the one before it. Of a chain of steps the
// last one counts.
func (r request[T]) setDeadline(c *store.Commit, s fsm.Step, version int64) {
	if s.KeepDeadline {
		return
	}
	c.SetDeadlines = nil
	if s.Deadline != nil {
		c.SetDeadlines = []store.Deadline{r.deadline(store.DeadlineTimeout, version, s.To, *s.Deadline)}
	}
	switch {
	case s.From == "":
	case s.Internal:
		c.ClearDeadlines = []store.DeadlineKind{store.DeadlineTimeout}
	default:
		c.ClearDeadlines = []store.DeadlineKind{store.DeadlineTimeout, store.DeadlineRaise}
	}
}

func (r request[T]) deadline(kind store.DeadlineKind, version int64, state string, t fsm.Deadline) store.Deadline {
	return store.Deadline{
		Machine: r.machine.Name(), RecordID: r.id, Kind: kind, Version: version,
		DueAt: fsm.Instant(t.At), Event: t.Fire, RecordState: state, Correlation: r.correlation,
	}
}

// start is a record of another machine that a step creates.
type start[T any] struct {
	machine *definition[T]
	id      string
	event   fsm.Event
}

// addStart decides the creation of a record that another one starts.
func (e *Engine[T]) addStart(p *plan[T], parent request[T], s start[T], depth int) error {
	// A chain that passes no machine twice is no longer than there are machines;
	// a longer one is a circle, which would never end.
	if depth >= len(e.machines) {
		return errors.New("machines start each other in a circle")
	}
	_, key, err := e.machine(s.machine.Name(), s.id)
	if err != nil {
		return err
	}
	r := request[T]{
		machine: s.machine, id: fsm.Text(key), idValue: key, event: s.event, create: true,
		by: fsm.System(), correlation: parent.correlation, now: parent.now,
	}
	d, err := r.ask(store.Row{}, e.config.TwoStep)
	if err != nil {
		return err
	}
	return e.addWrite(p, r, store.Row{}, d, depth)
}

// tellStep returns the measurement and log line of a step, for after the commit. entered is when
// the state before it was entered; first reports that the event itself led to the step, and no
// raised one.
func (e *Engine[T]) tellStep(r request[T], s fsm.Step, entered time.Time, first bool) func(context.Context) {
	return func(ctx context.Context) {
		name := r.machine.Name()
		e.count(name, MetricTransitions, "from", s.From, "event", s.Event, "to", s.To)
		if first && r.timedOut() {
			e.timeout(r, s, entered)
		}
		if !s.Internal && s.From != "" {
			e.left(r, s, entered)
		}
		if e.config.Logger.Enabled(ctx, slog.LevelDebug) {
			e.config.Logger.DebugContext(ctx, "transition", "machine", name, "record", r.id, "transition", s.Transition,
				"from", s.From, "event", s.Event, "to", s.To, "correlation", r.correlation)
		}
	}
}
