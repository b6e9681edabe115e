package ddl

import (
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// In SQLite a statement may say OR REPLACE, and then a row that shares a unique key
// is deleted without firing a trigger. So triggers refuse what a unique key would,
// in its words, before it is asked.

// unique is a key that no two rows of a table share.
type unique struct {
	columns []string
	values  []string // of the new row
	// other and this limit the rows that count: "" where all do. other reads the
	// row that is there as o, this the new one.
	other, this string
	// index is the name of the index that has the key, "" for a constraint of the
	// table. Its rules are triggers of their own, which may go with the index.
	index string
	// inserted and updated: a new row can have the whole key, a step can change it.
	// Where neither can, other rules refuse the row.
	inserted, updated bool
}

// recordUniques are the unique keys of the record table, the primary key first.
func recordUniques(d dialect, m *ir.Machine) []unique {
	scope := triggerScope(d, m, "")
	list := []unique{{columns: []string{ident(m.ID.Text)}, values: []string{"NEW." + ident(m.ID.Text)}, inserted: true}}
	for _, u := range m.Uniques {
		key := unique{inserted: true}
		for _, f := range u.Fields {
			key.columns, key.values = append(key.columns, ident(f.Text)), append(key.values, scope.field(f))
			key.inserted = key.inserted && beginsWith(m, f)
			key.updated = key.updated || laterWritten(m, f)
		}
		if u.WhileActive {
			key.index = IndexOf(m, u)
		}
		if final := terminal(m); u.WhileActive && len(final) > 0 {
			among := stateColumn(m) + " NOT IN (" + quoteAll(stateNames(final)) + ")"
			key.other, key.this = "o."+among, "NEW."+among
		}
		list = append(list, key)
	}
	return list
}

// beginsWith reports whether a record can have a value of f when it is created.
func beginsWith(m *ir.Machine, f *ir.Field) bool {
	return f.Index < 0 || f.Derive != nil || f.Default != nil ||
		slices.ContainsFunc(m.Rows, func(r *ir.Row) bool { return r.From == nil && r.Writes(f) })
}

// laterWritten reports whether a step after the creation can change f.
func laterWritten(m *ir.Machine, f *ir.Field) bool {
	switch {
	case f.Derive != nil:
		return true
	case f.Immutable && !f.Type.Optional:
		return false
	}
	return slices.ContainsFunc(m.Rows, func(r *ir.Row) bool { return r.From != nil && r.Writes(f) })
}

// insertedKeys and updatedKeys are the constraints of the record table that a new row,
// or a step, can meet.
func insertedKeys(d dialect, m *ir.Machine) []unique {
	return slices.DeleteFunc(recordUniques(d, m), func(k unique) bool { return k.index != "" || !k.inserted })
}

func updatedKeys(d dialect, m *ir.Machine) []unique {
	return slices.DeleteFunc(recordUniques(d, m), func(k unique) bool { return k.index != "" || !k.updated })
}

// sqliteIndexTriggers adds what refuses a taken key of an index. A record that is
// there already is refused by its id.
func (s *script) sqliteIndexTriggers(m *ir.Machine) {
	table, id := recordTable(m), ident(m.ID.Text)
	for _, k := range recordUniques(s.dialect, m) {
		if k.index == "" || !k.inserted && !k.updated {
			continue
		}
		s.section("No OR REPLACE takes away who has the key of " + k.index + ".")
		if k.inserted {
			s.sqliteTrigger(k.index+"_insert", "BEFORE INSERT", table, takenRules(table, []unique{k}, "o."+id+" = NEW."+id))
		}
		if k.inserted && k.updated {
			s.line("")
		}
		if k.updated {
			s.sqliteTrigger(k.index+"_update", "BEFORE UPDATE", table, takenRules(table, []unique{k}, sameRow([]*ir.Field{m.ID})))
		}
	}
}

// tableUniques is the key of a table besides the record table.
func tableUniques(t *ir.Table) []unique {
	var key unique
	for _, f := range t.Key {
		key.columns, key.values = append(key.columns, ident(f.Text)), append(key.values, "NEW."+ident(f.Text))
	}
	return []unique{key}
}

// takenRules refuse a row whose unique keys another row has. same is the condition
// that the other row o is not the one that is changed, "" for an insertion.
func takenRules(table string, keys []unique, same string) []rule {
	list := make([]rule, len(keys))
	for i, k := range keys {
		var conds, names []string
		for n, c := range k.columns {
			conds, names = append(conds, "o."+c+" = "+k.values[n]), append(names, strings.Trim(table, `"`)+"."+strings.Trim(c, `"`))
		}
		if k.other != "" {
			conds = append(conds, k.other)
		}
		if same != "" {
			conds = append(conds, "NOT ("+same+")")
		}
		cond := "EXISTS (SELECT 1 FROM " + table + " AS o WHERE " + strings.Join(conds, " AND ") + ")"
		if k.this != "" {
			cond = k.this + " AND " + cond
		}
		list[i] = rule{cond: cond, message: []text{words("UNIQUE constraint failed: " + strings.Join(names, ", "))}}
	}
	return list
}

// sameRow is the condition that o is the row that an UPDATE changes.
func sameRow(key []*ir.Field) string {
	conds := make([]string, len(key))
	for i, f := range key {
		conds[i] = "o." + ident(f.Text) + " = OLD." + ident(f.Text)
	}
	return strings.Join(conds, " AND ")
}

// absentRules refuse null where a column has a default instead. OR REPLACE stores the
// default, after the triggers have judged.
func absentRules(m *ir.Machine) []rule {
	var list []rule
	for _, c := range Columns(m) {
		if !c.defaultNow && (c.Field == nil || c.Field.Type.Optional || c.Field.Default == nil) {
			continue
		}
		list = append(list, rule{
			cond:    "NEW." + c.Name + " IS NULL",
			message: []text{words("NOT NULL constraint failed: " + strings.Trim(recordTable(m), `"`) + "." + strings.Trim(c.Name, `"`))},
		})
	}
	return list
}
