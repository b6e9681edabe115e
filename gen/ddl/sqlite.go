package ddl

import (
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// SQLite returns the SQLite script that creates the tables of m, for SQLite
// 3.40 or later. Tables that m refers to must exist: see [Order].
func SQLite(m *ir.Machine) string {
	return sqliteScript(sqlite, m, "Needs SQLite 3.40, and PRAGMA foreign_keys = ON on every connection.")
}

// sqliteScript is the script of a dialect that has SQLite's triggers, with what it needs.
func sqliteScript(d dialect, m *ir.Machine, needs string) string {
	s := &script{dialect: d}
	s.header(m)
	s.comment("", needs)
	s.section("One row per record.")
	s.table(recordTable(m), Columns(m), recordConstraints(s.dialect, m), " STRICT, WITHOUT ROWID")
	s.uniqueWhileActive(m)
	s.sqliteRecordTriggers(m)
	s.sqliteHistory(m)
	for _, t := range orderTables(m) {
		s.sqliteTable(t)
	}
	return s.String()
}

func (s *script) sqliteRecordTriggers(m *ir.Machine) {
	table := recordTable(m)
	s.sqliteIndexTriggers(m)
	s.section("A record begins as the machine creates it.")
	s.sqliteTrigger(ruleName(m.Text, "insert"), "BEFORE INSERT", table,
		slices.Concat(absentRules(m), insertRules(s.dialect, m), takenRules(table, insertedKeys(s.dialect, m), "")))
	s.section("A record moves only along the transitions, one version at a time.")
	s.sqliteTrigger(ruleName(m.Text, "update"), "BEFORE UPDATE", table,
		slices.Concat(absentRules(m), updateRules(s.dialect, m), takenRules(table, updatedKeys(s.dialect, m), sameRow([]*ir.Field{m.ID}))))
	s.section("Each step is told before the next one.")
	s.sqliteTrigger(ruleName(m.Text, "told"), "BEFORE UPDATE", table, []rule{untold(m)})
	s.section("A record stays.")
	s.sqliteTrigger(ruleName(m.Text, "delete"), "BEFORE DELETE", table, []rule{noDelete(m)})
}

func (s *script) sqliteHistory(m *ir.Machine) {
	table := historyTable(m)
	s.section("One row per step. It only grows.")
	s.table(table, HistoryColumns(m), historyConstraints(s.dialect, m), " STRICT, WITHOUT ROWID")
	if m.Storage.Partition {
		s.section("PostgreSQL partitions this table by created_at; SQLite has no partitions, so an\nindex serves queries by time.")
		s.line("CREATE INDEX %s ON %s (created_at);", ruleName(m.Storage.History, "created_at"), table)
	}
	s.section("A history row tells what the record says at this moment.")
	s.sqliteTrigger(ruleName(m.Text, "history", "insert"), "BEFORE INSERT", table, historyRules(s.dialect, m))
	s.section("What is written stays written.")
	s.sqliteTrigger(ruleName(m.Text, "history", "update"), "BEFORE UPDATE", table, []rule{appendOnly(m)})
	s.line("")
	s.sqliteTrigger(ruleName(m.Text, "history", "delete"), "BEFORE DELETE", table, []rule{appendOnly(m)})
}

func (s *script) sqliteTable(t *ir.Table) {
	s.section(tableDoc(t))
	s.table(tableName(t), TableColumns(t), tableConstraints(s.dialect, t), " STRICT, WITHOUT ROWID")
	taken, same := tableUniques(t), sameRow(t.Key)
	s.section(referenceDoc(t))
	s.sqliteTrigger(ruleName(t.Machine.Text, t.Text, "insert"), "BEFORE INSERT", tableName(t),
		append(tableInsertRules(s.dialect, t), takenRules(tableName(t), taken, "")...))
	s.line("")
	s.sqliteTrigger(ruleName(t.Machine.Text, t.Text, "update"), "BEFORE UPDATE", tableName(t),
		append(tableUpdateRules(s.dialect, t), takenRules(tableName(t), taken, same)...))
}

// sqliteTrigger adds a trigger that raises at the first rule that is broken.
func (s *script) sqliteTrigger(name, when, table string, rules []rule) {
	s.line("CREATE TRIGGER %s %s ON %s", name, when, table)
	s.line("BEGIN")
	if len(rules) == 1 && rules[0].cond == "" {
		s.line("    SELECT %s;", raise(rules[0]))
		s.line("END;")
		return
	}
	s.line("    SELECT CASE")
	for _, r := range rules {
		s.comment("        ", r.comment)
		s.line("        WHEN %s THEN", strings.Join(r.conditions(), "\n            AND "))
		s.line("            %s", raise(r))
	}
	s.line("    END;")
	s.line("END;")
}

// raise is the call that refuses. Its text is constant, so values stand in it as
// expressions, without the id, which the engine's error names; what to do follows,
// for which PostgreSQL has the hint.
func raise(r rule) string {
	var message strings.Builder
	for _, part := range r.message {
		if !part.id {
			message.WriteString(part.words + part.expr)
		}
	}
	if r.hint != "" {
		message.WriteString(". " + r.hint)
	}
	return "RAISE(ABORT, " + quote(message.String()) + ")"
}
