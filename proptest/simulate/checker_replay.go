package simulate

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/proptest/facts"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// checkRecord replays a history through the interpreter and compares the record, its
// messages, its calls inside transactions and its deadline with the result.
func (ck checker[Tx]) checkRecord(s storedRecord[Tx]) {
	rec, steps, err := ck.replay(s)
	if err != nil {
		ck.problem(s, "%v", err)
		return
	}
	if rec == nil || int64(len(steps)) != s.row.Version || len(steps) != len(s.history) {
		ck.problem(s, "it is at v%d after %d steps", s.row.Version, len(steps))
		return
	}
	got, err := marshalKnown(s)
	if want := string(interp.MarshalRecord(s.machine.table, rec)); err != nil || got != want {
		ck.problem(s, "the record is %s, its history leads to %s (%v)", got, want, err)
	}
	ck.checkEffects(s, steps)
	ck.checkInlined(s, steps)
	ck.checkAnswers(s, steps)
	ck.checkDeadlines(s, steps)
}

func (ck checker[Tx]) problem(s storedRecord[Tx], format string, args ...any) {
	ck.run.log.problem("%s %s: %s", s.machine.Name(), alias(s.id), fmt.Sprintf(format, args...))
}

// marshalKnown returns the stored record in the form of the interpreter.
func marshalKnown[Tx any](s storedRecord[Tx]) (string, error) {
	rec, err := known(s.machine.table, s.row.Record)
	if err != nil {
		return "", err
	}
	return string(interp.MarshalRecord(s.machine.table, rec)), nil
}

// taken is a step that the interpreter took.
type taken struct {
	interp.Step
	row      facts.Step
	together int  // the transaction that stored it
	leftNow  bool // a later step of that transaction left the state
}

// replay takes the steps of a history.
func (ck checker[Tx]) replay(s storedRecord[Tx]) (rec *interp.Record, steps []taken, err error) {
	table := s.machine.table
	if ck.run.config.TwoStep {
		table = withoutRaise(table)
	}
	for len(steps) < len(s.history) {
		h := s.history[len(steps)]
		if h.Version != int64(len(steps)+1) {
			return nil, nil, fmt.Errorf("v%d follows v%d", h.Version, len(steps))
		}
		result, err := one(table, s.id, rec, h)
		if err != nil {
			return nil, nil, fmt.Errorf("v%d: %w", h.Version, err)
		}
		if len(result.Steps) == 0 || len(steps)+len(result.Steps) > len(s.history) {
			return nil, nil, fmt.Errorf("v%d: %s takes %d steps", h.Version, h.Event, len(result.Steps))
		}
		for _, step := range result.Steps {
			row := s.history[len(steps)]
			if from := stateName(step.Before.State); row.Transition != step.Row.Text || row.To != step.After.State.Text || row.From != from ||
				row.Event != step.Input.Event.Text || row.Correlation != h.Correlation || !row.At.Equal(h.At) {
				return nil, nil, fmt.Errorf("v%d is %s from %s to %s on %s, where the table takes %s from %s to %s", row.Version, row.Transition,
					row.From, row.To, row.Event, step.Row.Text, from, step.After.State.Text)
			}
			at := written{place{table.Text, s.id}, row.Version}
			steps = append(steps, taken{Step: step, row: row, together: ck.run.outside.steps[at]})
		}
		rec = result.Record
	}
	for i := range steps {
		steps[i].leftNow = slices.ContainsFunc(rest(steps, i), func(later taken) bool { return later.Row.To != nil })
	}
	return rec, steps, nil
}

// rest returns the later steps of the same transaction.
func rest(steps []taken, i int) []taken {
	end := i + 1
	for end < len(steps) && steps[end].together == steps[i].together {
		end++
	}
	return steps[i+1 : end]
}

// one applies an event of a history.
func one(table *ir.Machine, id string, rec *interp.Record, h facts.Step) (interp.Result, error) {
	ev, ok := event(table, h.Event)
	if !ok {
		return interp.Result{}, fmt.Errorf("there is no event %s", h.Event)
	}
	args, err := interp.UnmarshalPayload(ev, json.RawMessage(h.Payload))
	if err != nil {
		return interp.Result{}, err
	}
	by, err := actor(table, h.By)
	if err != nil {
		return interp.Result{}, err
	}
	in := interp.Input{Event: ev, Args: args, Actor: by, Now: h.At}
	var result interp.Result
	var rejection *interp.Rejection
	if rec == nil {
		result, rejection = interp.Create(table, id, in)
	} else {
		result, rejection = interp.Fire(table, rec, in)
	}
	if rejection != nil {
		return result, fmt.Errorf("the table refuses it: %w", rejection)
	}
	return result, nil
}

// withoutRaise returns the table without raised events. In two-step mode a deadline fires
// them, so the history has them as events of their own.
func withoutRaise(table *ir.Machine) *ir.Machine {
	m := *table
	m.Rows = slices.Clone(table.Rows)
	for i, row := range m.Rows {
		r := *row
		r.Raise = nil
		m.Rows[i] = &r
	}
	return &m
}

func stateName(s *ir.State) string {
	if s == nil {
		return ""
	}
	return s.Text
}

// checkEffects compares messages and calls inside transactions with the effects of the
// steps.
func (ck checker[Tx]) checkEffects(s storedRecord[Tx], steps []taken) {
	type asked struct{ version, seq int64 }
	rows := map[asked]facts.Message{}
	for _, l := range ck.messages {
		if l.Machine == s.machine.Name() && l.Record == s.id {
			rows[asked{l.Version, l.Seq}] = l
		}
	}
	traces := map[facts.Effect]int{}
	for _, t := range ck.traces {
		if t.Answer == "" && t.Machine == s.machine.Name() && t.Record == s.id {
			traces[t.Effect]++
		}
	}
	for n, step := range steps {
		at := asked{version: int64(n + 1), seq: -1}
		for _, e := range step.Effects {
			if e.Effect == nil { // a metric has no place
				continue
			}
			at.seq++
			switch {
			case e.Effect.Kind == ir.Start:
				ck.checkStart(s, step, e)
			case e.Effect.Kind != ir.Call:
			case e.Effect.Delivery.InStep():
				traces[facts.Effect{Machine: s.machine.Name(), Record: s.id, Version: at.version, Name: e.Effect.Text}]--
			default:
				l, ok := rows[at]
				delete(rows, at)
				skipped := ck.ended(s, steps, n, e.Effect) || e.Effect.IsWork() && step.leftNow && !ck.takenBack(step, l)
				if ok == skipped || ok && (l.Name != e.Effect.Text || l.Payload != payloadOf(e) || l.Correlation != step.row.Correlation) {
					ck.problem(s, "v%d asks for %s %s, the outbox has %+v", at.version, e.Effect.Text, payloadOf(e), l)
				}
			}
		}
	}
	for _, l := range rows {
		ck.problem(s, "the outbox has %s v%d, which no step requests", l.Name, l.Version)
	}
	for t, n := range traces {
		if n != 0 {
			ck.problem(s, "%s v%d ran %+d times too often in its transaction", t.Name, t.Version, n)
		}
	}
}

// takenBack reports whether work was written and cancelled in the transaction of its
// step. That transaction has written more than once, as for a handler inside it.
func (ck checker[Tx]) takenBack(step taken, l facts.Message) bool {
	if ck.run.outside.saves[step.together] < 2 || !l.Cancelled || l.Attempts > 0 {
		return false
	}
	ck.run.log.count("a transaction cancels work that it has written")
	return true
}

// ended reports whether an effect of a step was carried out inline in the transaction of
// the step, and its answer applied there.
func (ck checker[Tx]) ended(s storedRecord[Tx], steps []taken, n int, e *ir.Effect) bool {
	want := facts.Effect{Machine: s.machine.Name(), Record: s.id, Version: int64(n + 1), Name: e.Text}
	i := slices.IndexFunc(ck.traces, func(t facts.Trace) bool { return t.Answer != "" && t.Effect == want })
	if i < 0 {
		return false
	}
	applied := slices.ContainsFunc(rest(steps, n), func(later taken) bool {
		return later.row.By == fsm.System() && later.row.Event == ck.traces[i].Answer
	})
	if applied {
		ck.run.log.count("an inline effect has ended")
	} else {
		ck.run.log.count("an inline effect is left to a worker")
	}
	return applied
}

// checkInlined looks for inline effects that no step requests, that were carried out more
// than once, or that can't be inline.
func (ck checker[Tx]) checkInlined(s storedRecord[Tx], steps []taken) {
	done := map[facts.Effect]int{}
	for _, c := range ck.traces {
		if c.Answer == "" || c.Machine != s.machine.Name() || c.Record != s.id {
			continue
		}
		asks := func(e interp.Effect) bool { return e.Effect != nil && e.Effect.Text == c.Name && mayInline(e.Effect) }
		if c.Version > int64(len(steps)) || !slices.ContainsFunc(steps[c.Version-1].Effects, asks) {
			ck.problem(s, "%s v%d was carried out in a transaction, which no step requests", c.Name, c.Version)
		}
		if done[c.Effect]++; done[c.Effect] > 1 {
			ck.problem(s, "%s v%d was carried out in a transaction %d times", c.Name, c.Version, done[c.Effect])
		}
	}
}

// checkStart looks for the record that a step started.
func (ck checker[Tx]) checkStart(s storedRecord[Tx], step taken, e interp.Effect) {
	var text struct{ Payload json.RawMessage }
	_ = json.Unmarshal(interp.MarshalEffect(e), &text) // it was just written
	found := 0
	for _, other := range ck.records {
		h := other.history
		if other.machine.Name() == e.Effect.Machine.Text && len(h) > 0 && h[0].Correlation == step.row.Correlation && h[0].At.Equal(step.row.At) &&
			h[0].By == fsm.System() && canonical(json.RawMessage(h[0].Payload)) == canonical(text.Payload) {
			found++
		}
	}
	if found != 1 {
		ck.problem(s, "v%d started %s, and there are %d such records", step.row.Version, e.Effect.Machine.Text, found)
	}
}

// payloadOf returns the payload of an effect as its message stores it.
func payloadOf(e interp.Effect) string {
	var text struct{ Payload json.RawMessage }
	_ = json.Unmarshal(interp.MarshalEffect(e), &text) // it was just written
	return canonical(text.Payload)
}

// checkAnswers looks for answers that were applied after their state was left.
func (ck checker[Tx]) checkAnswers(s storedRecord[Tx], steps []taken) {
	for _, m := range ck.run.outside.sorted() {
		if m.row.Machine != s.machine.Name() || m.row.RecordID != s.id || !m.row.Work {
			continue
		}
		for _, step := range steps[m.row.Version:max(m.row.Version, m.answered-1)] {
			if step.Row.To != nil {
				ck.problem(s, "v%d answers %s of v%d, whose state was left at v%d", m.answered, m.row.Effect, m.row.Version, step.row.Version)
			}
		}
	}
}

// checkDeadlines compares the deadline of a record with the one that its last steps set.
// One that is due may have fired.
func (ck checker[Tx]) checkDeadlines(s storedRecord[Tx], steps []taken) {
	var want interp.Deadline
	for _, step := range steps {
		if !step.Deadline.Kept {
			want = step.Deadline
		}
	}
	terminal := steps[len(steps)-1].After.State.Terminal
	armed := false
	for _, d := range ck.deadlines {
		if d.Machine != s.machine.Name() || d.Record != s.id {
			continue
		}
		switch {
		case terminal:
			ck.problem(s, "it has ended and has a deadline: %s", d.Event)
		case d.Kind == string(store.DeadlineRaise):
		case want.At == nil:
			ck.problem(s, "it has a deadline that its state has not: %s", d.Event)
		case !d.DueAt.Equal(*want.At) || d.Event != want.Fire.Event.Text:
			ck.problem(s, "it fires %s at %s, its state wants %s at %s", d.Event, d.DueAt, want.Fire.Event, *want.At)
		}
		armed = armed || d.Kind == string(store.DeadlineTimeout)
	}
	if want.At != nil && !armed && !ck.run.clock.came(*want.At) {
		ck.problem(s, "the deadline of its state is gone: %s at %s", want.Fire.Event, *want.At)
	}
	for _, l := range ck.messages {
		if terminal && l.Machine == s.machine.Name() && l.Record == s.id && l.Work && !l.Cancelled && l.State != "delivered" && l.State != "delivering" && !l.Discarded {
			for _, step := range steps[:len(steps)-1] {
				if step.row.Version == l.Version && step.After.State.Text != steps[len(steps)-1].After.State.Text {
					ck.problem(s, "it has ended and still works on %s", l.Name)
				}
			}
		}
	}
}
