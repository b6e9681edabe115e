package proptest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/gen/ddl"
	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// recordRow is a row of the record table as a statement writes it.
type recordRow struct {
	record    *interp.Record
	id        ir.Value
	state     ir.Value
	version   int64
	lastEvent string
	at        time.Time // of the step
	stays     bool      // the step does not enter its state
}

func rowOf(s interp.Step) recordRow {
	return recordRow{record: s.After, id: s.After.ID, state: s.After.State.Text, version: s.After.Version, lastEvent: s.Row.Event.Text,
		at: stepTime(s), stays: s.Row.To == nil}
}

// stepTime is when a step was taken, as it is stored.
func stepTime(s interp.Step) time.Time { return s.Input.Now.UTC().Truncate(time.Microsecond) }

// value is what the row has in column c.
func (r recordRow) value(m *ir.Machine, c ddl.Column) ir.Value {
	switch {
	case c.Field == m.ID:
		return r.id
	case c.Field != nil:
		return r.record.Get(c.Field)
	}
	switch strings.Trim(c.Name, `"`) {
	case m.Storage.State:
		return r.state
	case "version":
		return r.version
	case "last_event":
		return r.lastEvent
	}
	return r.at
}

func (d *database) insertRecord(m *ir.Machine, r recordRow) error {
	return d.putRecord(m, "INSERT", r)
}

// putRecord inserts with the given verb, INSERT or SQLite's INSERT OR REPLACE.
func (d *database) putRecord(m *ir.Machine, verb string, r recordRow) error {
	var names []string
	var args []any
	for _, c := range ddl.Columns(m) {
		if c.Generated {
			continue
		}
		arg, err := d.value(c.Type, r.value(m, c))
		if err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
		names, args = append(names, c.Name), append(args, arg)
	}
	return d.one(d.into(verb, m.Storage.Table, names), args...)
}

func (d *database) into(verb, table string, names []string) string {
	marks := make([]string, len(names))
	for i := range marks {
		marks[i] = d.placeholder(i + 1)
	}
	return fmt.Sprintf("%s INTO %s (%s) VALUES (%s)", verb, quoted(table), strings.Join(names, ", "), strings.Join(marks, ", "))
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// updateRecord is the engine's compare-and-swap on id and version.
func (d *database) updateRecord(m *ir.Machine, before *interp.Record, r recordRow) error {
	return d.changeRecord(m, "UPDATE", before, r)
}

// changeRecord updates with the given verb, UPDATE or SQLite's UPDATE OR REPLACE.
func (d *database) changeRecord(m *ir.Machine, verb string, before *interp.Record, r recordRow) error {
	var sets []string
	var args []any
	for _, c := range ddl.Columns(m) {
		if c.Generated || c.Name == "created_at" || r.stays && c.Name == "entered_at" || (c.Field == m.ID && domain.Equal(r.id, before.ID)) {
			continue
		}
		arg, err := d.value(c.Type, r.value(m, c))
		if err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
		args = append(args, arg)
		sets = append(sets, c.Name+" = "+d.placeholder(len(args)))
	}
	id, err := d.value(m.ID.Type, before.ID)
	if err != nil {
		return err
	}
	args = append(args, id, before.Version)
	return d.one(fmt.Sprintf("%s %s SET %s WHERE %s = %s AND version = %s", verb, quoted(m.Storage.Table), strings.Join(sets, ", "),
		idColumn(m), d.placeholder(len(args)-1), d.placeholder(len(args))), args...)
}

func idColumn(m *ir.Machine) string { return ddl.Columns(m)[0].Name }

// historyRow is a row of the history table as a statement writes it.
type historyRow struct {
	step     interp.Step
	version  int64
	event    string
	from, to ir.Value
}

func historyOf(s interp.Step) historyRow {
	h := historyRow{step: s, version: s.After.Version, event: s.Row.Event.Text, to: s.After.State.Text}
	if s.Before.State != nil {
		h.from = s.Before.State.Text
	}
	return h
}

func (d *database) insertHistory(m *ir.Machine, h historyRow) error {
	return d.putHistory(m, "INSERT", h)
}

func (d *database) putHistory(m *ir.Machine, verb string, h historyRow) error {
	var names []string
	var args []any
	for _, c := range ddl.HistoryColumns(m) {
		arg, err := d.value(c.Type, h.value(m, c, d.statements))
		if err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
		names, args = append(names, c.Name), append(args, arg)
	}
	return d.one(d.into(verb, m.Storage.History, names), args...)
}

func (h historyRow) value(m *ir.Machine, c ddl.Column, serial int) ir.Value {
	in := h.step.Input
	switch strings.Trim(c.Name, `"`) {
	case "event_id":
		return domain.UUID(serial)
	case "version":
		return h.version
	case "event_type":
		return h.event
	case "from_" + m.Storage.State:
		return h.from
	case "to_" + m.Storage.State:
		return h.to
	case "transition":
		return h.step.Row.Text
	case "actor_role":
		if in.Actor.Role != nil {
			return in.Actor.Role.Text
		}
		return nil
	case "actor_id":
		return in.Actor.ID
	case "payload":
		return string(interp.MarshalPayload(in.Event, in.Args))
	case "correlation_id":
		return "proptest"
	case "created_at":
		return stepTime(h.step)
	}
	return h.step.After.ID
}

// writeRecord stores the record of a step.
func (d *database) writeRecord(m *ir.Machine, s interp.Step, row recordRow) error {
	if s.Row.From == nil {
		return d.insertRecord(m, row)
	}
	return d.updateRecord(m, s.Before, row)
}

// reads compares the stored row with the record that was written.
func (d *database) reads(m *ir.Machine, rec *interp.Record) (err error) {
	columns := ddl.Columns(m)
	exprs := make([]string, len(columns))
	for i, c := range columns {
		exprs[i] = d.selects(c)
	}
	id, err := d.value(m.ID.Type, rec.ID)
	if err != nil {
		return err
	}
	stmt, err := d.prepare(fmt.Sprintf("SELECT %s FROM %s WHERE %s = %s",
		strings.Join(exprs, ", "), quoted(m.Storage.Table), idColumn(m), d.placeholder(1)))
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(context.Background(), id)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close(), rows.Err()) }()
	if !rows.Next() {
		return errors.New("the record is not there")
	}
	raw := make([]any, len(columns))
	targets := make([]any, len(columns))
	for i := range raw {
		targets[i] = &raw[i]
	}
	if err := rows.Scan(targets...); err != nil {
		return err
	}
	return compareColumns(m, rec, columns, raw)
}

func compareColumns(m *ir.Machine, rec *interp.Record, columns []ddl.Column, raw []any) error {
	want := recordRow{record: rec, id: rec.ID, state: rec.State.Text, version: rec.Version}
	for i, c := range columns {
		if c.Field == nil && !slices.Contains([]string{m.Storage.State, "version"}, strings.Trim(c.Name, `"`)) {
			continue
		}
		got, err := parse(c.Type, raw[i])
		if err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
		w := want.value(m, c)
		same := domain.Equal(w, got)
		if c.Type.Base == ir.JSON && w != nil && got != nil {
			same = difference([]byte(w.(string)), []byte(got.(string))) == ""
		}
		if !same {
			return fmt.Errorf("column %s reads %v, written was %v", c.Name, got, w)
		}
	}
	return nil
}
