package check

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/gen/ir"
)

const (
	codeUniqueOptional = "FSM080"
	codeRowColumn      = "FSM081"
	codeRowAbsent      = "FSM082"
	codeReference      = "FSM083"
)

// uniques: SQL counts absent values as different, so two records that agree in
// the required fields of a constraint and lack an optional one are no clash.
// Over optional fields alone that is what people mean: unique once known.
func (s *subject) uniques() {
	for _, q := range s.m.Uniques {
		optional := slices.IndexFunc(q.Fields, func(f *ir.Field) bool { return f.Type.Optional })
		required := slices.IndexFunc(q.Fields, func(f *ir.Field) bool { return !f.Type.Optional })
		if optional >= 0 && required >= 0 {
			s.report(codeUniqueOptional, q.Span, "make the field required, or take it out of the constraint",
				"unique %q covers %q, which may be absent: records without it never clash, even with the same %q", q.Text, q.Fields[optional].Text, q.Fields[required].Text)
		}
	}
}

// tableRows demands of effects on tables the key, and of an insert every
// column that has no value of its own.
func (s *subject) tableRows() {
	for _, e := range s.m.Effects {
		if e.Table == nil {
			continue
		}
		for _, k := range e.Table.Key {
			if bindingOf(e, k) == nil {
				s.report(codeRowColumn, e.Span, fmt.Sprintf("bind %q in `row`", k.Text), "effect %q does not say which row of %q it means: key column %q is missing", e.Text, e.Table.Text, k.Text)
			}
		}
		s.boundColumns(e)
		s.presentColumns(e)
	}
}

// boundColumns demands the columns besides the key that an effect on a table needs.
func (s *subject) boundColumns(e *ir.Effect) {
	switch e.Kind {
	case ir.Upsert:
		s.wholeRow(e)
	case ir.Update:
		if len(e.Row) <= len(e.Table.Key) {
			s.report(codeRowColumn, e.Span, "bind the columns that change", "effect %q updates no column besides the key", e.Text)
		}
	case ir.Delete, ir.Call, ir.Log, ir.Start: // the key is enough, or there is no table
	default:
		panic(ir.NoForm("check.boundColumns", e.Kind))
	}
}

func bindingOf(e *ir.Effect, column *ir.Field) *ir.ColumnValue {
	for i := range e.Row {
		if e.Row[i].Column == column {
			return &e.Row[i]
		}
	}
	return nil
}

func (s *subject) wholeRow(e *ir.Effect) {
	for _, c := range e.Table.Columns {
		if !c.Type.Optional && !c.HasDefault && c.Derive == nil && bindingOf(e, c) == nil && !slices.Contains(e.Table.Key, c) {
			s.report(codeRowColumn, e.Span, fmt.Sprintf("bind %q in `row`, give the column a default, or make it optional", c.Text),
				"effect %q inserts a row of %q without required column %q", e.Text, e.Table.Text, c.Text)
		}
	}
}

// presentColumns reports required columns that a row of the machine would
// fill with an absent value.
func (s *subject) presentColumns(e *ir.Effect) {
	for i := range e.Row {
		v := &e.Row[i]
		if v.Column.Type.Optional {
			continue
		}
		if r := s.absentIn(e, &v.Value); r != nil {
			s.report(codeRowAbsent, v.Span, "let the state that the row ends in hold \"… exists true\", or make the column optional",
				"%s may be absent when row %q runs effect %q, but column %q is required", v.Value.Text, r.Text, e.Text, v.Column.Text)
		}
	}
}

// absentIn returns a row after which the value that e sends may be absent.
func (s *subject) absentIn(e *ir.Effect, value *ir.Expr) *ir.Row {
	if value.Kind == ir.Read && value.A.IsLit {
		return nil
	}
	for _, r := range s.m.Rows {
		if !slices.ContainsFunc(r.Actions, func(a ir.Action) bool { return a.Effect == e }) {
			continue
		}
		if out := s.transfer(r, s.before(r)); out != nil && s.payloadMark(r, value, out)&maybeAbsent != 0 {
			return r
		}
	}
	return nil
}

// payloadMark is the presence of a value that an effect of r reads from the
// new record; event fields are those of r's event.
func (s *subject) payloadMark(r *ir.Row, e *ir.Expr, out []mark) mark {
	k, _ := s.guarded(r)
	for _, w := range r.Event.Writes {
		delete(k.incoming, w.Field) // the new record has it
	}
	k.stored = out
	switch e.Kind {
	case ir.Null:
		return maybeAbsent
	case ir.Read:
		return k.presence(&e.A)
	case ir.Add, ir.Sub:
		return k.presence(&e.A) | k.presence(&e.B)
	}
	panic(ir.NoForm("check.payloadMark", e.Kind))
}

// references checks foreign keys: one column refers to one key column of the
// same type.
func (s *subject) references() {
	for _, t := range s.m.Tables {
		for _, c := range t.Columns {
			if c.Ref != nil {
				s.reference(c)
			} else if len(c.Where) > 0 {
				s.report(codeReference, c.Span, "add `ref: table`, or remove `where`", "column %q demands values of a row, but refers to none", c.Text)
			}
		}
	}
}

func (s *subject) reference(c *ir.Field) {
	if len(c.Ref.Key) != 1 {
		s.report(codeReference, c.Span, "refer to a table whose key is one column", "column %q refers to table %q, whose key has %d columns", c.Text, c.Ref.Text, len(c.Ref.Key))
		return
	}
	if key := c.Ref.Key[0]; key.Type.Base != c.Type.Base || key.Type.Enum != c.Type.Enum {
		s.report(codeReference, c.Span, fmt.Sprintf("give the column the type %s", key.Type), "column %q of type %s refers to key %q of type %s", c.Text, c.Type, key.Text, key.Type)
	}
}
