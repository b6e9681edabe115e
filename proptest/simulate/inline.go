package simulate

import (
	"context"
	"fmt"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// mayInline reports whether an effect can be carried out within a transaction.
func mayInline(e *ir.Effect) bool {
	repeats := e.Delivery == ir.Idempotent || e.Delivery == ir.Keyed
	return e.Kind == ir.Call && repeats && e.Cleanup == nil && len(e.Returns) > 0
}

// inlineSome has the worker carry out within its transactions what the seed says.
func (w *worker[Tx]) inlineSome() error {
	const some = 500
	for _, r := range w.roles {
		for _, e := range r.table.Effects {
			if !mayInline(e) || w.lacks(r.Name(), e.Text) || !w.play.dice.chance(some) {
				continue
			}
			w.play.journal.say("%s carries out %s.%s in its transactions", w.name, r.Name(), e.Text)
			if err := w.engine.Inline(r.Name(), e.Text, actors[Tx]{r, w}.inline); err != nil {
				return err
			}
		}
	}
	return nil
}

// The courses of an effect that is carried out within a transaction, beside those
// of a handler.
const (
	declines  course = "has no answer"
	tooFew    course = "has too few answers"
	statement course = "has a statement fail"
)

var inlineCourses = []weighted[course]{
	{700, succeeds}, {80, declines}, {40, slow}, {40, fails}, {30, panics}, {20, statement}, {20, tooFew}, {30, nonsense}, {40, lost},
}

// inline carries out effects of one name, or does not. Those that have an answer
// leave a trace in the transaction.
func (m actors[Tx]) inline(ctx context.Context, tx Tx, effects []fsm.Dispatch) ([]*fsm.Event, error) {
	p := m.worker.play
	c := m.inlineCourse()
	p.journal.count("inline: " + string(c))
	if len(effects) > 1 {
		p.journal.count("effects of several records are carried out in one transaction")
	}
	answers := make([]*fsm.Event, len(effects))
	for i, d := range effects {
		p.journal.say("  %s: %s %s.%s v%d in its transaction, %s", m.worker.name, alias(d.Record), d.Machine, d.Effect, d.Version, c)
		if answers[i] = m.inlineAnswer(d, c); answers[i] == nil {
			continue
		}
		if err := m.leaveTrace(ctx, tx, d, answers[i].Name); err != nil {
			return nil, err
		}
	}
	switch c {
	case slow:
		p.clock.move(p.dice.span(0, p.config.Lease+p.config.Lease))
	case fails:
		return nil, errOutside
	case panics:
		panic("in a transaction")
	case statement:
		return nil, p.subject.Exec(ctx, tx, "INSERT INTO simulated_nowhere VALUES (1)")
	case tooFew:
		return answers[1:], nil
	case lost:
		m.worker.store.dead.Store(true)
		return nil, errDead
	}
	return answers, nil
}

func (m actors[Tx]) inlineCourse() course {
	if m.worker.play.calm {
		return succeeds
	}
	return draw(m.worker.play.dice, inlineCourses)
}

// inlineAnswer invents an answer to an effect; nil: none. The record is as its
// machine has left it, and need not be stored.
func (m actors[Tx]) inlineAnswer(d fsm.Dispatch, c course) *fsm.Event {
	const few = 100
	p := m.worker.play
	switch {
	case c == declines, !p.calm && p.dice.chance(few):
		return nil
	case c == nonsense:
		return &fsm.Event{Name: "nonsense", Payload: []byte(`{"a":1}`)}
	}
	record := m.worker.decided[d.Machine+" "+d.Record]
	rec, err := known(m.table, record)
	if err != nil {
		p.journal.problem("%v", err)
	}
	return m.invent(m.effect(d.Effect), record, author{dice: p.dice, table: m.table, record: rec, now: p.clock.peek()})
}

func (m actors[Tx]) leaveTrace(ctx context.Context, tx Tx, d fsm.Dispatch, answer string) error {
	return m.worker.play.subject.Exec(ctx, tx, fmt.Sprintf(
		"INSERT INTO simulated_inline (machine, record_id, version, effect, answer) VALUES ('%s', '%s', %d, '%s', '%s')",
		d.Machine, d.Record, d.Version, d.Effect, answer))
}
