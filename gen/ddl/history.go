package ddl

import "github.com/fsmgen/fsmgen/gen/ir"

// historyRules judge a new history row against the record that it is about.
// The record is written first, so a row that fits was made by that very step.
func historyRules(d dialect, m *ir.Machine) []rule {
	id, to := ident(m.ID.Text), ident("to_"+m.Storage.State)
	lock := ""
	if d == postgres && m.Storage.Partition {
		// No unique index stops two sessions that tell one version at once.
		lock = "\n            FOR NO KEY UPDATE"
	}
	list := []rule{{
		kind: kindHistory, name: ruleName(m.Text, "history", "matches_record"),
		cond: "NOT EXISTS (\n            SELECT 1 FROM " + recordTable(m) + " AS r\n" +
			"            WHERE r." + id + " = NEW." + id + " AND r.version = NEW.version\n" +
			"                AND r." + stateColumn(m) + " = NEW." + to + " AND r.last_event = NEW.event_type" + lock + ")",
		message: about(m.Text, "NEW."+id, kindHistory, "the record is not in ", value("NEW."+to),
			words(" by "), value("NEW.event_type"), words(" at version "), value("NEW.version")),
		hint: "Write the record first, then its history row, in one transaction.",
	}}
	if d == sqlite || m.Storage.Partition {
		list = append(list, secondRowRule(d, m))
	}
	return list
}

// secondRowRule: a version has one row. The primary key says so too, but in
// SQLite INSERT OR REPLACE would delete the old row without firing a trigger,
// and in a partitioned table the key must contain created_at.
func secondRowRule(d dialect, m *ir.Machine) rule {
	id := ident(m.ID.Text)
	comment := "INSERT OR REPLACE would overwrite the row without firing a trigger."
	if d == postgres {
		comment = "The primary key of a partitioned table must contain created_at, so it can't say this."
	}
	return rule{
		comment: comment,
		kind:    kindHistory, name: ruleName(m.Text, "history", "one_row_per_version"),
		cond: "EXISTS (\n            SELECT 1 FROM " + historyTable(m) + " AS h\n" +
			"            WHERE h." + id + " = NEW." + id + " AND h.version = NEW.version)",
		message: about(m.Text, "NEW."+id, kindHistory, "version ", value("NEW.version"), words(" is already told")),
		hint:    "A step writes one history row.",
	}
}

// recreated refuses a new record in the place of one that INSERT OR REPLACE has
// just deleted without firing a trigger. It is judged after the insert, so that
// a plain INSERT of a known id fails by its primary key.
func recreated(m *ir.Machine) rule {
	id := ident(m.ID.Text)
	return rule{
		kind: kindDelete, name: ruleName(m.Text, "replaced"),
		cond:    "EXISTS (SELECT 1 FROM " + historyTable(m) + " AS h WHERE h." + id + " = NEW." + id + ")",
		message: about(m.Text, "NEW."+id, kindDelete, "a record with a history is not replaced"),
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
