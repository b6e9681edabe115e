package proptest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/gen/ddl"
	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// tableRow is a row of a table besides the machine's own.
type tableRow map[*ir.Field]ir.Value

// tableEffect runs an upsert, update or delete of a step. Rows that it
// refers to are made first, and without them it must be refused.
func (w *walk) tableEffect(e interp.Effect) error {
	table, row := e.Effect.Table, tableRow{}
	for i, c := range e.Effect.Row {
		row[c.Column] = e.Values[i].Value
	}
	switch e.Effect.Kind {
	case ir.Delete:
		_, err := w.db.deleteRow(table, row)
		return err
	case ir.Update:
		_, err := w.db.updateRow(table, row)
		return err
	case ir.Upsert:
		return w.upsert(e, table, row)
	case ir.Call, ir.Log, ir.Start: // are of no table
	}
	return ir.NoForm("proptest.tableEffect", e.Effect.Kind)
}

func (w *walk) upsert(e interp.Effect, table *ir.Table, row tableRow) error {
	if lacks, err := w.db.lacksParents(table, row); err != nil {
		return err
	} else if lacks && w.once("reference of %s", e.Name()) {
		w.attempts(func() { w.references(table, row) })
	}
	if err := w.db.parents(table, row, nil); err != nil {
		return fmt.Errorf("rows referred to: %w", err)
	}
	w.tables++
	if err := w.db.upsertRow(table, row); err != nil {
		return err
	}
	if w.once("moved references of %s", table) {
		w.attempts(func() { w.movedReferences(table, row) })
	}
	return nil
}

// references tries the row without the row it refers to, and with one that
// lacks what the reference demands.
func (w *walk) references(table *ir.Table, row tableRow) {
	w.refuse(brokenReference, "", func() error { return w.db.upsertRow(table, row) }, "a row of %s without the row it refers to", table)
	for _, c := range table.Columns {
		for i := range c.Where {
			w.refuse(brokenReference, ": reference:", func() error {
				if err := w.db.parents(table, row, &c.Where[i]); err != nil {
					return fmt.Errorf("row referred to: %w", err)
				}
				return w.db.upsertRow(table, row)
			}, "a row of %s that refers to one without %s", table, c.Where[i].Column)
		}
	}
}

// movedReferences tries to let the row refer to another row, which lacks what
// the reference demands.
func (w *walk) movedReferences(table *ir.Table, row tableRow) {
	for _, c := range table.Columns {
		for i := range c.Where {
			w.refuse(brokenReference, ": reference:", func() error {
				elsewhere := maps.Clone(row)
				elsewhere[c] = otherValues(c.Ref.Key[0], row[c])[0]
				if err := w.db.parents(table, elsewhere, &c.Where[i]); err != nil {
					return fmt.Errorf("row referred to: %w", err)
				}
				return w.db.setColumn(table, c, elsewhere[c])
			}, "a row of %s that moves to one without %s", table, c.Where[i].Column)
		}
	}
}

// setColumn changes a column of all rows.
func (d *database) setColumn(table *ir.Table, c *ir.Field, v ir.Value) error {
	arg, err := d.value(c.Type, v)
	if err != nil {
		return err
	}
	_, err = d.exec(fmt.Sprintf("UPDATE %s SET %s = %s", quoted(table.Text), columnOf(table, c), d.placeholder(1)), arg)
	return err
}

// parents makes every row that row refers to; the demand that is broken, if
// any, is not met.
func (d *database) parents(table *ir.Table, row tableRow, broken *ir.ColumnValue) error {
	for _, c := range table.Columns {
		if c.Ref == nil || row[c] == nil {
			continue
		}
		parent := tableRow{}
		for _, p := range c.Ref.Columns {
			if !p.Type.Optional && !p.HasDefault {
				parent[p] = anyValue(p)
			}
		}
		for i, demand := range c.Where {
			parent[demand.Column] = demand.Value.A.Literal
			if broken == &c.Where[i] {
				parent[demand.Column] = otherValues(demand.Column, demand.Value.A.Literal)[0]
			}
		}
		parent[c.Ref.Key[0]] = row[c]
		if err := d.parents(c.Ref, parent, nil); err != nil {
			return err
		}
		if err := d.upsertRow(c.Ref, parent); err != nil {
			return err
		}
	}
	return nil
}

// anyValue is a value that f can store.
func anyValue(f *ir.Field) ir.Value {
	c := &ir.Clause{Left: ir.Operand{Field: f, Type: f.Type}, Op: ir.Exists, Right: ir.Operand{IsLit: true, Literal: true}}
	class := domain.NewSpace(&ir.Machine{}, []*ir.Clause{c}, nil, nil, now).Classes[0]
	return class[len(class)-1]
}

// lacksParents reports whether a row that row refers to does not exist.
func (d *database) lacksParents(table *ir.Table, row tableRow) (lacks bool, err error) {
	for _, c := range table.Columns {
		if c.Ref == nil || row[c] == nil {
			continue
		}
		key, err := d.value(c.Type, row[c])
		if err != nil {
			return false, err
		}
		n := 0
		query := fmt.Sprintf("SELECT count(*) FROM %s WHERE %s = %s", quoted(c.Ref.Text), columnOf(c.Ref, c.Ref.Key[0]), d.placeholder(1))
		if err := d.conn.QueryRowContext(context.Background(), query, key).Scan(&n); err != nil {
			return false, err
		}
		lacks = lacks || n == 0
	}
	return lacks, nil
}

// upsertRow writes a row that may be there, as the store of the database does.
func (d *database) upsertRow(table *ir.Table, row tableRow) error {
	if !d.upserts {
		if n, err := d.updateRow(table, row); err != nil || n > 0 {
			return err
		}
		return d.insertRow(table, row)
	}
	names, args, err := d.cells(table, row, func(*ir.Field) bool { return true })
	if err != nil {
		return err
	}
	var keys, sets []string
	for _, f := range table.Key {
		keys = append(keys, columnOf(table, f))
	}
	for _, name := range names {
		if !slices.Contains(keys, name) {
			sets = append(sets, name+" = excluded."+name)
		}
	}
	then := "NOTHING"
	if len(sets) > 0 {
		then = "UPDATE SET " + strings.Join(sets, ", ")
	}
	_, err = d.exec(d.into("INSERT", table.Text, names)+" ON CONFLICT ("+strings.Join(keys, ", ")+") DO "+then, args...)
	return err
}

func (d *database) insertRow(table *ir.Table, row tableRow) error {
	names, args, err := d.cells(table, row, func(*ir.Field) bool { return true })
	if err != nil {
		return err
	}
	return d.one(d.into("INSERT", table.Text, names), args...)
}

func (d *database) updateRow(table *ir.Table, row tableRow) (int64, error) {
	isKey := func(f *ir.Field) bool { return slices.Contains(table.Key, f) }
	names, args, err := d.cells(table, row, func(f *ir.Field) bool { return !isKey(f) })
	keys, values, keyErr := d.cells(table, row, isKey)
	if err := errors.Join(err, keyErr); err != nil {
		return 0, err
	}
	if len(names) == 0 {
		names, args = keys, slices.Clone(values)
	}
	return d.exec(fmt.Sprintf("UPDATE %s SET %s WHERE %s", quoted(table.Text),
		d.pairs(names, ", ", 0), d.pairs(keys, " AND ", len(names))), append(args, values...)...)
}

func (d *database) deleteRow(table *ir.Table, row tableRow) (int64, error) {
	keys, args, err := d.cells(table, row, func(*ir.Field) bool { return true })
	if err != nil {
		return 0, err
	}
	return d.exec(fmt.Sprintf("DELETE FROM %s WHERE %s", quoted(table.Text), d.pairs(keys, " AND ", 0)), args...)
}

func (d *database) pairs(names []string, separator string, offset int) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = name + " = " + d.placeholder(offset+i+1)
	}
	return strings.Join(out, separator)
}

// cells lists the columns of row that pass the filter, in table order.
func (d *database) cells(table *ir.Table, row tableRow, filter func(*ir.Field) bool) (names []string, args []any, err error) {
	for _, c := range ddl.TableColumns(table) {
		value, ok := row[c.Field]
		if !ok || !filter(c.Field) {
			continue
		}
		arg, err := d.value(c.Type, value)
		if err != nil {
			return nil, nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
		names, args = append(names, c.Name), append(args, arg)
	}
	return names, args, nil
}

func columnOf(table *ir.Table, f *ir.Field) string {
	for _, c := range ddl.TableColumns(table) {
		if c.Field == f {
			return c.Name
		}
	}
	return f.Text
}
