package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// rows are those of the tables besides the machines' own, by table and key.
type rows map[rowKey]map[*ir.Field]ir.Value

type rowKey struct {
	table *ir.Table
	key   string
}

// few reports whether a type has few values.
func few(b ir.Base) bool {
	switch b {
	case ir.Bool, ir.EnumOf:
		return true
	case ir.String, ir.Int, ir.Time, ir.Duration, ir.UUID, ir.JSON, ir.ListOf:
		return false
	}
	panic(ir.NoForm("scenarios.few", b))
}

// signature tells rows apart by their enums and bools.
func (all rows) signature() string {
	var out []string
	for at, row := range all {
		text := " " + at.table.Text
		for _, c := range at.table.Columns {
			if few(c.Type.Base) {
				text += fmt.Sprint(" ", row[c])
			}
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return strings.Join(out, "")
}

// write does what an effect does to a table. It is false if a reference would
// lead nowhere: the database refuses the step.
func (w *world) write(e interp.Effect) bool {
	table := e.Effect.Table
	values := map[*ir.Field]ir.Value{}
	for i, c := range e.Effect.Row {
		values[c.Column] = e.Values[i].Value
	}
	at := keyIn(table, values)
	row, exists := w.rows[at]
	w.rows = maps.Clone(w.rows)
	switch {
	case e.Effect.Kind == ir.Delete:
		return w.remove(at)
	case e.Effect.Kind == ir.Update && !exists:
		return true
	}
	row = maps.Clone(row)
	if !exists {
		row = map[*ir.Field]ir.Value{}
		for _, c := range table.Columns {
			row[c] = c.Default
		}
	}
	maps.Copy(row, values)
	if !w.refers(table, row) {
		return false
	}
	w.rows[at] = row
	return true
}

func keyIn(table *ir.Table, values map[*ir.Field]ir.Value) rowKey {
	key := ""
	for _, f := range table.Key {
		key += string(interp.MarshalValue(f.Type, values[f])) + " "
	}
	return rowKey{table, key}
}

// refers reports whether every row that a row refers to is there, as demanded.
func (w *world) refers(table *ir.Table, row map[*ir.Field]ir.Value) bool {
	for _, c := range table.Columns {
		if c.Ref == nil || row[c] == nil {
			continue
		}
		other, ok := w.rows[keyIn(c.Ref, map[*ir.Field]ir.Value{c.Ref.Key[0]: row[c]})]
		for _, demand := range c.Where {
			ok = ok && domain.Equal(other[demand.Column], demand.Value.A.Literal)
		}
		if !ok {
			return false
		}
	}
	return true
}

// remove deletes a row with those that go along. It is false if another one
// refers to it.
func (w *world) remove(at rowKey) bool {
	gone, ok := w.rows[at]
	if !ok {
		return true
	}
	delete(w.rows, at)
	for other, row := range maps.Clone(w.rows) {
		for _, c := range other.table.Columns {
			if c.Ref != at.table || !domain.Equal(row[c], gone[at.table.Key[0]]) {
				continue
			}
			if !c.Cascade || !w.remove(other) {
				return false
			}
		}
	}
	return true
}
