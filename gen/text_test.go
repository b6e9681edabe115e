package gen_test

import (
	"context"
	"database/sql"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite" // the driver named sqlite

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/internal/pgtest"
)

// talkative is a spec with text in every place that takes any. TEXT is in quotes.
const talkative = `# TEXT
machine: order
version: "TEXT"
doc: TEXT
id: {order_id: uuid}
sql: {table: orders, state: status, history: order_history, partition: created_at}
actors:
  clerk: {doc: TEXT} # TEXT
enums:
  size: [small, large] # TEXT
fields:
  note:  {type: string, default: TEXT, doc: TEXT}
  kind:  {type: optional size, doc: TEXT}
  label: {type: string, default: TEXT}
params:
  word: {type: string, default: TEXT, doc: TEXT}
failures:
  busy: {retry: never, status: 409, doc: TEXT}
tables:
  lines:
    key: [line_id]
    doc: TEXT
    columns:
      line_id: {type: string, doc: TEXT}
      remark:  {type: string, default: TEXT, doc: TEXT}
unique:
  one_note: {fields: [note], while: active, doc: TEXT}
states:
  created: {kind: initial, doc: TEXT}
  held:    {kind: operational, doc: TEXT, holds: [label != other]}
  paid:    {kind: success, terminal: true, doc: TEXT}
events:
  create: {by: clerk, writes: [note, optional kind], doc: TEXT}
  hold:   {by: clerk, doc: TEXT, fields: {why: {type: string, doc: TEXT}}}
  pay:    {by: clerk, doc: TEXT}
transitions:
  - {name: create, from: none, on: create, to: created, doc: TEXT}
  - {name: hold, from: created, on: hold, to: held, when: [label == $word], set: {label: word}, doc: TEXT}
  - {name: busy, from: created, on: hold, reject: busy, otherwise: true, doc: TEXT}
  - {name: pay, from: [created, held], on: pay, to: paid, do: [add], doc: TEXT}
effects:
  add: {upsert: lines, row: {line_id: $note, remark: $label}, doc: TEXT}
invariants:
  no_way: {doc: TEXT, never: {from: held, to: created, unless: [label == other]}}
  noted:  {doc: TEXT, always: [label != other]}
`

// nasty are texts that mean something to what is generated.
func nasty() []string {
	return []string{
		"$$", "a $$; DROP TABLE orders; $$ b", "$q1$ $$ $q1$", "$body$", "US$", "$1", "{note}", "%", "%s %v %% %1$s",
		"`", "``", "a ``` b", "`` | ``", "|", `\|`, `\`, `\'; DROP TABLE orders; --`, "'", "''; DROP TABLE orders; --", `"`, `"; DROP TABLE orders; --`,
		"--", "-- a", "/*", "*/ DROP TABLE orders; /*", "<!-- a", "--> b", "<b>&amp;", "//go:build never", "+build never", "go:embed x",
		"line\nDROP TABLE orders;", "line\n\n\n// more", "a\nb`c\n| d | e |", "# heading", "---", "ünïcödé ☃ 日本",
	}
}

// compiled is what a text in every place comes to; with a problem it is refused.
func compiled(text string) (map[string]string, string) {
	spec := strings.ReplaceAll(talkative, "# TEXT", "# "+strings.ReplaceAll(text, "\n", "\n# "))
	spec = strings.ReplaceAll(spec, `"TEXT"`, "TEXT")
	spec = strings.ReplaceAll(spec, "TEXT", yamlQuoted(text))
	result, list, err := gen.Compile([]gen.Source{{Path: "spec/order.yaml", Data: []byte(spec)}}, gen.Options{Module: "github.com/fsmgen/fsmgen", Specs: "../../spec"})
	if err != nil {
		return nil, err.Error()
	}
	if list.HasErrors() {
		var said []string
		for _, d := range list.Sorted() {
			said = append(said, fmt.Sprintf("%s: %s [%s]", d.Span, d.Message, d.Code))
		}
		return nil, strings.Join(said, "\n")
	}
	files := map[string]string{}
	for _, f := range result.Files {
		files[f.Path] = string(f.Data)
	}
	return files, ""
}

// yamlQuoted is text as a YAML scalar in double quotes.
func yamlQuoted(text string) string {
	return strings.NewReplacer(`\x`, `\x`, `\u`, `\u`).Replace(strconv.QuoteToGraphic(text))
}

// TestHiddenCharactersAreRefused in every place.
func TestHiddenCharactersAreRefused(t *testing.T) {
	t.Parallel()
	for _, r := range []rune{0, '\r', '\v', '\f', '\x1b', '\x7f', '\u0085', '\u2028', '\u2029', '\u202e', '\u2066', '\u200b', '\u200f', '\ufeff', '\U000e0041'} {
		for _, place := range []string{"doc: TEXT", "default: TEXT"} {
			at := strings.Index(talkative, place)
			quoted := fmt.Sprintf(`"a\U%08xb"`, r)
			spec := talkative[:at] + strings.Replace(place, "TEXT", quoted, 1) + talkative[at+len(place):]
			_, list := load(t, gen.Source{Path: "spec/order.yaml", Data: []byte(strings.ReplaceAll(spec, "TEXT", "text"))})
			if !slices.ContainsFunc(list.Sorted(), func(d diag.Diagnostic) bool { return d.Code == "FSM094" }) {
				t.Errorf("%U in %s is accepted", r, place)
			}
		}
	}
	for _, path := range []string{"spec\nDROP/order.yaml", "spec\u202e/order.yaml", "\x1b/order.yaml"} {
		if _, list := load(t, gen.Source{Path: path, Data: []byte(strings.ReplaceAll(talkative, "TEXT", "text"))}); !list.HasErrors() {
			t.Errorf("the path %q is accepted", path)
		}
	}
}

// TestTextMakesNothing: whatever stands in the texts of a spec, its SQL makes the same
// objects, its Go declares the same names and its tables have the same columns.
func TestTextMakesNothing(t *testing.T) {
	t.Parallel()
	plain, problem := compiled("text")
	if problem != "" {
		t.Fatal(problem)
	}
	want := objects(t, plain)
	for _, text := range nasty() {
		files, problem := compiled(text)
		if problem != "" {
			t.Errorf("%q is refused: %s", text, problem)
			continue
		}
		got := objects(t, files)
		for kind, names := range want {
			if !slices.Equal(got[kind], names) {
				t.Errorf("%q: the %s are %v, want %v", text, kind, got[kind], names)
			}
		}
	}
}

// objects lists what the files of a machine make, by its kind.
func objects(t *testing.T, files map[string]string) map[string][]string {
	t.Helper()
	return map[string][]string{
		"objects of SQLite":     sqliteObjects(t, files["order/sqlite.sql"]),
		"objects of PostgreSQL": postgresObjects(t, files["order/postgres.sql"]),
		"declarations of Go":    declarations(t, files),
		"tables of Markdown":    tables(t, files["order/README.md"]),
	}
}

func sqliteObjects(t *testing.T, script string) []string {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(script); err != nil {
		return []string{err.Error()}
	}
	rows, err := db.Query("SELECT type || ' ' || name FROM sqlite_schema ORDER BY 1")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		list = append(list, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

func postgresObjects(t *testing.T, script string) []string {
	t.Helper()
	ctx := context.Background()
	dsn := pgtest.DSN(t)
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	tx, err := conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(ctx) }()
	schema := fmt.Sprintf("text_%d", conn.PgConn().PID())
	if _, err := tx.Exec(ctx, "CREATE SCHEMA "+schema+"; SET LOCAL search_path = "+schema); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, script, pgx.QueryExecModeSimpleProtocol); err != nil {
		return []string{err.Error()}
	}
	rows, err := tx.Query(ctx, `SELECT 'relation ' || relname FROM pg_class WHERE relnamespace = $1::regnamespace
		UNION ALL SELECT 'function ' || proname FROM pg_proc WHERE pronamespace = $1::regnamespace
		UNION ALL SELECT 'trigger ' || tgname || ' ' || relname FROM pg_trigger JOIN pg_class AS c ON c.oid = tgrelid WHERE relnamespace = $1::regnamespace AND NOT tgisinternal
		UNION ALL SELECT 'constraint ' || conname FROM pg_constraint WHERE connamespace = $1::regnamespace ORDER BY 1`, schema)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// declarations are the declared names and the build constraints of the Go files.
func declarations(t *testing.T, files map[string]string) []string {
	t.Helper()
	var list []string
	for path, text := range files {
		if !strings.HasSuffix(path, ".go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments)
		if err != nil {
			return []string{err.Error()}
		}
		for _, group := range f.Comments {
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, "//go:") || strings.HasPrefix(c.Text, "// +build") || strings.HasPrefix(c.Text, "/*") {
					list = append(list, path+" "+c.Text)
				}
			}
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				list = append(list, path+" func "+d.Name.Name)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						list = append(list, path+" type "+spec.Name.Name)
					case *ast.ValueSpec:
						list = append(list, path+" "+d.Tok.String()+" "+spec.Names[0].Name)
					}
				}
			}
		}
	}
	slices.Sort(list)
	return list
}

// tables lists the columns of each line of each table of a Markdown file.
func tables(t *testing.T, text string) []string {
	t.Helper()
	var list []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "|") {
			list = append(list, strconv.Itoa(strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")))
		}
	}
	return list
}
