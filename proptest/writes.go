package proptest

import (
	"slices"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// writes tries, for every field, a value that no row of the step's edge writes: where
// none writes the field, any other; where the only row's value is determined, any
// other too.
func (w *walk) writes(s interp.Step) {
	edge := edgeRows(w.machine, s.Row)
	for _, f := range w.machine.Fields {
		if f.Derive != nil || w.done["write "+edgeName(s.Row)+" "+f.Text] || !fixed(edge, f) {
			continue
		}
		for _, other := range append(otherValues(f, s.After.Get(f)), nil) {
			if domain.Equal(other, s.After.Get(f)) || !isLegal(f, other) || !w.keeps(s, f, other) {
				continue
			}
			w.once("write %s %s", edgeName(s.Row), f.Text)
			w.update(foreignWrite, "fsmgen: ", s, func(r *recordRow) { r.record.Values[f.Index] = other }, "%s = %v by %s", f, other, edgeName(s.Row))
		}
	}
}

// fixed reports whether what f is after a step along an edge is known: no row writes
// it, or the only one determines it.
func fixed(edge []*ir.Row, f *ir.Field) bool {
	if !slices.ContainsFunc(edge, func(r *ir.Row) bool { return r.Writes(f) }) {
		return true
	}
	return len(edge) == 1 && slices.ContainsFunc(edge[0].Set, func(a ir.Assign) bool { return a.Target == f && edge[0].Determined(&a) })
}

// keeps reports whether the new record satisfies its state with another value of f, so
// that nothing but the step is wrong.
func (w *walk) keeps(s interp.Step, f *ir.Field, value ir.Value) bool {
	rec := s.After.Clone()
	rec.Values[f.Index] = value
	rec.Derive(w.machine)
	return interp.Broken(rec, s.Before.State) == nil
}

// guards tries, on the record as it is, each edge that the guards of all its rows
// close, with what a row writes.
func (w *walk) guards(s interp.Step) {
	for _, r := range w.machine.Rows {
		if r.From != s.After.State || r.Reject != nil || w.done["guard "+edgeName(r)] {
			continue
		}
		if slices.ContainsFunc(edgeRows(w.machine, r), func(o *ir.Row) bool { return !closed(o, s.After) }) {
			continue
		}
		next, ok := forced(w.machine, r, s.After)
		if !ok || !w.once("guard %s", edgeName(r)) {
			continue
		}
		row := recordRow{record: next, id: next.ID, state: next.State.Text, version: next.Version, lastEvent: r.Event.Text, at: stepTime(s), stays: r.To == nil}
		w.refuse(brokenGuard, "fsmgen: ", func() error { return w.db.updateRecord(w.machine, s.After, row) }, "%s, whose guard does not hold", edgeName(r))
	}
}

// closed reports whether a guard of r is false whatever the event brings.
func closed(r *ir.Row, rec *interp.Record) bool {
	old := func(o *ir.Operand) bool {
		switch side := r.Source(o).Side; side {
		case ir.Before, ir.Constant:
			return true
		case ir.Unknown, ir.After, ir.StepTime:
			return false
		default:
			panic(ir.NoForm("proptest.closed", side))
		}
	}
	return slices.ContainsFunc(r.When, func(c *ir.Clause) bool {
		return r.Decided(c) && old(&c.Left) && (c.Op.Presence() || old(&c.Right)) && !domain.Eval(c, reader(rec, rec.State))
	})
}

// forced is the record after r as if it had been accepted, if it satisfies its state.
func forced(m *ir.Machine, r *ir.Row, rec *interp.Record) (*interp.Record, bool) {
	next := rec.Clone()
	next.State, next.Version = r.Target(), rec.Version+1
	for i := range r.Set {
		v, err := domain.EvalExpr(&r.Set[i].Value, reader(rec, rec.State))
		f := r.Set[i].Target
		if err != nil || !isLegal(f, v) || f.Immutable && rec.Get(f) != nil && !domain.Equal(rec.Get(f), v) {
			return nil, false
		}
		next.Values[f.Index] = v
	}
	next.Derive(m)
	return next, interp.Broken(next, rec.State) == nil
}

// edgeRows are the accepting rows that share source, event and target with r.
func edgeRows(m *ir.Machine, r *ir.Row) []*ir.Row {
	return slices.DeleteFunc(slices.Clone(m.Rows), func(o *ir.Row) bool {
		return o.From != r.From || o.Event != r.Event || o.Reject != nil || o.Target() != r.Target()
	})
}

func edgeName(r *ir.Row) string {
	return r.Event.Text + " from " + stateName(r.From) + " to " + r.Target().Text
}
