package ddl

import (
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

// checks are the CHECKs of demands: one for those that follow each other and
// share a name.
func checks(demands []demand) []constraint {
	var list []constraint
	for i := 0; i < len(demands); {
		first, conds := demands[i], []string(nil)
		for ; i < len(demands) && demands[i].name == first.name; i++ {
			conds = append(conds, demands[i].cond)
		}
		list = append(list, check(first.comment, first.name, strings.Join(conds, "\n            AND ")))
	}
	return list
}

// recordConstraints are the constraints of the record table. In PostgreSQL what
// a record has to satisfy besides is for a function to judge: postgresDemands.
func recordConstraints(d dialect, m *ir.Machine) []constraint {
	list := []constraint{{name: ruleName(m.Storage.Table, "pkey"), body: "PRIMARY KEY (" + ident(m.ID.Text) + ")"}}
	switch d {
	case postgres:
	case sqlite:
		list = append(list, toldConstraint(m))
		list = append(list, checks(recordDemands(d, m))...)
		for _, s := range m.States {
			list = append(list, holdsConstraint(d, m, s)...)
		}
	default:
		panic(ir.NoForm("ddl.recordConstraints", d))
	}
	for _, u := range m.Uniques {
		if !u.WhileActive {
			list = append(list, constraint{comment: u.Doc, name: ruleName(m.Text, u.Text), body: "UNIQUE (" + fieldList(u.Fields) + ")"})
		}
	}
	return list
}

// holdsConstraint is what holds in state s.
func holdsConstraint(d dialect, m *ir.Machine, s *ir.State) []constraint {
	demands := holdsDemands(d, m, s)
	if len(demands) == 0 {
		return nil
	}
	conds := make([]string, len(demands))
	for i, one := range demands {
		conds[i] = one.cond
	}
	all := conds[0]
	if len(conds) > 1 {
		all = "(\n            " + strings.Join(conds, "\n            AND ") + ")"
	}
	return []constraint{check(demands[0].comment, demands[0].name, stateColumn(m)+" <> "+quote(s.Text)+" OR "+all)}
}

func fieldList(fields []*ir.Field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = ident(f.Text)
	}
	return strings.Join(names, ", ")
}

// historyConstraints are the constraints of the history table. What its rows tell
// is for triggers to judge: historyRules and toldRule.
func historyConstraints(d dialect, m *ir.Machine) []constraint {
	id := ident(m.ID.Text)
	key := id + ", version"
	if d.traits().partitions && m.Storage.Partition {
		key += ", created_at"
	}
	list := []constraint{{name: ruleName(m.Storage.History, "pkey"), body: "PRIMARY KEY (" + key + ")"}}
	switch d {
	case postgres: // a trigger asks, under the name of its rule
	case sqlite:
		list = append(list, constraint{
			name: ruleName(m.Text, "history", "has_record"),
			body: "FOREIGN KEY (" + id + ") REFERENCES " + recordTable(m) + " (" + id + ")",
		})
	default:
		panic(ir.NoForm("ddl.historyConstraints", d))
	}
	for _, c := range HistoryColumns(m) {
		list = append(list, checks(shapeDemands(d, "", m.Text+"_history", c))...)
	}
	return list
}
