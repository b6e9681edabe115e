package ddl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// Postgres returns the PostgreSQL script that creates the tables of m, for
// PostgreSQL 13 or later. Tables that m refers to must exist: see [Order].
func Postgres(m *ir.Machine) string {
	// The quotes of a function's body must not occur in it: texts of the spec may
	// hold dollars.
	tag := "$$"
	for n := 1; ; n++ {
		s := postgresScript(m, tag)
		if text := s.String(); strings.Count(text, tag) == 2*s.bodies {
			return text
		}
		tag = fmt.Sprintf("$q%d$", n)
	}
}

func postgresScript(m *ir.Machine, tag string) *script {
	s := &script{dialect: postgres, tag: tag}
	s.header(m)
	s.section("One row per record.")
	s.table(recordTable(m), Columns(m), recordConstraints(postgres, m), "")
	s.postgresDemands(m)
	s.uniqueWhileActive(m)
	s.postgresRecordTriggers(m)
	s.postgresHistory(m)
	for _, t := range orderTables(m) {
		s.postgresTable(t)
	}
	s.searchPath()
	return s
}

// function opens the definition of a function; searchPath covers it.
func (s *script) function(name, args, rest string) {
	s.functions = append(s.functions, name)
	s.line("CREATE FUNCTION %s(%s) %s AS %s", name, args, rest, s.tag)
}

// end closes the body of a function or block.
func (s *script) end() {
	s.bodies++
	s.line("%s;", s.tag)
}

// searchPath fixes the search path of all functions. The schema is the one that
// the script is run in, so only the database can name it.
func (s *script) searchPath() {
	s.section("The functions look at the tables of this schema and at the operators of PostgreSQL, whatever\n" +
		"the search path of their caller; temporary tables come last. Run this again after the schema\n" +
		"was renamed.")
	s.line("DO %s", s.tag)
	s.line("DECLARE")
	s.line("    f regprocedure;")
	s.line("BEGIN")
	s.line("    FOR f IN")
	s.line("        SELECT p.oid FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace")
	s.line("        WHERE n.nspname = current_schema() AND p.proname IN (%s)", quoteAll(s.functions))
	s.line("    LOOP")
	s.line("        EXECUTE format('ALTER FUNCTION %%s SET search_path = %%I, pg_temp', f, current_schema());")
	if strings.Contains(s.String(), `\`) {
		s.line("        -- Their texts hold backslashes.")
		s.line("        EXECUTE format('ALTER FUNCTION %%s SET standard_conforming_strings = on', f);")
	}
	s.line("    END LOOP;")
	s.line("END;")
	s.end()
}

// postgresDemands adds the function that knows what a record has to satisfy, and
// the CHECK that asks it. A rule raises under the name that a CHECK of its own
// would have.
func (s *script) postgresDemands(m *ir.Machine) {
	function, table := ruleName(m.Text, "rules"), recordTable(m)
	s.section("What a record has to satisfy. It is a function because PostgreSQL parses the CHECKs of a table\n" +
		"again for each statement, but keeps the plan of a function.\n" +
		"Here and below, whether any of several rules is broken is asked at once, and then which: each\n" +
		"expression of a function that is come to is prepared in each transaction.")
	s.function(function, "r "+table, "RETURNS boolean\nLANGUAGE plpgsql IMMUTABLE PARALLEL SAFE")
	s.line("BEGIN")
	s.demandRules("    ", m, recordDemands(postgres, m))
	s.postgresHolds(m)
	s.line("    RETURN true;")
	s.line("END;")
	s.end()
	s.line("")
	s.line("ALTER TABLE %s ADD CONSTRAINT %s", table, function)
	s.line("    CHECK (%s(%s));", function, table)
}

// postgresHolds adds what holds in each state, to be judged in that state only.
func (s *script) postgresHolds(m *ir.Machine) {
	open := false
	for _, st := range m.States {
		demands := holdsDemands(postgres, m, st)
		if len(demands) == 0 {
			continue
		}
		if !open {
			s.line("    CASE r.%s", stateColumn(m))
			open = true
		}
		s.line("        WHEN %s THEN", quote(st.Text))
		s.demandRules("            ", m, demands)
	}
	if open {
		s.line("        ELSE")
		s.line("            -- The other states demand nothing.")
		s.line("    END CASE;")
	}
}

// demandRules adds the rules of demands.
func (s *script) demandRules(indent string, m *ir.Machine, demands []demand) {
	var list []rule
	for _, d := range demands {
		kind := ruleKind{word: d.name, code: "check_violation"}
		list = append(list, rule{
			comment: d.comment, kind: kind, name: d.name, cond: "NOT (" + d.cond + ")",
			message: about(m.Text, "r."+ident(m.ID.Text), kind, "", d.wrong...), hint: d.hint,
		})
	}
	s.postgresRules(indent, list, 0, recordTable(m))
}

func (s *script) postgresRecordTriggers(m *ir.Machine) {
	table := recordTable(m)
	s.section("A record begins as the machine creates it.")
	s.postgresTrigger(ruleName(m.Text, "insert"), "BEFORE INSERT", table, insertRules(postgres, m))
	s.section("A record moves only along the transitions, one version at a time.")
	s.postgresTrigger(ruleName(m.Text, "update"), "BEFORE UPDATE", table, updateRules(postgres, m))
	s.section("A record stays.")
	s.postgresTrigger(ruleName(m.Text, "delete"), "BEFORE DELETE", table, []rule{noDelete(m)})
	s.line("")
	s.postgresTrigger(ruleName(m.Text, "truncate"), "BEFORE TRUNCATE", table,
		[]rule{noTruncate(m, kindDelete, table, ruleName(m.Text, "never_deleted"))})
}

func (s *script) postgresHistory(m *ir.Machine) {
	tail := ""
	s.section("One row per step. It only grows.")
	if m.Storage.Partition {
		tail = " PARTITION BY RANGE (created_at)"
	}
	s.table(historyTable(m), HistoryColumns(m), historyConstraints(postgres, m), tail)

	s.section("A history row tells what the record says at this moment.")
	s.postgresTrigger(ruleName(m.Text, "history", "insert"), "BEFORE INSERT", historyTable(m), historyRules(postgres, m))
	s.section("Each step is told, judged at the end of its transaction.")
	s.postgresTrigger(ruleName(m.Text, "told"), "AFTER INSERT OR UPDATE", recordTable(m), []rule{toldRule(m)})
	s.section("What is written stays written.")
	s.postgresTrigger(ruleName(m.Text, "history", "change"), "BEFORE UPDATE OR DELETE", historyTable(m), []rule{appendOnly(m)})
	s.line("")
	s.postgresTrigger(ruleName(m.Text, "history", "truncate"), "BEFORE TRUNCATE", historyTable(m),
		[]rule{noTruncate(m, kindHistory, historyTable(m), ruleName(m.Text, "history", "append_only"))})
	if m.Storage.Partition {
		s.postgresPartitions(m)
	}
}

// postgresPartitions adds the default partition and the function that makes a
// month's. Row triggers are cloned to partitions; the TRUNCATE trigger is not.
func (s *script) postgresPartitions(m *ir.Machine) {
	table := historyTable(m)
	truncate := ruleName(m.Text, "history", "truncate")
	part, function := ruleName(m.Storage.History, "default"), ruleName(m.Storage.History, "partition")
	s.section("Rows of a month without a partition of its own.")
	s.line("CREATE TABLE %s PARTITION OF %s DEFAULT;", part, table)
	s.line("")
	s.line("CREATE TRIGGER %s BEFORE TRUNCATE ON %s", truncate, part)
	s.line("    FOR EACH STATEMENT EXECUTE FUNCTION %s();", truncate)
	s.section(function + " creates the partition of a month (UTC) and returns its name, for instance\n" +
		"SELECT " + function + "('2026-02-01'). Call it before the month begins:\n" +
		"history can't be moved, so a month that has rows in the default partition stays there.\n" +
		"To archive a month, detach its partition.")
	s.function(function, "month date", "RETURNS text LANGUAGE plpgsql")
	s.line(`DECLARE
    first timestamp := date_trunc('month', month::timestamp);
    part  text := '%[1]s_' || to_char(first, 'YYYY_MM');
BEGIN
    EXECUTE format('CREATE TABLE %%I PARTITION OF %[1]s FOR VALUES FROM (%%L) TO (%%L)',
        part, first AT TIME ZONE 'UTC', (first + interval '1 month') AT TIME ZONE 'UTC');
    EXECUTE format('CREATE TRIGGER %[2]s BEFORE TRUNCATE ON %%I FOR EACH STATEMENT EXECUTE FUNCTION %[2]s()', part);
    RETURN part;
END;`, table, truncate)
	s.end()
}

func (s *script) postgresTable(t *ir.Table) {
	s.section(tableDoc(t))
	s.table(tableName(t), TableColumns(t), tableConstraints(postgres, t), "")
	if rules := tableInsertRules(postgres, t); len(rules) > 0 {
		s.section(referenceDoc(t))
		s.postgresTrigger(ruleName(t.Machine.Text, t.Text, "insert"), "BEFORE INSERT", tableName(t), rules)
	}
	if rules := tableUpdateRules(postgres, t); len(rules) > 0 {
		s.line("")
		s.postgresTrigger(ruleName(t.Machine.Text, t.Text, "update"), "BEFORE UPDATE", tableName(t), rules)
	}
}

// postgresTrigger adds a trigger and its function, which share a name.
func (s *script) postgresTrigger(name, when, table string, rules []rule) {
	s.function(name, "", "RETURNS trigger LANGUAGE plpgsql")
	s.line("BEGIN")
	s.postgresRules("    ", rules, 0, table)
	if returns := !slices.ContainsFunc(rules, func(r rule) bool { return r.cond == "" && len(r.path) == 0 }); returns {
		s.line("    RETURN NEW;")
	}
	s.line("END;")
	s.end()
	s.line("")
	constraint, each := "", "FOR EACH ROW"
	switch {
	case strings.HasPrefix(when, "AFTER"):
		constraint, each = "CONSTRAINT ", "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"
	case strings.HasSuffix(when, "TRUNCATE"):
		each = "FOR EACH STATEMENT"
	}
	s.line("CREATE %sTRIGGER %s %s ON %s", constraint, name, when, table)
	s.line("    %s EXECUTE FUNCTION %s();", each, name)
}

// postgresRules adds rules that share the first depth conditions of their paths. Those
// of which the next one differs become the branches of one statement.
func (s *script) postgresRules(indent string, rules []rule, depth int, table string) {
	open := false
	for len(rules) > 0 {
		if len(rules[0].path) == depth {
			n := run(rules, func(r rule) bool { return len(r.path) == depth })
			s.endIf(indent, &open)
			s.postgresGroups(indent, rules[:n], table)
			rules = rules[n:]
			continue
		}
		next := rules[0].path[depth]
		n := run(rules, func(r rule) bool { return len(r.path) > depth && r.path[depth] == next })
		word := "IF"
		if open {
			word = "ELSIF"
		}
		s.line("%s%s %s THEN", indent, word, next)
		s.postgresRules(indent+"    ", rules[:n], depth+1, table)
		open, rules = true, rules[n:]
	}
	s.endIf(indent, &open)
}

// run counts the rules at the beginning that are alike.
func run(rules []rule, alike func(rule) bool) int {
	if n := slices.IndexFunc(rules, func(r rule) bool { return !alike(r) }); n >= 0 {
		return n
	}
	return len(rules)
}

// fewest is how many rules are worth a condition that asks at once whether one of them
// is broken.
const fewest = 4

// postgresGroups adds rules that are judged on one path. Whether one of many is broken
// is asked at once, and then which. What asks another table is judged by itself: it
// would make a query of the whole.
func (s *script) postgresGroups(indent string, rules []rule, table string) {
	for len(rules) > 0 {
		n := run(rules, func(r rule) bool { return r.cond != "" && !strings.Contains(r.cond, "SELECT") })
		if n < fewest {
			rules = s.postgresGroup(indent, rules, table)
			continue
		}
		broken := make([]string, n)
		for i, r := range rules[:n] {
			broken[i] = r.broken()
		}
		s.line("%sIF %s THEN", indent, strings.Join(broken, "\n"+indent+"    OR "))
		for group := rules[:n]; len(group) > 0; {
			group = s.postgresGroup(indent+"    ", group, table)
		}
		s.line("%sEND IF;", indent)
		rules = rules[n:]
	}
}

// broken is the condition that the rule is broken on its path, as a part of an OR.
func (r rule) broken() string {
	cond := r.cond
	if strings.Contains(cond, " OR ") && !strings.HasPrefix(cond, "NOT (") {
		cond = "(" + cond + ")"
	}
	if r.when != "" {
		return r.when + " AND " + cond
	}
	return cond
}

// postgresGroup adds the first rule, with those after it that share its when, and
// returns the others.
func (s *script) postgresGroup(indent string, rules []rule, table string) []rule {
	when := rules[0].when
	if when == "" {
		s.postgresRule(indent, rules[0], table)
		return rules[1:]
	}
	s.line("%sIF %s THEN", indent, when)
	for len(rules) > 0 && rules[0].when == when {
		s.postgresRule(indent+"    ", rules[0], table)
		rules = rules[1:]
	}
	s.line("%sEND IF;", indent)
	return rules
}

func (s *script) endIf(indent string, open *bool) {
	if *open {
		s.line("%sEND IF;", indent)
		*open = false
	}
}

// postgresRule adds the test of one rule; without a condition it always raises.
func (s *script) postgresRule(indent string, r rule, table string) {
	s.comment(indent, r.comment)
	if r.cond == "" {
		s.raise(indent, r, table)
		return
	}
	s.line("%sIF %s THEN", indent, r.cond)
	s.raise(indent+"    ", r, table)
	s.line("%sEND IF;", indent)
}

func (s *script) raise(indent string, r rule, table string) {
	var format strings.Builder
	args := ""
	for _, part := range r.message {
		if part.id {
			format.WriteString(" ")
		}
		if part.expr != "" {
			format.WriteString("%")
			args += ", " + part.expr
			continue
		}
		format.WriteString(strings.ReplaceAll(part.words, "%", "%%"))
	}
	s.line("%sRAISE EXCEPTION %s%s", indent, quote(format.String()), args)
	s.line("%s    USING ERRCODE = '%s', TABLE = %s, CONSTRAINT = %s,", indent, r.kind.code, quote(strings.Trim(table, `"`)), quote(r.name))
	s.line("%s        HINT = %s;", indent, quote(r.hint))
}

func tableDoc(t *ir.Table) string {
	if t.Doc != "" {
		return t.Doc
	}
	return "Steps of " + t.Machine.Text + " write this table in their transaction."
}
