package proptest

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver named pgx
	_ "modernc.org/sqlite"             // the driver named sqlite

	"github.com/fsmgen/fsmgen/gen/ddl"
	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// database is one connection with the schema of the machine. All rows are
// written in one transaction that is never committed.
type database struct {
	name  string
	conn  *sql.Conn
	value func(ir.Type, ir.Value) (any, error) // as a parameter
	// selects is the expression that reads a column.
	selects func(ddl.Column) string
	// placeholder of the n-th parameter, counted from 1.
	placeholder func(n int) string
	// dropTriggers takes the record table's triggers away for good.
	dropTriggers func(testing.TB, *ir.Machine)
	traits
	statements int
	prepared   map[string]*sql.Stmt
}

// traits are what differs between the databases, as far as the tests ask.
type traits struct {
	// errorsAbort: after an error the transaction accepts nothing but a
	// rollback to a savepoint.
	errorsAbort bool
	// checksAtEnd: it checks at the end of a transaction that each step has a history row, and
	// can be asked to do so before. One that does not finds out at the next step.
	checksAtEnd bool
	// replaces: it has INSERT OR REPLACE and UPDATE OR REPLACE, which delete rows without firing a
	// trigger, and give what is null its default.
	replaces bool
	// truncates: it has TRUNCATE.
	truncates bool
	// upserts: an INSERT may say what happens where its key is there. One that does not refuses the
	// key whatever the INSERT says.
	upserts bool
	// taken is how it calls a key that is taken.
	taken func(m *ir.Machine, u *ir.Unique) string
}

func openSQLite(t testing.TB, spec *Spec, script string) *database {
	t.Helper()
	d := &database{
		name: "sqlite", prepared: map[string]*sql.Stmt{}, value: ddl.SQLiteValue,
		traits:      traits{replaces: true, taken: takenInSQLite},
		selects:     func(c ddl.Column) string { return c.Name },
		placeholder: func(int) string { return "?" },
	}
	d.dropTriggers = d.dropSQLiteTriggers
	d.connect(t, "sqlite", ":memory:")
	d.must(t, "PRAGMA foreign_keys = ON")
	// Not in the transaction: SQLite would read the schema again after every
	// ROLLBACK TO. The database is gone with the connection.
	d.schema(t, spec, script, ddl.SQLite)
	d.must(t, "BEGIN")
	return d
}

// openPostgres uses a schema of its own, which goes with the transaction.
func openPostgres(t testing.TB, spec *Spec, script, dsn string) *database {
	t.Helper()
	d := &database{
		name: "postgres", prepared: map[string]*sql.Stmt{}, value: ddl.PostgresValue, selects: postgresSelect,
		traits:      traits{errorsAbort: true, checksAtEnd: true, truncates: true, upserts: true, taken: takenInPostgres},
		placeholder: func(n int) string { return fmt.Sprintf("$%d", n) },
	}
	d.dropTriggers = func(t testing.TB, m *ir.Machine) {
		t.Helper()
		d.must(t, "ALTER TABLE "+quoted(m.Storage.Table)+" DISABLE TRIGGER USER")
	}
	d.connect(t, "pgx", dsn)
	schema := pgx.Identifier{fmt.Sprintf("fsmgen_%s_%d", spec.Machine, time.Now().UnixNano())}.Sanitize()
	d.must(t, "BEGIN")
	d.must(t, "CREATE SCHEMA "+schema)
	d.must(t, "SET LOCAL search_path TO "+schema)
	d.schema(t, spec, script, ddl.Postgres)
	return d
}

func (d *database) dropSQLiteTriggers(t testing.TB, m *ir.Machine) {
	t.Helper()
	d.must(t, "ROLLBACK")
	var names string
	query := "SELECT coalesce(group_concat(name), '') FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?"
	if err := d.conn.QueryRowContext(context.Background(), query, m.Storage.Table).Scan(&names); err != nil {
		t.Fatalf("list triggers: %v", err)
	}
	for name := range strings.SplitSeq(names, ",") {
		d.must(t, "DROP TRIGGER "+quoted(name))
	}
	d.must(t, "BEGIN")
}

func postgresSelect(c ddl.Column) string {
	switch c.Type.Base {
	case ir.ListOf:
		return "to_json(" + c.Name + ")::text"
	case ir.JSON, ir.UUID:
		return c.Name + "::text"
	case ir.String, ir.Int, ir.Bool, ir.Time, ir.Duration, ir.EnumOf:
		return c.Name
	}
	panic(ir.NoForm("proptest.postgresSelect", c.Type.Base))
}

func (d *database) connect(t testing.TB, driver, dsn string) {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatalf("open %s: %v", d.name, err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if d.conn, err = db.Conn(context.Background()); err != nil {
		t.Fatalf("connect to %s: %v", d.name, err)
	}
	t.Cleanup(func() {
		_, _ = d.conn.ExecContext(context.Background(), "ROLLBACK")
		_ = d.conn.Close()
	})
}

// schema creates the tables of the machine with its own script, and those that
// it needs with what emit makes of their specs.
func (d *database) schema(t testing.TB, spec *Spec, script string, emit func(*ir.Machine) string) {
	t.Helper()
	for _, m := range ddl.Order(needed(spec)) {
		text := script
		if m != spec.Machine {
			text = emit(m)
		}
		if _, err := d.conn.ExecContext(context.Background(), text); err != nil {
			t.Fatalf("%s: schema of %s: %v", d.name, m, err)
		}
	}
}

// needed lists the machine and every machine whose tables it refers to or
// writes, directly or through others, in the order of the specs.
func needed(spec *Spec) []*ir.Machine {
	in := map[*ir.Machine]bool{spec.Machine: true}
	for range spec.All {
		for m := range in {
			for _, other := range references(m) {
				in[other] = true
			}
		}
	}
	var out []*ir.Machine
	for _, m := range spec.All {
		if in[m] {
			out = append(out, m)
		}
	}
	return out
}

func references(m *ir.Machine) []*ir.Machine {
	var out []*ir.Machine
	for _, t := range m.Tables {
		for _, c := range t.Columns {
			if c.Ref != nil {
				out = append(out, c.Ref.Machine)
			}
		}
	}
	for _, e := range m.Effects {
		if e.Table != nil {
			out = append(out, e.Table.Machine)
		}
	}
	return out
}

func (d *database) must(t testing.TB, query string, args ...any) {
	t.Helper()
	if _, err := d.exec(query, args...); err != nil {
		t.Fatalf("%s: %s: %v", d.name, firstLine(query), err)
	}
}

// exec returns how many rows the statement changed.
func (d *database) exec(query string, args ...any) (int64, error) {
	d.statements++
	stmt, err := d.prepare(query)
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// prepare keeps statements, of which there are few different ones.
func (d *database) prepare(query string) (*sql.Stmt, error) {
	if stmt := d.prepared[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := d.conn.PrepareContext(context.Background(), query)
	if err == nil {
		d.prepared[query] = stmt
	}
	return stmt, err
}

// settle checks what is checked at the end of a transaction, which never comes.
func (d *database) settle() error {
	if !d.checksAtEnd {
		return nil
	}
	_, err := d.exec("SET CONSTRAINTS ALL IMMEDIATE")
	if err == nil {
		_, err = d.exec("SET CONSTRAINTS ALL DEFERRED")
	}
	return err
}

// one runs a statement that must change exactly one row.
func (d *database) one(query string, args ...any) error {
	n, err := d.exec(query, args...)
	if err == nil && n != 1 {
		return fmt.Errorf("%d rows changed, want 1: %s", n, firstLine(query))
	}
	return err
}

// undo runs do and takes back whatever it did.
func (d *database) undo(t testing.TB, do func() error) error {
	t.Helper()
	d.must(t, "SAVEPOINT attempt")
	err := do()
	d.must(t, "ROLLBACK TO SAVEPOINT attempt")
	d.must(t, "RELEASE SAVEPOINT attempt")
	return err
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// parse turns what the driver read into a value of type t.
func parse(t ir.Type, raw any) (ir.Value, error) {
	switch raw := raw.(type) {
	case nil:
		return nil, nil
	case []byte:
		return parse(t, string(raw))
	case time.Time:
		return raw.UTC(), nil
	case bool:
		return raw, nil
	case int64:
		return parseInt(t, raw)
	case string:
		return parseText(t, raw)
	}
	return nil, fmt.Errorf("cannot read %T as %s", raw, t)
}

func parseInt(t ir.Type, n int64) (ir.Value, error) {
	switch t.Base {
	case ir.Bool:
		return n == 1, nil
	case ir.Duration:
		return time.Duration(n), nil
	case ir.Int:
		return n, nil
	case ir.String, ir.Time, ir.UUID, ir.JSON, ir.ListOf, ir.EnumOf: // are text
		return nil, fmt.Errorf("cannot read the number %d as %s", n, t)
	}
	return nil, ir.NoForm("proptest.parseInt", t.Base)
}

func parseText(t ir.Type, text string) (ir.Value, error) {
	switch t.Base {
	case ir.Time:
		return interp.UnmarshalValue(t, json.RawMessage(`"`+text+`"`))
	case ir.ListOf, ir.JSON:
		return interp.UnmarshalValue(t, json.RawMessage(text))
	case ir.String, ir.UUID, ir.EnumOf:
		return text, nil
	case ir.Int, ir.Bool, ir.Duration: // are numbers
		return nil, fmt.Errorf("cannot read the text %q as %s", text, t)
	}
	return nil, ir.NoForm("proptest.parseText", t.Base)
}
