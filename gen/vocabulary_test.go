package gen_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// values are two values of each type as JSON, in their order, and how the spec
// writes the type and, where it can, the first value.
var values = map[ir.Base]struct{ written, literal, less, more string }{
	ir.String:   {"string", "ant", `"ant"`, `"bee"`},
	ir.Int:      {"int", "1", `1`, `2`},
	ir.Bool:     {"bool", "false", `false`, `true`},
	ir.Time:     {"time", "15m", `"2026-01-01T00:00:00Z"`, `"2026-01-02T00:00:00Z"`},
	ir.Duration: {"duration", "1m", `60000000000`, `120000000000`},
	ir.UUID:     {"uuid", "00000000-0000-4000-8000-000000000001", `"00000000-0000-4000-8000-000000000001"`, `"00000000-0000-4000-8000-000000000002"`},
	ir.JSON:     {"json", "1", `{"a":1}`, `{"a":2}`},
	ir.ListOf:   {"list<string>", "ant", `["ant"]`, `["bee"]`},
	ir.EnumOf:   {"colour", "red", `"red"`, `"green"`},
}

// pairs are, for each operator, values of x and y for which it holds, and some for
// which it does not: l is the smaller one and m the larger one.
var pairs = map[ir.Op]struct{ right, holds, fails string }{
	ir.Eq: {"$y", "ll", "lm"}, ir.Ne: {"$y", "lm", "ll"},
	ir.Lt: {"$y", "lm", "ll"}, ir.Le: {"$y", "ll", "ml"}, ir.Gt: {"$y", "ml", "ll"}, ir.Ge: {"$y", "ll", "lm"},
	ir.Exists: {"true", "ll", "-l"}, ir.NotExists: {"true", "-l", "ll"},
	ir.In: {"[LITERAL]", "ll", "ml"}, ir.NotIn: {"[LITERAL]", "ml", "ll"},
	ir.Contains: {"ant", "ll", "ml"}, ir.Matches: {"^a", "ll", "ml"},
}

// refused are the operators that a type does not have. The checker says GUARD_TYPE_ERROR.
var refused = map[ir.Base][]ir.Op{
	ir.String:   {ir.Lt, ir.Le, ir.Gt, ir.Ge, ir.Contains},
	ir.Int:      {ir.Contains, ir.Matches},
	ir.Bool:     {ir.Lt, ir.Le, ir.Gt, ir.Ge, ir.Contains, ir.Matches},
	ir.Time:     {ir.In, ir.NotIn, ir.Contains, ir.Matches},
	ir.Duration: {ir.Contains, ir.Matches},
	ir.UUID:     {ir.Lt, ir.Le, ir.Gt, ir.Ge, ir.Contains, ir.Matches},
	ir.JSON:     {ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt, ir.Ge, ir.In, ir.NotIn, ir.Contains, ir.Matches},
	ir.ListOf:   {ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt, ir.Ge, ir.In, ir.NotIn, ir.Matches},
	ir.EnumOf:   {ir.Lt, ir.Le, ir.Gt, ir.Ge, ir.Contains, ir.Matches},
}

// TestEveryTypeHasItsOperators compiles a guard of every type with every operator: the
// checker refuses what is listed, or the interpreter tells two values
// apart by it, the Go compiles and SQLite takes the schema.
func TestEveryTypeHasItsOperators(t *testing.T) {
	checker := newTypeChecker(t)
	for _, base := range ir.BaseTypes() {
		for _, op := range ir.Ops() {
			t.Run(fmt.Sprintf("%s %s", base, op), func(t *testing.T) { wordHasForms(t, checker, base, op) })
		}
	}
}

func wordHasForms(t *testing.T, checker *typeChecker, base ir.Base, op ir.Op) {
	v, known := values[base]
	p, paired := pairs[op]
	if !known || !paired {
		t.Fatal("this test has no values of the type, or none for the operator")
	}
	right := strings.ReplaceAll(p.right, "LITERAL", v.literal)
	spec := fmt.Sprintf(`machine: word
version: 1.0.0
enums: {colour: [red, green]}
fields: {x: optional %[1]s, y: optional %[1]s}
states: {open: {kind: initial}, done: {kind: success, terminal: true}}
events: {go_on: {writes: [optional x, optional y]}}
transitions:
  - {name: taken, from: open, on: go_on, when: ['x %[2]s %[3]s'], to: done}
  - {name: other, from: open, on: go_on, otherwise: true, to: open}
`, v.written, op, right)
	result, list, err := gen.Compile([]gen.Source{{Path: "word.yaml", Data: []byte(spec)}}, options)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(refused[base], op) {
		if !slices.ContainsFunc(list.Sorted(), func(d diag.Diagnostic) bool { return d.Code == "GUARD_TYPE_ERROR" }) {
			t.Errorf("want GUARD_TYPE_ERROR, got%s", render(list.Sorted()))
		}
		return
	}
	if list.HasErrors() {
		t.Fatalf("the checker refuses it:%s", render(list.Sorted()))
	}
	for _, d := range list.Sorted() {
		if d.Code == "FSM031" || d.Code == "FSM033" {
			t.Errorf("the checker knows no value for which the guard holds, or none for which it does not: %s", d.Message)
		}
	}
	m := result.Machines[0]
	for values, want := range map[string]string{p.holds: "taken", p.fails: "other"} {
		if row := choose(t, m, values, v.less, v.more); row != want {
			t.Errorf("the interpreter takes %s for %s", row, values)
		}
	}
	if err := checker.check(result.Files); err != nil {
		t.Errorf("the Go does not compile: %v", err)
	}
	for _, f := range result.Files {
		if strings.HasSuffix(f.Path, "sqlite.sql") {
			acceptedBySQLite(t, string(f.Data))
		}
		if strings.HasSuffix(f.Path, "README.md") && strings.Contains(f.Path, "/") && !strings.Contains(string(f.Data), string(op)) {
			t.Error("the documentation does not name the operator")
		}
	}
}

// choose returns the row that the interpreter takes for two values.
func choose(t *testing.T, m *ir.Machine, values, less, more string) string {
	t.Helper()
	json := map[byte]string{'l': less, 'm': more, '-': "null"}
	record, err := interp.UnmarshalRecord(m, []byte(`{"id":"00000000-0000-4000-8000-000000000009","state":"open"}`))
	if err != nil {
		t.Fatal(err)
	}
	args, err := interp.UnmarshalPayload(m.Events[0], fmt.Appendf(nil, `{"x":%s,"y":%s}`, json[values[0]], json[values[1]]))
	if err != nil {
		t.Fatal(err)
	}
	result, rejected := interp.Fire(m, record, interp.Input{Event: m.Events[0], Args: args, Actor: interp.System(), Now: time.Unix(0, 0)})
	if rejected != nil {
		return string(rejected.Reason)
	}
	return result.Steps[0].Row.Text
}

func acceptedBySQLite(t *testing.T, script string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "word.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(script); err != nil {
		t.Errorf("SQLite refuses the schema: %v", err)
	}
}
