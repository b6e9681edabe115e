package simulate

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// checkStory replays a history through the interpreter: the record, its messages,
// its calls inside transactions and its deadline must be those that follow.
func (f findings[Tx]) checkStory(s story[Tx]) {
	rec, steps, err := f.replay(s)
	if err != nil {
		f.problem(s, "%v", err)
		return
	}
	if rec == nil || int64(len(steps)) != s.row.Version || len(steps) != len(s.history) {
		f.problem(s, "it is at v%d after %d steps", s.row.Version, len(steps))
		return
	}
	got, err := marshalKnown(s)
	if want := string(interp.MarshalRecord(s.role.table, rec)); err != nil || got != want {
		f.problem(s, "the record is %s, its history leads to %s (%v)", got, want, err)
	}
	f.checkEffects(s, steps)
	f.checkInlined(s, steps)
	f.checkAnswers(s, steps)
	f.checkDeadlines(s, steps)
}

func (f findings[Tx]) problem(s story[Tx], format string, args ...any) {
	f.play.journal.problem("%s %s: %s", s.role.Name(), alias(s.id), fmt.Sprintf(format, args...))
}

// marshalKnown is the stored record as the interpreter writes its own.
func marshalKnown[Tx any](s story[Tx]) (string, error) {
	rec, err := known(s.role.table, s.row.Record)
	if err != nil {
		return "", err
	}
	return string(interp.MarshalRecord(s.role.table, rec)), nil
}

// taken is a step that the interpreter took, with what the chain after it did.
type taken struct {
	interp.Step
	row      store.HistoryRow
	together int  // the transaction that stored it
	leftNow  bool // a later step of that transaction left the state
}

// replay takes the steps of a history.
func (f findings[Tx]) replay(s story[Tx]) (rec *interp.Record, steps []taken, err error) {
	table := s.role.table
	if f.play.config.TwoStep {
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
			steps = append(steps, taken{Step: step, row: row, together: f.play.outside.steps[at]})
		}
		rec = result.Record
	}
	for i := range steps {
		steps[i].leftNow = slices.ContainsFunc(rest(steps, i), func(later taken) bool { return later.Row.To != nil })
	}
	return rec, steps, nil
}

// rest are the steps after one that its transaction stored with it.
func rest(steps []taken, i int) []taken {
	end := i + 1
	for end < len(steps) && steps[end].together == steps[i].together {
		end++
	}
	return steps[i+1 : end]
}

// one applies an event of a history.
func one(table *ir.Machine, id string, rec *interp.Record, h store.HistoryRow) (interp.Result, error) {
	ev, ok := event(table, h.Event)
	if !ok {
		return interp.Result{}, fmt.Errorf("there is no event %s", h.Event)
	}
	args, err := interp.UnmarshalPayload(ev, h.Payload)
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

// withoutRaise is a table whose rows raise nothing: what they raise is fired by a
// deadline, and so in the history by itself.
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

// checkEffects compares messages and calls inside transactions with those that
// the steps ask for.
func (f findings[Tx]) checkEffects(s story[Tx], steps []taken) {
	type asked struct{ version, seq int64 }
	rows := map[asked]letter{}
	for _, l := range f.letters {
		if l.machine == s.role.Name() && l.record == s.id {
			rows[asked{l.version, l.seq}] = l
		}
	}
	traces := map[trace]int{}
	for _, t := range f.traces {
		if t.machine == s.role.Name() && t.record == s.id {
			traces[t]++
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
				f.checkStart(s, step, e)
			case e.Effect.Kind != ir.Call:
			case e.Effect.Delivery == ir.InTransaction:
				traces[trace{s.role.Name(), s.id, e.Effect.Text, at.version}]--
			default:
				l, ok := rows[at]
				delete(rows, at)
				skipped := f.ended(s, steps, n, e.Effect) || e.Effect.IsWork() && step.leftNow && !f.takenBack(step, l)
				if ok == skipped || ok && (l.effect != e.Effect.Text || l.payload != payloadOf(e) || l.correlation != step.row.Correlation) {
					f.problem(s, "v%d asks for %s %s, the outbox has %+v", at.version, e.Effect.Text, payloadOf(e), l)
				}
			}
		}
	}
	for _, l := range rows {
		f.problem(s, "the outbox has %s v%d, for which no step asked", l.effect, l.version)
	}
	for t, n := range traces {
		if n != 0 {
			f.problem(s, "%s v%d ran %+d times too often in its transaction", t.effect, t.version, n)
		}
	}
}

// takenBack reports whether work was written and cancelled in the transaction of the
// step that asks for it, which has written more than once, as for a handler within it.
func (f findings[Tx]) takenBack(step taken, l letter) bool {
	if f.play.outside.saves[step.together] < 2 || !l.cancelled || l.attempts > 0 {
		return false
	}
	f.play.journal.count("a transaction takes work back that it has written")
	return true
}

// ended reports whether an effect that a step asks for was carried out in the
// transaction of the step, and its answer applied there.
func (f findings[Tx]) ended(s story[Tx], steps []taken, n int, e *ir.Effect) bool {
	want := trace{s.role.Name(), s.id, e.Text, int64(n + 1)}
	i := slices.IndexFunc(f.inlined, func(c carried) bool { return c.trace == want })
	if i < 0 {
		return false
	}
	applied := slices.ContainsFunc(rest(steps, n), func(later taken) bool {
		return later.row.By == fsm.System() && later.row.Event == f.inlined[i].answer
	})
	if applied {
		f.play.journal.count("an inline effect has ended")
	} else {
		f.play.journal.count("an inline effect is left to a worker")
	}
	return applied
}

// checkInlined looks for what was carried out within transactions of which no step
// asked for it, more often than once, or though it may not be.
func (f findings[Tx]) checkInlined(s story[Tx], steps []taken) {
	done := map[trace]int{}
	for _, c := range f.inlined {
		if c.machine != s.role.Name() || c.record != s.id {
			continue
		}
		asks := func(e interp.Effect) bool { return e.Effect != nil && e.Effect.Text == c.effect && mayInline(e.Effect) }
		if c.version > int64(len(steps)) || !slices.ContainsFunc(steps[c.version-1].Effects, asks) {
			f.problem(s, "%s v%d was carried out in a transaction, for which no step asked", c.effect, c.version)
		}
		if done[c.trace]++; done[c.trace] > 1 {
			f.problem(s, "%s v%d was carried out in a transaction %d times", c.effect, c.version, done[c.trace])
		}
	}
}

// checkStart looks for the record that a step started.
func (f findings[Tx]) checkStart(s story[Tx], step taken, e interp.Effect) {
	var text struct{ Payload json.RawMessage }
	_ = json.Unmarshal(interp.MarshalEffect(e), &text) // it was just written
	found := 0
	for _, other := range f.stories {
		h := other.history
		if other.role.Name() == e.Effect.Machine.Text && len(h) > 0 && h[0].Correlation == step.row.Correlation && h[0].At.Equal(step.row.At) &&
			h[0].By == fsm.System() && canonical(h[0].Payload) == canonical(text.Payload) {
			found++
		}
	}
	if found != 1 {
		f.problem(s, "v%d started %s, and there are %d such records", step.row.Version, e.Effect.Machine.Text, found)
	}
}

// payloadOf is the payload of an effect as the outbox has it.
func payloadOf(e interp.Effect) string {
	var text struct{ Payload json.RawMessage }
	_ = json.Unmarshal(interp.MarshalEffect(e), &text) // it was just written
	return canonical(text.Payload)
}

// checkAnswers looks for answers that came after the state that waited for them
// was left, and for what came of them all the same.
func (f findings[Tx]) checkAnswers(s story[Tx], steps []taken) {
	for _, m := range f.play.outside.sorted() {
		if m.row.Machine != s.role.Name() || m.row.RecordID != s.id || !m.row.Work {
			continue
		}
		for _, step := range steps[m.row.Version:max(m.row.Version, m.answered-1)] {
			if step.Row.To != nil {
				f.problem(s, "v%d answers %s of v%d, whose state was left at v%d", m.answered, m.row.Effect, m.row.Version, step.row.Version)
			}
		}
	}
}

// checkDeadlines compares the timeout of a record with the one that its last
// steps armed. One that has come may have been consumed.
func (f findings[Tx]) checkDeadlines(s story[Tx], steps []taken) {
	var want interp.Deadline
	for _, step := range steps {
		if !step.Deadline.Kept {
			want = step.Deadline
		}
	}
	terminal := steps[len(steps)-1].After.State.Terminal
	armed := false
	for _, d := range f.deadlines {
		if d.machine != s.role.Name() || d.record != s.id {
			continue
		}
		switch {
		case terminal:
			f.problem(s, "it has ended and has a deadline: %s", d.event)
		case d.kind == string(store.DeadlineRaise):
		case want.At == nil:
			f.problem(s, "it has a deadline that its state has not: %s", d.event)
		case !d.at.Equal(*want.At) || d.event != want.Fire.Event.Text:
			f.problem(s, "it fires %s at %s, its state wants %s at %s", d.event, d.at, want.Fire.Event, *want.At)
		}
		armed = armed || d.kind == string(store.DeadlineTimeout)
	}
	if want.At != nil && !armed && !f.play.clock.came(*want.At) {
		f.problem(s, "the deadline of its state is gone: %s at %s", want.Fire.Event, *want.At)
	}
	for _, l := range f.letters {
		if terminal && l.machine == s.role.Name() && l.record == s.id && l.work && !l.cancelled && l.state != "delivered" && l.state != "delivering" && !l.discarded {
			for _, step := range steps[:len(steps)-1] {
				if step.row.Version == l.version && step.After.State.Text != steps[len(steps)-1].After.State.Text {
					f.problem(s, "it has ended and still works on %s", l.effect)
				}
			}
		}
	}
}
