package ddl

import (
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// constraint is one table constraint with the reason above it.
type constraint struct {
	comment string
	name    string
	body    string // after CONSTRAINT name
}

// check is a CHECK; a condition of several lines gets lines of its own.
func check(comment, name, cond string) constraint {
	return constraint{comment: comment, name: name, body: "CHECK (" + cond + ")"}
}

// recordConstraints are the constraints of the record table.
func recordConstraints(d dialect, m *ir.Machine) []constraint {
	state := stateColumn(m)
	list := []constraint{
		{name: ruleName(m.Storage.Table, "pkey"), body: "PRIMARY KEY (" + ident(m.ID.Text) + ")"},
		check("", ruleName(m.Text, m.Storage.State, "declared"), state+" IN ("+quoteAll(stateNames(m.States))+")"),
	}
	for _, c := range Columns(m) {
		list = append(list, shapeConstraints(d, m.Text, c)...)
	}
	list = append(list, alwaysConstraints(d, m)...)
	for _, s := range m.States {
		list = append(list, holdsConstraint(d, m, s)...)
	}
	for _, u := range m.Uniques {
		if !u.WhileActive {
			list = append(list, constraint{comment: u.Doc, name: ruleName(m.Text, u.Text), body: "UNIQUE (" + fieldList(u.Fields) + ")"})
		}
	}
	return list
}

// alwaysConstraints hold in every state, whatever it is.
func alwaysConstraints(d dialect, m *ir.Machine) []constraint {
	var list []constraint
	for _, inv := range m.Invariants {
		conds, _ := checkScope(d, m).all(withoutFrom(inv.Always))
		if len(conds) > 0 {
			list = append(list, check(inv.Doc, ruleName(m.Text, inv.Text), strings.Join(conds, "\n            AND ")))
		}
	}
	return list
}

// holdsConstraint is what holds in state s; clauses of `always` invariants
// have constraints of their own.
func holdsConstraint(d dialect, m *ir.Machine, s *ir.State) []constraint {
	always := map[string]bool{}
	for _, inv := range m.Invariants {
		for _, c := range inv.Always {
			always[c.Text] = true
		}
	}
	var own []*ir.Clause
	for _, c := range withoutFrom(s.Holds) {
		if !always[c.Text] {
			own = append(own, c)
		}
	}
	conds, leftOut := checkScope(d, m).all(own)
	if len(conds) == 0 {
		return nil
	}
	var comment []string
	for _, c := range leftOut {
		comment = append(comment, "left to the machine: "+c.Text)
	}
	cond := stateColumn(m) + " <> " + quote(s.Text) + " OR " + conds[0]
	if len(conds) > 1 {
		cond = stateColumn(m) + " <> " + quote(s.Text) + " OR (\n            " + strings.Join(conds, "\n            AND ") + ")"
	}
	return []constraint{check(strings.Join(comment, "\n"), ruleName(m.Text, s.Text, "holds"), cond)}
}

func withoutFrom(clauses []*ir.Clause) []*ir.Clause {
	var list []*ir.Clause
	for _, c := range clauses {
		if !readsFrom(c) {
			list = append(list, c)
		}
	}
	return list
}

// shapeConstraints admit only values of the column's type: enum words, bounds,
// and what the SQL type is too wide to refuse.
func shapeConstraints(d dialect, owner string, c Column) []constraint {
	name := func(rule string) string { return ruleName(owner, strings.Trim(c.Name, `"`), rule) }
	var list []constraint
	switch c.Type.Base {
	case ir.EnumOf:
		list = append(list, check("", name("declared"), c.Name+" IN ("+quoteAll(enumWords(c.Type.Enum))+")"))
	case ir.ListOf:
		if cond := d.listShape(c); cond != "" {
			list = append(list, check("", name("list"), cond))
		}
	default:
		if cond := d.scalarShape(c); cond != "" {
			list = append(list, check("", name(string(c.Type.Base)), cond))
		}
	}
	if cond := bounds(c); cond != "" {
		list = append(list, check("", name("range"), cond))
	}
	return list
}

// bounds are min and max: of the value of an int, of the length of a string in
// characters.
func bounds(c Column) string {
	if c.Field == nil || c.Field.Min == nil && c.Field.Max == nil {
		return ""
	}
	subject := c.Name
	if c.Type.Base == ir.String {
		subject = "length(" + c.Name + ")"
	}
	switch lo, hi := c.Field.Min, c.Field.Max; {
	case hi == nil:
		return fmt.Sprintf("%s >= %d", subject, *lo)
	case lo == nil:
		return fmt.Sprintf("%s <= %d", subject, *hi)
	default:
		return fmt.Sprintf("%s BETWEEN %d AND %d", subject, *lo, *hi)
	}
}

// timeShape admits fixed width text that orders as time does. That the day and
// the hour exist is for strftime to say.
const timeShape = "[0-9][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9].[0-9][0-9][0-9][0-9][0-9][0-9]Z"

// scalarShape is "" where the SQL type already refuses every other value.
// PostgreSQL parses CHECKs anew for each statement, so the times that the engine
// itself writes do without.
func (d dialect) scalarShape(c Column) string {
	col, base := c.Name, c.Type.Base
	switch {
	case base == ir.Time && d == postgres && c.Field != nil:
		return col + " >= '0001-01-01 00:00:00Z' AND " + col + " < '10000-01-01 00:00:00Z'"
	case d == postgres:
		return ""
	case base == ir.Bool:
		return col + " IN (0, 1)"
	case base == ir.Time:
		second := "substr(" + col + ", 1, 19)" // without the fraction, which strftime would round up
		return col + " GLOB '" + timeShape + "' AND " + col + " >= '0001'\n" +
			"            AND strftime('%Y-%m-%dT%H:%M:%S', " + second + ", '+0 days') IS " + second
	case base == ir.UUID:
		return col + " GLOB '????????-????-????-????-????????????'\n            AND length(replace(" + col + ", '-', '')) = 32" +
			" AND replace(" + col + ", '-', '') NOT GLOB '*[^0-9a-f]*'"
	case base == ir.JSON:
		return "json_valid(" + col + ")"
	}
	return ""
}

// listShape is what a CHECK can say about a list. SQLite looks into the
// elements with a trigger (elementRules).
func (d dialect) listShape(c Column) string {
	switch {
	case d == sqlite:
		return "json_valid(" + c.Name + ") AND json_type(" + c.Name + ") = 'array'"
	case isNested(c.Type):
		return "jsonb_typeof(" + c.Name + ") = 'array'"
	case c.Type.Elem.Base == ir.EnumOf:
		return c.Name + " <@ ARRAY[" + quoteAll(enumWords(c.Type.Elem.Enum)) + "]"
	}
	return "array_position(" + c.Name + ", NULL) IS NULL"
}

func fieldList(fields []*ir.Field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = ident(f.Text)
	}
	return strings.Join(names, ", ")
}

// historyConstraints are the constraints of the history table.
func historyConstraints(d dialect, m *ir.Machine) []constraint {
	from, to := ident("from_"+m.Storage.State), ident("to_"+m.Storage.State)
	id := ident(m.ID.Text)
	key := id + ", version"
	if d == postgres && m.Storage.Partition {
		key += ", created_at"
	}
	list := []constraint{{name: ruleName(m.Storage.History, "pkey"), body: "PRIMARY KEY (" + key + ")"}}
	if d == sqlite {
		list = append(list, constraint{
			comment: "Also stops INSERT OR REPLACE, which deletes without firing triggers, from replacing a record.",
			name:    ruleName(m.Text, "history", "has_record"),
			body:    "FOREIGN KEY (" + id + ") REFERENCES " + recordTable(m) + " (" + id + ")",
		})
	}
	for _, c := range HistoryColumns(m) {
		list = append(list, shapeConstraints(d, m.Text+"_history", c)...)
	}
	if len(m.Actors) > 0 {
		roles := []string{}
		for _, a := range m.Actors {
			roles = append(roles, a.Text)
		}
		list = append(list, check("", ruleName(m.Text, "history", "actor_role"), "actor_role IN ("+quoteAll(append(roles, "system"))+")"))
	}
	return append(list,
		check("", ruleName(m.Text, "history", "begins_with_creation"), "(version = 1) = ("+from+" IS NULL)"),
		check("", ruleName(m.Text, "history", "edge"),
			isEdge(d, m, from, "event_type", to)))
}
