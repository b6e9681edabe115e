package ddl

import (
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// historyRules judge a new history row against the record that it is about.
// The record is written first, so a row that fits was made by that very step.
//
// The record has one updated_at at each version, so created_at, which belongs to
// the key of a partitioned table, does not let a second row in.
func historyRules(d dialect, m *ir.Machine) []rule {
	id, to := ident(m.ID.Text), ident("to_"+m.Storage.State)
	list := []rule{{
		kind: kindHistory, name: ruleName(m.Text, "history", "matches_record"),
		cond: "NOT EXISTS (\n            SELECT 1 FROM " + recordTable(m) + " AS r\n" +
			"            WHERE r." + id + " = NEW." + id + " AND r.version = NEW.version AND r.updated_at = NEW.created_at\n" +
			"                AND r." + stateColumn(m) + " = NEW." + to + " AND r.last_event = NEW.event_type" + partyTest(m) + ")",
		message: about(m.Text, "NEW."+id, kindHistory, "the record is not in ", value("NEW."+to),
			words(" by "), value("NEW.event_type"), words(" at version "), value("NEW.version"), words(" since "), value("NEW.created_at")),
		hint: "Write the record first, then its history row with its updated_at and who fired, in one transaction.",
	}}
	list = append(list, transitionRules(d, m)...)
	switch d {
	case postgres: // a deferred trigger looks for the row of each step
		return list
	case sqlite:
		return append(list, followsRule(m), secondRowRule(m))
	}
	panic(ir.NoForm("ddl.historyRules", d))
}

// partyTest: who fires as an actor that the record names is that one. Fields that
// change could have named another before the step.
func partyTest(m *ir.Machine) string {
	var b strings.Builder
	for _, a := range m.Actors {
		if a.Is == nil || !a.Is.Immutable || a.Is.Type.Base != actorType(m).Base {
			continue
		}
		fmt.Fprintf(&b, "\n                AND (NEW.%s IS NULL OR NEW.actor_role IS DISTINCT FROM %s OR r.%s = NEW.actor_id)",
			ident("from_"+m.Storage.State), quote(a.Text), ident(a.Is.Text))
	}
	return b.String()
}

// transitionRules: a row of the table leads there, and the role may fire it. In
// PostgreSQL one rule knows all rows; in SQLite, where a condition more costs little,
// there is a rule for each state.
func transitionRules(d dialect, m *ir.Machine) []rule {
	from, to := "NEW."+ident("from_"+m.Storage.State), "NEW."+ident("to_"+m.Storage.State)
	refusal := func(cond string, path ...string) rule {
		return rule{
			kind: kindHistory, name: ruleName(m.Text, "history", "transition"), path: path, cond: cond,
			message: about(m.Text, "NEW."+ident(m.ID.Text), kindHistory, "", value("NEW.transition"), words(" is no transition from "), value(from),
				words(" on "), value("NEW.event_type"), words(" to "), value(to), words(" by "), value("NEW.actor_role")),
			hint: "Name the row of the table that was taken, and the role that fired it.",
		}
	}
	if legal := transitions(m, from, to); d.traits().edgeLists && legal != "" {
		return []rule{refusal(from + " = '' OR (" + legal + ") IS NOT TRUE")}
	}
	var list []rule
	var left []string
	for _, s := range append([]*ir.State{nil}, m.States...) {
		var lines []string
		for _, r := range m.Rows {
			if r.From == s && r.Reject == nil {
				lines = append(lines, transitionTest(r, to))
			}
		}
		if len(lines) == 0 {
			continue
		}
		here := from + " IS NULL"
		if s != nil {
			here, left = from+" = "+quote(s.Text), append(left, s.Text)
		}
		list = append(list, refusal("(\n                   "+strings.Join(lines, "\n                OR ")+") IS NOT TRUE", here))
	}
	return append(list, refusal(outside(from, left)))
}

// transitions is the condition that a row of the table leads there, by a role that may
// fire it. A creation comes from nothing.
func transitions(m *ir.Machine, from, to string) string {
	var byAll, by []string
	for _, r := range m.Rows {
		if r.Reject != nil {
			continue
		}
		taken := " " + r.Text + " " + r.Event.Text + " " + r.Target().Text
		if r.From != nil {
			taken = r.From.Text + taken
		}
		if r.By == nil {
			byAll = append(byAll, taken)
		}
		for _, a := range r.By {
			by = append(by, taken+" "+a.Text)
		}
	}
	row := "COALESCE(" + from + ", '') || ' ' || NEW.transition || ' ' || NEW.event_type || ' ' || " + to
	var legal []string
	if len(byAll) > 0 {
		legal = append(legal, row+" IN ("+tabled(byAll)+")")
	}
	if len(by) > 0 {
		legal = append(legal, row+" || ' ' || NEW.actor_role IN ("+tabled(by)+")")
	}
	return strings.Join(legal, "\n            OR ")
}

func transitionTest(r *ir.Row, to string) string {
	test := "NEW.transition = " + quote(r.Text) + " AND NEW.event_type = " + quote(r.Event.Text) + " AND " + to + " = " + quote(r.Target().Text)
	if r.By == nil {
		return test
	}
	roles := make([]string, len(r.By))
	for i, a := range r.By {
		roles[i] = a.Text
	}
	return test + " AND NEW.actor_role IN (" + quoteAll(roles) + ")"
}

// toldRule judges at the end of a transaction, in PostgreSQL, that each step of it
// has its history row, and that it tells where the step came from.
func toldRule(m *ir.Machine) rule {
	id, state := ident(m.ID.Text), stateColumn(m)
	return rule{
		kind: kindHistory, name: ruleName(m.Text, "told"),
		cond: "NOT EXISTS (\n            SELECT 1 FROM " + historyTable(m) + " AS h\n" +
			"            WHERE h." + id + " = NEW." + id + " AND h.version = NEW.version AND h.created_at = NEW.updated_at\n" +
			"                AND h." + ident("from_"+m.Storage.State) + " IS NOT DISTINCT FROM OLD." + state + ")",
		message: about(m.Text, "NEW."+id, kindHistory, "version ", value("NEW.version"), words(" from "), value("OLD."+state),
			words(" by "), value("NEW.last_event"), words(" has no history row")),
		hint: "Write the history row of each step in the step's transaction.",
	}
}

// toldConstraint is toldRule for the last step of a record in SQLite, where
// foreign keys are on; untold is it for the others.
func toldConstraint(m *ir.Machine) constraint {
	key := "(" + ident(m.ID.Text) + ", version)"
	return constraint{
		comment: "Judged at the end of the transaction.", name: ruleName(m.Text, "told"),
		body: "FOREIGN KEY " + key + " REFERENCES " + historyTable(m) + " " + key + " DEFERRABLE INITIALLY DEFERRED",
	}
}

// untold refuses the step after one without a history row.
func untold(m *ir.Machine) rule {
	id := ident(m.ID.Text)
	return rule{
		kind: kindHistory, name: ruleName(m.Text, "told"),
		cond: "NOT EXISTS (\n            SELECT 1 FROM " + historyTable(m) + " AS h\n" +
			"            WHERE h." + id + " = OLD." + id + " AND h.version = OLD.version)",
		message: about(m.Text, "OLD."+id, kindHistory, "version ", value("OLD.version"), words(" has no history row")),
		hint:    "Write the history row of each step in the step's transaction.",
	}
}

// followsRule: a history row begins where the one before it ended.
func followsRule(m *ir.Machine) rule {
	id, from := ident(m.ID.Text), "NEW."+ident("from_"+m.Storage.State)
	return rule{
		kind: kindHistory, name: ruleName(m.Text, "history", "follows"),
		cond: from + " IS NOT (\n            SELECT h." + ident("to_"+m.Storage.State) + " FROM " + historyTable(m) + " AS h\n" +
			"            WHERE h." + id + " = NEW." + id + " AND h.version = NEW.version - 1)",
		message: about(m.Text, "NEW."+id, kindHistory, "the version before NEW.version did not end in ", value(from)),
		hint:    "Tell the state that the step left.",
	}
}

// secondRowRule: a version has one row. The primary key says so too, but INSERT OR
// REPLACE would delete the old row without firing a trigger.
func secondRowRule(m *ir.Machine) rule {
	id := ident(m.ID.Text)
	return rule{
		comment: "INSERT OR REPLACE would overwrite the row without firing a trigger.",
		kind:    kindHistory, name: ruleName(m.Text, "history", "one_row_per_version"),
		cond: "EXISTS (\n            SELECT 1 FROM " + historyTable(m) + " AS h\n" +
			"            WHERE h." + id + " = NEW." + id + " AND h.version = NEW.version)",
		message: about(m.Text, "NEW."+id, kindHistory, "version ", value("NEW.version"), words(" is already told")),
		hint:    "A step writes one history row.",
	}
}

// appendOnly refuses to change or remove a history row.
func appendOnly(m *ir.Machine) rule {
	return rule{
		kind: kindHistory, name: ruleName(m.Text, "history", "append_only"), cond: "",
		message: about(m.Text, "OLD."+ident(m.ID.Text), kindHistory, "history is append-only, version ",
			value("OLD.version"), words(" stays as it is")),
		hint: "Correct a mistake with a further step.",
	}
}

// noDelete refuses to remove a record.
func noDelete(m *ir.Machine) rule {
	return rule{
		kind: kindDelete, name: ruleName(m.Text, "never_deleted"), cond: "",
		message: about(m.Text, "OLD."+ident(m.ID.Text), kindDelete, "records are never deleted, this one is in ",
			value("OLD."+stateColumn(m))),
		hint: "Move the record to a terminal state instead.",
	}
}

// noTruncate refuses to empty a table at once, which fires no row trigger.
func noTruncate(m *ir.Machine, kind ruleKind, table, name string) rule {
	return rule{
		kind: kind, name: name, cond: "",
		message: []text{words("fsmgen: " + m.Text + ": " + kind.word + ": " + table + " is not truncated")},
		hint:    "Records and their history stay.",
	}
}
