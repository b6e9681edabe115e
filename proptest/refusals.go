package proptest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// What a database must refuse, in the order of the report.
const (
	missingEdge     = "missing edges"
	missingHistory  = "missing edges in history"
	wrongCreation   = "wrong creations"
	brokenHolds     = "broken holds"
	brokenNever     = "forbidden edges"
	immutableWrite  = "writes to immutable fields"
	invalidValue    = "invalid values"
	skippedVersion  = "wrong versions"
	changedHistory  = "changes of history"
	changedIdentity = "deletions and changes of identity"
	brokenReference = "broken references"
	foreignWrite    = "writes that no row makes"
	brokenGuard     = "steps whose guard does not hold"
	takenKey        = "taken keys"
)

var kindsOfRefusal = []string{missingEdge, missingHistory, wrongCreation, brokenHolds, brokenNever, immutableWrite,
	invalidValue, skippedVersion, changedHistory, changedIdentity, brokenReference, foreignWrite, brokenGuard, takenKey}

// once reports whether a refusal is to be tried: each is tried one time.
func (w *walk) once(format string, args ...any) bool {
	key := fmt.Sprintf(format, args...)
	fresh := !w.done[key]
	w.done[key] = true
	return fresh
}

// attempts runs refusals under one savepoint.
func (w *walk) attempts(try func()) {
	w.t.Helper()
	w.db.must(w.t, "SAVEPOINT attempts")
	try()
	w.db.must(w.t, "RELEASE SAVEPOINT attempts")
}

// refuse tries a statement that must fail, within attempts; word must be part
// of the error, so that it fails for the right reason.
func (w *walk) refuse(kind, word string, try func() error, format string, args ...any) {
	w.t.Helper()
	if w.failures >= maxFailures {
		return
	}
	w.refused[kind]++
	err := try()
	if err == nil || w.db.errorsAbort {
		w.db.must(w.t, "ROLLBACK TO SAVEPOINT attempts")
	}
	switch {
	case err == nil:
		w.errorf("accepts %s", fmt.Sprintf(format, args...))
	case !strings.Contains(err.Error(), word):
		w.errorf("refuses %s for another reason: %v", fmt.Sprintf(format, args...), err)
	}
}

// creation tries every way to begin a record that no row gives.
func (w *walk) creation(root *node) {
	m := w.machine
	if len(root.children) == 0 {
		return
	}
	first := root.children[0].steps[0]
	for _, ev := range m.Events {
		for _, state := range m.States {
			if hasEdge(m, nil, ev, state) {
				continue
			}
			row := rowOf(first)
			row.state, row.lastEvent = state.Text, ev.Text
			w.refuse(wrongCreation, ": edge:", func() error { return w.db.insertRecord(m, row) }, "a record created by %s in %s", ev, state)
		}
	}
	for _, version := range []int64{0, 2} {
		row := rowOf(first)
		row.version = version
		w.refuse(skippedVersion, ": version:", func() error { return w.db.insertRecord(m, row) }, "a record that begins with version %d", version)
	}
}

func hasEdge(m *ir.Machine, from *ir.State, ev *ir.Event, to *ir.State) bool {
	return slices.ContainsFunc(m.Rows, func(r *ir.Row) bool {
		return r.From == from && r.Event == ev && r.Reject == nil && r.Target() == to
	})
}

// before tries variations of a step that is about to be stored.
func (w *walk) before(s interp.Step) {
	w.holds(s)
	w.never(s)
	w.writes(s)
	if s.Row.From == nil {
		return
	}
	w.immutables(s)
	w.invalid(s)
	if w.once("versions of row %d", s.Row.Index) {
		for _, version := range []int64{s.Before.Version, s.Before.Version + 2, s.Before.Version - 1} {
			w.update(skippedVersion, ": version:", s, func(r *recordRow) { r.version = version }, "version %d after %d", version, s.Before.Version)
		}
	}
	if w.once("identity") {
		w.update(changedIdentity, ": immutable:", s, func(r *recordRow) { r.id = idOf(w.machine, 9) }, "another id")
		w.update(missingEdge, "", s, func(r *recordRow) { r.state = "no such state" }, "an undeclared state")
	}
}

// update tries the step's UPDATE with something changed.
func (w *walk) update(kind, word string, s interp.Step, change func(*recordRow), format string, args ...any) {
	w.t.Helper()
	row := rowOf(s)
	row.record = s.After.Clone()
	change(&row)
	w.refuse(kind, word, func() error { return w.db.writeRecord(w.machine, s, row) }, format, args...)
}

// holds tries, for every clause of the target's holds, a record that breaks
// just it.
func (w *walk) holds(s interp.Step) {
	state := s.After.State
	for i, c := range state.Holds {
		if w.done[fmt.Sprintf("holds %s %d", state, i)] {
			continue
		}
		if broken := breakOne(w.machine, s, state.Holds, i, false); broken != nil && w.once("holds %s %d", state, i) {
			w.update(brokenHolds, "", s, func(r *recordRow) { r.record = broken }, "%s without %s", state, c.Text)
		}
	}
}

// never tries forbidden edges whose exception does not hold.
func (w *walk) never(s interp.Step) {
	for _, inv := range w.machine.Invariants {
		n := inv.Never
		if n == nil || n.From != s.Row.From || !slices.Contains(n.To, s.After.State) {
			continue
		}
		for i, c := range n.Unless {
			if broken := breakOne(w.machine, s, n.Unless, i, false); broken != nil && w.once("never %s %d", inv, i) {
				w.update(brokenNever, "", s, func(r *recordRow) { r.record = broken }, "%s without %s", inv, c.Text)
			}
		}
	}
}

// breakOne returns the step's new record with values that make just clause i
// false, or nil if there are none. Only free lets it change write-once fields.
func breakOne(m *ir.Machine, s interp.Step, clauses []*ir.Clause, i int, free bool) *interp.Record {
	space := domain.Join(m, now, domain.View{Clauses: clauses})
	for _, v := range slices.Clone(space.Vars) {
		if v.Field != nil {
			space.Extend(v, s.After.Get(v.Field))
		}
	}
	for a := range space.All(maxBreaks, 1) {
		rec := s.After.Clone()
		if overlay(rec, s.Before, space, a, free) && breaksJust(rec, s.Before.State, clauses, i) {
			return rec
		}
	}
	return nil
}

// maxBreaks bounds the search for values that break one clause.
const maxBreaks = 1000

// overlay writes an assignment into rec; false if a field can't have it.
func overlay(rec, before *interp.Record, space *domain.Space, a domain.Assignment, free bool) bool {
	for i, v := range space.Vars {
		if v.Field == nil {
			continue
		}
		value := a.Values[i]
		fixed := v.Field.Index < 0 || v.Field.Derive != nil || v.Field.Immutable && !free && before.Get(v.Field) != nil
		if fixed && !domain.Equal(rec.Get(v.Field), value) || !isLegal(v.Field, value) {
			return false
		}
		if v.Field.Index >= 0 {
			rec.Values[v.Field.Index] = value
		}
	}
	return true
}

func breaksJust(rec *interp.Record, from *ir.State, clauses []*ir.Clause, broken int) bool {
	for i, c := range clauses {
		if domain.Eval(c, reader(rec, from)) == (i == broken) {
			return false
		}
	}
	return true
}

// reader reads a record that came from the given state.
func reader(rec *interp.Record, from *ir.State) func(*ir.Operand) ir.Value {
	return func(o *ir.Operand) ir.Value {
		switch {
		case o.Field != nil:
			return rec.Get(o.Field)
		case o.Param != nil:
			return o.Param.Default
		case o.Special == ir.StateName:
			return rec.State.Text
		case o.Special == ir.FromName && from != nil:
			return from.Text
		}
		return nil
	}
}

// immutables tries to change and to clear every write-once field that has a
// value.
func (w *walk) immutables(s interp.Step) {
	for _, f := range w.machine.Fields {
		old := s.Before.Get(f)
		if !f.Immutable || old == nil || !w.once("immutable %s", f) {
			continue
		}
		for _, other := range append(otherValues(f, old), nil) {
			w.update(immutableWrite, ": immutable:", s, func(r *recordRow) { r.record.Values[f.Index] = other }, "%s changed from %v to %v", f, old, other)
		}
	}
}

// otherValues lists values of f other than old.
func otherValues(f *ir.Field, old ir.Value) []ir.Value {
	c := &ir.Clause{Left: ir.Operand{Field: f, Type: f.Type}, Op: ir.Ne, Right: ir.Operand{IsLit: true, Literal: old}}
	space := domain.NewSpace(&ir.Machine{}, []*ir.Clause{c}, nil, nil, now)
	return slices.DeleteFunc(slices.Clone(space.Classes[0]), func(v ir.Value) bool { return v == nil || domain.Equal(v, old) })
}

// invalid tries values that no field of the type can have.
func (w *walk) invalid(s interp.Step) {
	for _, f := range w.machine.Fields {
		if f.Derive != nil || !w.once("invalid %s", f) {
			continue
		}
		for _, bad := range badValues(f) {
			w.update(invalidValue, "", s, func(r *recordRow) { r.record.Values[f.Index] = bad }, "%s = %v", f, bad)
		}
		if w.db.replaces && !f.Type.Optional && f.Default != nil {
			row := rowOf(s)
			row.record = s.After.Clone()
			row.record.Values[f.Index] = nil
			w.refuse(invalidValue, "NOT NULL constraint failed", func() error { return w.replaceRecord(s, row) }, "%s replaced by its default", f)
		}
	}
}

// between tries, when the record of a step is stored and its history is not,
// every history of it that begins in the wrong state.
func (w *walk) between(s interp.Step) {
	m, ev, to := w.machine, s.Row.Event, s.After.State
	if !w.once("history %s %s", ev, to) {
		return
	}
	if w.db.checksAtEnd {
		w.refuse(missingHistory, "has no history row", w.db.settle, "a step by %s to %s without history", ev, to)
	}
	for _, from := range append([]*ir.State{nil}, m.States...) {
		if hasEdge(m, from, ev, to) {
			continue
		}
		h := historyOf(s)
		h.from = nil
		if from != nil {
			h.from = from.Text
		}
		w.refuse(missingHistory, "", func() error { return w.db.insertHistory(m, h) }, "history of %s from %s to %s", ev, stateName(from), to)
	}
}

// untold tries the step after one without a history row, where the database did not check that
// at the end of the transaction: see between.
func (w *walk) untold(n *node) {
	if w.db.checksAtEnd || len(n.steps) > 1 || len(n.children) == 0 || !w.once("untold") {
		return
	}
	first, next := n.steps[0], n.children[0].steps[0]
	w.refuse(missingHistory, "has no history row", func() error {
		if err := w.db.writeRecord(w.machine, first, rowOf(first)); err != nil {
			return err
		}
		err := w.db.writeRecord(w.machine, next, rowOf(next))
		if err != nil {
			w.db.must(w.t, "ROLLBACK TO SAVEPOINT attempts")
		}
		return err
	}, "%s after %s, which has no history row", next.Row, first.Row)
}

// after tries what must not follow a step that was stored: every edge that
// the table lacks, edits of history, deletion.
func (w *walk) after(s interp.Step) {
	w.guards(s)
	if !w.once("after %s", s.After.State) {
		return
	}
	m, from := w.machine, s.After.State
	for _, ev := range m.Events {
		for _, to := range m.States {
			if hasEdge(m, from, ev, to) {
				continue
			}
			row := rowOf(s)
			row.state, row.lastEvent, row.version = to.Text, ev.Text, s.After.Version+1
			w.refuse(missingEdge, ": edge:", func() error { return w.db.updateRecord(m, s.After, row) }, "%s from %s to %s", ev, from, to)
			h := historyRow{step: s, version: s.After.Version + 1, event: ev.Text, from: from.Text, to: to.Text}
			w.refuse(missingHistory, "", func() error { return w.db.insertHistory(m, h) }, "history of %s from %s to %s", ev, from, to)
		}
	}
	w.permanence(s)
}

// permanence: history is append-only and tells the truth, records stay.
func (w *walk) permanence(s interp.Step) {
	m := w.machine
	table, history := quoted(m.Storage.Table), quoted(m.Storage.History)
	attempts := []struct{ kind, what, query string }{
		{changedHistory, "an edit of history", "UPDATE " + history + " SET correlation_id = 'edited'"},
		{changedHistory, "another time in history", "UPDATE " + history + " SET created_at = created_at"},
		{changedHistory, "deletion of history", "DELETE FROM " + history},
		{changedIdentity, "deletion of a record", "DELETE FROM " + table},
	}
	if w.db.truncates {
		attempts = append(attempts, struct{ kind, what, query string }{changedHistory, "truncation of history", "TRUNCATE " + history},
			struct{ kind, what, query string }{changedIdentity, "truncation of records", "TRUNCATE " + table + " CASCADE"})
	}
	for _, a := range attempts {
		w.refuse(a.kind, "fsmgen: ", func() error {
			_, err := w.db.exec(a.query)
			return err
		}, "%s in %s", a.what, s.After.State)
	}
	again := historyOf(s)
	w.refuse(changedHistory, "", func() error { return w.db.insertHistory(m, again) }, "a second history row of one version in %s", s.After.State)
	if w.db.replaces {
		w.replacement(s)
	}
	again.version++
	w.refuse(changedHistory, "", func() error { return w.db.insertHistory(m, again) }, "history of a step that did not happen in %s", s.After.State)
}

// replacement tries SQLite's INSERT OR REPLACE, which deletes the old row
// without firing a trigger.
func (w *walk) replacement(s interp.Step) {
	m, verb := w.machine, "INSERT OR REPLACE"
	w.refuse(changedHistory, "", func() error { return w.db.putHistory(m, verb, historyOf(s)) }, "a replaced history row in %s", s.After.State)
	if s.Row.From == nil {
		w.refuse(changedIdentity, "", func() error { return w.db.putRecord(m, verb, rowOf(s)) }, "a replaced record in %s", s.After.State)
	}
}
