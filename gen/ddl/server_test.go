package ddl_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen/ddl"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// server is how a database takes a schema and arguments, and what it can do, as far as the
// tests ask. Tests ask the server, never which one it is: a further dialect answers each field.
type server struct {
	name   string // of the subtest: that of the dialect's constant
	script func(*ir.Machine) string
	value  func(ir.Type, ir.Value) (any, error) // an argument
	mark   string                               // the first argument in a statement
	// nativeTypes: times, booleans, lists and JSON have types of their own, and a spelling as text
	// that is the server's; else they are stored as Go spells them.
	nativeTypes bool
	// arrays: a list is an array of the server's; else it is JSON.
	arrays bool
	// showsValues: the message of a rule has the values; else it has their expressions.
	showsValues bool
	// errorCodes: an error has the SQLSTATE of its rule and names its constraint.
	errorCodes bool
	// asksAtCommit: a trigger asks at the end of the transaction whether each step has its history row.
	asksAtCommit bool
	// triggersOfTables: DROP TRIGGER names the table.
	triggersOfTables bool
	// forget lifts the rule that each step has its history row, as far as a transaction that is rolled
	// back may meet it: of a script, or with statements that follow it.
	forget     func(script string) string
	forgetting string
	// drop removes tables, with all that belongs to them.
	drop func(t *testing.T, db *database, tables []string)
	// lift returns the statements that switch off the rule of a refusal, inside the
	// transaction that tries it; unlift undoes what the rollback does not.
	lift   func(t *testing.T, db *database, r refusal) []string
	unlift []string
}

var sqliteServer = server{
	name: "sqlite", script: ddl.SQLite, value: ddl.SQLiteValue, mark: "?",
	forget: func(script string) string { return toldInSQLite.ReplaceAllString(script, "") },
	drop:   dropTables,
	lift:   liftInSQLite, unlift: []string{"PRAGMA ignore_check_constraints = OFF"},
}

var postgresServer = server{
	name: "postgres", script: ddl.Postgres, value: ddl.PostgresValue, mark: "$1",
	nativeTypes: true, arrays: true, showsValues: true, errorCodes: true, asksAtCommit: true, triggersOfTables: true,
	forget: func(script string) string { return script },
	forgetting: `DO $$ DECLARE t record; BEGIN
		FOR t IN SELECT tgname, tgrelid::regclass AS on_table FROM pg_trigger JOIN pg_class AS c ON c.oid = tgrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
			WHERE tgdeferrable AND NOT tgisinternal AND nspname = current_schema() LOOP
			EXECUTE format('DROP TRIGGER %I ON %s', t.tgname, t.on_table);
		END LOOP; END $$`,
	drop: dropSchema,
	lift: liftInPostgres,
}

// toldInSQLite are the foreign key and the trigger.
var toldInSQLite = regexp.MustCompile(`(?s) *-- Judged at the end of the transaction\.\n[^,]*, version\)[^,]*, version\)[^,]*,\n|-- Each step is told before the next one\.\n.*?\nEND;\n`)

// shown is the text of a stored value: the server's own, or that of Go.
func (s server) shown(native, asInGo string) string {
	if s.nativeTypes {
		return native
	}
	return asInGo
}

// list is the literal of a list, of elements that are written in quotes.
func (s server) list(texts ...string) string {
	if s.arrays {
		return `'{"` + strings.Join(texts, `","`) + `"}'`
	}
	return `'["` + strings.Join(texts, `","`) + `"]'`
}

var values = regexp.MustCompile(`\{([^|}]*)\|([^}]*)\}`)

// says is a message as the server renders it. Of {a|b} it says a if it shows values.
func (s server) says(message string) string {
	if s.showsValues {
		return values.ReplaceAllString(message, "$1")
	}
	return values.ReplaceAllString(message, "$2")
}

// dropTrigger is the statement that removes a trigger of a table.
func (s server) dropTrigger(name, table string) string {
	if s.triggersOfTables {
		return "DROP TRIGGER " + name + " ON " + table
	}
	return "DROP TRIGGER " + name
}

func dropTables(t *testing.T, db *database, tables []string) {
	t.Helper()
	for _, table := range tables {
		db.must(t, "DROP TABLE "+table)
	}
}

// dropSchema removes the trigger functions too.
func dropSchema(t *testing.T, db *database, _ []string) {
	t.Helper()
	schema := db.text(t, "SELECT current_schema()")
	db.must(t, "DROP SCHEMA "+schema+" CASCADE", "CREATE SCHEMA "+schema)
}

func liftInPostgres(t *testing.T, db *database, r refusal) []string {
	t.Helper()
	if r.check == "" {
		trigger := r.trigger
		if trigger == "UPDATE" || trigger == "DELETE" {
			trigger = "sample_history_change"
		}
		return []string{"ALTER TABLE " + r.table + " DISABLE TRIGGER " + trigger}
	}
	if r.table == "samples" {
		return []string{db.without(t, r.check)}
	}
	var stmts []string
	for name := range strings.SplitSeq(r.check, ",") {
		stmts = append(stmts, "ALTER TABLE "+r.table+" DROP CONSTRAINT "+name)
	}
	return stmts
}

func liftInSQLite(_ *testing.T, _ *database, r refusal) []string {
	switch {
	case r.elements != "":
		return []string{"DROP TRIGGER sample_insert"}
	case r.check != "":
		return []string{"PRAGMA ignore_check_constraints = ON"}
	case r.trigger == "UPDATE" || r.trigger == "DELETE":
		return []string{"DROP TRIGGER sample_history_" + strings.ToLower(r.trigger)}
	}
	// The foreign key of a history row is judged at commit, which never comes.
	return []string{"DROP TRIGGER " + r.trigger, "PRAGMA defer_foreign_keys = ON"}
}
