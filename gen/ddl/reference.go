package ddl

import (
	"strings"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// A reference with `where` is a rule about order: a row may only appear (and
// only be pointed at another row) while the row that it refers to satisfies
// `where`. What happens to the referred row later is a new fact: a failed second
// download does not undo an unpacked device, and refusing to record it would
// stop the machine that found it out. So a later change is not refused.
//
// Deleting the referred row is refused while a row refers to it, unless the
// column says that it goes along.

// referenceDoc says in the script what a trigger on a referring table is for.
func referenceDoc(t *ir.Table) string {
	if len(restricted(t)) == 0 {
		return ""
	}
	return "A row appears only while the row that it refers to is as the spec demands. What happens to\n" +
		"that row later is a new fact and is not refused."
}

// foreignKey is the constraint of a column with ref; false where the referred
// table has no single key column to point at.
func foreignKey(t *ir.Table, f *ir.Field) (constraint, bool) {
	if f.Ref == nil || len(f.Ref.Key) != 1 {
		return constraint{}, false
	}
	c := constraint{
		name: ruleName(t.Text, f.Text, "refers_to", f.Ref.Text),
		body: "FOREIGN KEY (" + ident(f.Text) + ") REFERENCES " + tableName(f.Ref) + " (" + ident(f.Ref.Key[0].Text) + ")",
	}
	if f.Cascade {
		c.comment = "Goes with the row that it refers to."
		c.body += " ON DELETE CASCADE"
	}
	return c, true
}

// referenceRule judges a row of t that refers to another.
func referenceRule(d dialect, t *ir.Table, f *ir.Field) rule {
	col, key := ident(f.Text), ident(f.Ref.Key[0].Text)
	conds := []string{"p." + key + " = NEW." + col}
	var demands []string
	for _, w := range f.Where {
		cond, demand := whereCondition(d, w)
		conds, demands = append(conds, cond), append(demands, demand)
	}
	query := "SELECT 1 FROM " + tableName(f.Ref) + " AS p WHERE " + strings.Join(conds, " AND ") + d.traits().rowLock
	return rule{
		kind: kindReference, name: ruleName(t.Text, f.Text, "where"),
		cond: "NEW." + col + " IS NOT NULL AND NOT EXISTS (\n            " + query + ")",
		message: about(t.Text, "NEW."+ident(t.Key[0].Text), kindReference,
			"no row of "+f.Ref.Text+" has "+f.Ref.Key[0].Text+" ", value("NEW."+col), words(" and "+strings.Join(demands, ", "))),
		hint: "The row referred to comes first.",
	}
}

func whereCondition(d dialect, w ir.ColumnValue) (cond, demand string) {
	col := ident(w.Column.Text)
	switch w.Value.Kind {
	case ir.Null:
		return "p." + col + " IS NULL", w.Column.Text + " null"
	case ir.Read:
		return "p." + col + " = " + d.literal(w.Column.Type, w.Value.A.Literal), w.Column.Text + " " + w.Value.Text
	case ir.Add, ir.Sub: // a demand is a literal
	}
	panic(ir.NoForm("ddl.whereCondition", w.Value.Kind))
}

// tableInsertRules judge a new row of a table besides the record table.
func tableInsertRules(d dialect, t *ir.Table) []rule {
	var list []rule
	for _, f := range restricted(t) {
		list = append(list, referenceRule(d, t, f))
	}
	return append(list, elementRules(d, t.Text, "NEW."+ident(t.Key[0].Text), TableColumns(t))...)
}

// tableUpdateRules judge a changed row. A reference is judged again only when
// it points at another row.
func tableUpdateRules(d dialect, t *ir.Table) []rule {
	var list []rule
	for _, f := range t.Columns {
		if f.Immutable {
			list = append(list, writeOnceRule(t.Text, "OLD."+ident(t.Key[0].Text), f))
		}
	}
	for _, f := range restricted(t) {
		r := referenceRule(d, t, f)
		r.cond = "NEW." + ident(f.Text) + " IS DISTINCT FROM OLD." + ident(f.Text) + " AND " + r.cond
		list = append(list, r)
	}
	return append(list, elementRules(d, t.Text, "NEW."+ident(t.Key[0].Text), TableColumns(t))...)
}

// restricted are the columns whose reference demands something.
func restricted(t *ir.Table) []*ir.Field {
	var list []*ir.Field
	for _, f := range t.Columns {
		if f.Ref != nil && len(f.Ref.Key) == 1 && len(f.Where) > 0 {
			list = append(list, f)
		}
	}
	return list
}

// tableConstraints are the constraints of a table besides the record table.
func tableConstraints(d dialect, t *ir.Table) []constraint {
	list := []constraint{{name: ruleName(t.Text, "pkey"), body: "PRIMARY KEY (" + fieldList(t.Key) + ")"}}
	for _, c := range TableColumns(t) {
		list = append(list, checks(shapeDemands(d, "", t.Text, c))...)
	}
	for _, f := range t.Columns {
		if fk, ok := foreignKey(t, f); ok {
			list = append(list, fk)
		}
	}
	return list
}
