package proptest

import (
	"slices"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// taken tries, when the last of path is stored, another record on the same path that
// comes to the same values of a unique key. Where the database knows OR REPLACE, it
// says so.
func (w *walk) taken(path []interp.Step) {
	for _, u := range w.machine.Uniques {
		last := path[len(path)-1]
		key := "taken " + u.Text + " " + verbOf(last)
		if w.done[key] || u.WhileActive && last.After.State.Terminal || !newlyHas(last, u) {
			continue
		}
		if twins := twinPath(w.machine, path, u); twins != nil && w.follows(twins[:len(twins)-1]) && w.once("%s", key) {
			last := twins[len(twins)-1]
			w.refuse(takenKey, w.db.taken(w.machine, u), func() error { return w.replaceRecord(last, rowOf(last)) }, "a second record with the key %s by %s", u, last.Row)
		}
		w.db.must(w.t, "ROLLBACK TO SAVEPOINT attempts")
	}
}

// untaken lists the unique keys of which no second record was tried.
func (w *walk) untaken() []string {
	var out []string
	for _, u := range w.machine.Uniques {
		if !w.done["taken "+u.Text+" inserted"] && !w.done["taken "+u.Text+" updated"] {
			out = append(out, u.Text)
		}
	}
	return out
}

func verbOf(s interp.Step) string {
	if s.Row.From == nil {
		return "inserted"
	}
	return "updated"
}

// newlyHas reports whether s gave the record the whole key.
func newlyHas(s interp.Step, u *ir.Unique) bool {
	fresh := s.Row.From == nil
	for _, f := range u.Fields {
		if s.After.Get(f) == nil {
			return false
		}
		fresh = fresh || !domain.Equal(s.Before.Get(f), s.After.Get(f))
	}
	return fresh
}

// twinPath is path as another record takes it, which shares the unique key u and no
// other; nil if no such record is found.
func twinPath(m *ir.Machine, path []interp.Step, u *ir.Unique) []interp.Step {
	twins := slices.Clone(path)
	for i := range twins {
		twins[i].Before, twins[i].After = twin(m, twins[i].Before, u), twin(m, twins[i].After, u)
		if twins[i].After == nil {
			return nil
		}
	}
	last := len(path) - 1
	for _, f := range u.Fields {
		if !domain.Equal(twins[last].After.Get(f), path[last].After.Get(f)) {
			return nil // it is derived from what sets the two apart
		}
	}
	return twins
}

func twin(m *ir.Machine, rec *interp.Record, u *ir.Unique) *interp.Record {
	if rec == nil {
		return nil
	}
	rec = rec.Clone()
	rec.ID = idOf(m, 9)
	for _, other := range m.Uniques {
		if other == u || slices.ContainsFunc(other.Fields, func(f *ir.Field) bool { return rec.Get(f) == nil }) {
			continue
		}
		if !setApart(rec, other, u) {
			return nil
		}
	}
	rec.Derive(m)
	return rec
}

// setApart gives a field of key that is not in u another value.
func setApart(rec *interp.Record, key, u *ir.Unique) bool {
	for _, f := range key.Fields {
		if f.Index < 0 || f.Derive != nil || slices.Contains(u.Fields, f) {
			continue
		}
		if others := otherValues(f, rec.Get(f)); len(others) > 0 && isLegal(f, others[0]) {
			rec.Values[f.Index] = others[0]
			return true
		}
	}
	return false
}

// follows stores steps; false if the database refuses one.
func (w *walk) follows(steps []interp.Step) bool {
	for _, s := range steps {
		if w.db.writeRecord(w.machine, s, rowOf(s)) != nil || w.db.insertHistory(w.machine, historyOf(s)) != nil || w.db.settle() != nil {
			return false
		}
	}
	return true
}

// replaceRecord stores the record of a step; where the database replaces, in place of whichever
// has its keys, and with defaults for what is null.
func (w *walk) replaceRecord(s interp.Step, row recordRow) error {
	switch {
	case !w.db.replaces:
		return w.db.writeRecord(w.machine, s, row)
	case s.Row.From == nil:
		return w.db.putRecord(w.machine, "INSERT OR REPLACE", row)
	}
	return w.db.changeRecord(w.machine, "UPDATE OR REPLACE", s.Before, row)
}

func takenInPostgres(*ir.Machine, *ir.Unique) string {
	return "duplicate key value violates unique constraint"
}

func takenInSQLite(m *ir.Machine, u *ir.Unique) string {
	return "UNIQUE constraint failed: " + m.Storage.Table + "." + u.Fields[0].Text
}
