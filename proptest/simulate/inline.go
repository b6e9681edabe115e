package simulate

import (
	"context"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/proptest/facts"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// mayInline reports whether an effect can be carried out inline.
func mayInline(e *ir.Effect) bool {
	repeats := e.Delivery.Repeats() && !e.Delivery.Asked()
	return e.Kind == ir.Call && repeats && e.Cleanup == nil && len(e.Returns) > 0
}

// inlineSome makes the worker carry out some effects inline.
func (w *worker[Tx]) inlineSome() error {
	const some = 500
	for _, r := range w.machines {
		for _, e := range r.table.Effects {
			if !mayInline(e) || w.lacks(r.Name(), e.Text) || !w.run.rng.chance(some) {
				continue
			}
			w.run.log.printf("%s carries out %s.%s in its transactions", w.name, r.Name(), e.Text)
			if err := w.engine.Inline(r.Name(), e.Text, simulated[Tx]{r, w}.inline); err != nil {
				return err
			}
		}
	}
	return nil
}

// The courses of an effect that is carried out within a transaction, beside those
// of a handler.
const (
	declines  behaviour = "has no answer"
	tooFew    behaviour = "has too few answers"
	statement behaviour = "has a statement fail"
)

var inlineBehaviours = []weighted[behaviour]{
	{700, succeeds}, {80, declines}, {40, slow}, {40, fails}, {30, panics}, {20, statement}, {20, tooFew}, {30, nonsense}, {40, lost},
}

// inline carries out effects of one name, or fails as rng says. Effects with an answer
// leave a trace in the transaction.
func (m simulated[Tx]) inline(ctx context.Context, tx Tx, effects []fsm.Dispatch) ([]*fsm.Event, error) {
	run := m.worker.run
	c := m.inlineBehaviour()
	run.log.count("inline: " + string(c))
	if len(effects) > 1 {
		run.log.count("effects of several records are carried out in one transaction")
	}
	answers := make([]*fsm.Event, len(effects))
	for i, d := range effects {
		run.log.printf("  %s: %s %s.%s v%d in its transaction, %s", m.worker.name, alias(d.Record), d.Machine, d.Effect, d.Version, c)
		if answers[i] = m.inlineAnswer(d, c); answers[i] == nil {
			continue
		}
		if err := run.subject.Exec(ctx, tx, facts.LeaveTrace(d, answers[i].Name)); err != nil {
			return nil, err
		}
	}
	switch c {
	case slow:
		run.clock.move(run.rng.span(0, run.config.Lease+run.config.Lease))
	case fails:
		return nil, errOutside
	case panics:
		panic("in a transaction")
	case statement:
		return nil, run.subject.Exec(ctx, tx, "INSERT INTO simulated_nowhere VALUES (1)")
	case tooFew:
		return answers[1:], nil
	case lost:
		m.worker.store.dead.Store(true)
		return nil, errDead
	}
	return answers, nil
}

func (m simulated[Tx]) inlineBehaviour() behaviour {
	if m.worker.run.noFaults {
		return succeeds
	}
	return draw(m.worker.run.rng, inlineBehaviours)
}

// inlineAnswer makes up an answer to an effect, or nil. The record is as its machine has
// last decided it, and may not be stored yet.
func (m simulated[Tx]) inlineAnswer(d fsm.Dispatch, c behaviour) *fsm.Event {
	const few = 100
	run := m.worker.run
	switch {
	case c == declines, !run.noFaults && run.rng.chance(few):
		return nil
	case c == nonsense:
		return &fsm.Event{Name: "nonsense", Payload: []byte(`{"a":1}`)}
	}
	record := m.worker.decided[d.Machine+" "+d.Record]
	rec, err := known(m.table, record)
	if err != nil {
		run.log.problem("%v", err)
	}
	return m.invent(m.effect(d.Effect), record, generator{rng: run.rng, table: m.table, record: rec, now: run.clock.peek()})
}
