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
// Deleting the referred row deletes the rows that refer to it: a step that
// clears a stale row must not be stopped by what was once derived from it, and
// nothing may refer to a row that is gone.

// foreignKey is the constraint of a column with ref; false where the referred
// table has no single key column to point at.
func foreignKey(t *ir.Table, f *ir.Field) (constraint, bool) {
	if f.Ref == nil || len(f.Ref.Key) != 1 {
		return constraint{}, false
	}
	return constraint{
		name: ruleName(t.Text, f.Text, "refers_to", f.Ref.Text),
		body: "FOREIGN KEY (" + ident(f.Text) + ") REFERENCES " + tableName(f.Ref) + " (" + ident(f.Ref.Key[0].Text) + ") ON DELETE CASCADE",
	}, true
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
	query := "SELECT 1 FROM " + tableName(f.Ref) + " AS p WHERE " + strings.Join(conds, " AND ")
	if d == postgres {
		// The row must not lose what is demanded before this transaction ends.
		query += " FOR SHARE"
	}
	return rule{
		kind: kindReference, name: ruleName(t.Text, f.Text, "where"),
		cond: "NEW." + col + " IS NOT NULL AND NOT EXISTS (\n            " + query + ")",
		message: about(t.Text, "NEW."+col, kindReference,
			words("no row of "+f.Ref.Text+" has this "+f.Ref.Key[0].Text+" and "+strings.Join(demands, ", "))),
		hint: "The row referred to comes first.",
	}
}

func whereCondition(d dialect, w ir.ColumnValue) (cond, demand string) {
	col := ident(w.Column.Text)
	if w.Value.Kind == ir.Null {
		return "p." + col + " IS NULL", w.Column.Text + " null"
	}
	return "p." + col + " = " + d.literal(w.Column.Type, w.Value.A.Literal), w.Column.Text + " " + w.Value.Text
}

// tableInsertRules and tableUpdateRules judge rows of a table besides the
// record table.
func tableInsertRules(d dialect, t *ir.Table) []rule {
	var list []rule
	for _, f := range t.Columns {
		if f.Ref != nil && len(f.Ref.Key) == 1 && len(f.Where) > 0 {
			list = append(list, referenceRule(d, t, f))
		}
	}
	return append(list, elementRules(d, t.Text, "NEW."+ident(t.Key[0].Text), TableColumns(t))...)
}

func tableUpdateRules(d dialect, t *ir.Table) []rule {
	var list []rule
	for _, f := range t.Columns {
		if f.Immutable {
			list = append(list, writeOnceRule(t.Text, "OLD."+ident(t.Key[0].Text), f))
		}
	}
	for _, r := range tableInsertRules(d, t) {
		if r.kind == kindReference {
			col := referringColumn(t, r)
			r.cond = "NEW." + col + " IS DISTINCT FROM OLD." + col + " AND " + r.cond
		}
		list = append(list, r)
	}
	return list
}

// referringColumn is the column that a reference rule is about.
func referringColumn(t *ir.Table, r rule) string {
	for _, f := range t.Columns {
		if f.Ref != nil && r.name == ruleName(t.Text, f.Text, "where") {
			return ident(f.Text)
		}
	}
	return ""
}

// tableConstraints are the constraints of a table besides the record table.
func tableConstraints(d dialect, t *ir.Table) []constraint {
	list := []constraint{{name: ruleName(t.Text, "pkey"), body: "PRIMARY KEY (" + fieldList(t.Key) + ")"}}
	for _, c := range TableColumns(t) {
		list = append(list, shapeConstraints(d, t.Text, c)...)
	}
	for _, f := range t.Columns {
		if fk, ok := foreignKey(t, f); ok {
			list = append(list, fk)
		}
	}
	return list
}
