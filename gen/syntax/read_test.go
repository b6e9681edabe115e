package syntax_test

import (
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/syntax"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

const whole = `machine: door
version: 1.0.0
states:
  shut: {kind: initial}
events:
  open: {}
transitions:
  - {name: open, from: shut, on: open, to: shut}
`

func parse(text string) (*syntax.File, []diag.Diagnostic) {
	var l diag.List
	f := syntax.Parse("door.yaml", []byte(text), &l)
	return f, l.Sorted()
}

func TestParseWholeSpec(t *testing.T) {
	f, problems := parse(whole)
	if len(problems) > 0 || f.Root.TextOf("machine") != "door" {
		t.Fatalf("got %v", problems)
	}
}

// Bad input gets one diagnostic with its place.
func TestParseRefuses(t *testing.T) {
	deep := strings.Repeat("a: {", 40) + strings.Repeat("}", 40)
	tests := []struct {
		name, text string
		code       diag.Code
		at         string
		message    string
	}{
		{"empty file", "", "FSM001", "1:1", "the file is empty"},
		{"blank file", " \n\n", "FSM001", "1:1", "the file is empty"},
		{"comments only", "# nothing\n", "FSM001", "1:1", "only comments"},
		{"binary", "machine: a\nb\x00c", "FSM001", "2:2", "binary"},
		{"utf-16", "\xff\xfem\x00", "FSM001", "1:1", "UTF-16"},
		{"latin-1", "machine: caf\xe9\n", "FSM001", "1:13", "not UTF-8"},
		{"tab", "machine: door\nstates:\n\tshut: {}\n", "FSM001", "3:1", "a tab indents this line"},
		{"too long", "machine: door\n#" + strings.Repeat("x", 10<<20), "FSM001", "1:1", "at most"},
		{"list at the top", "- machine: door\n", "FSM001", "1:1", "a spec is a map, not a list"},
		{"scalar at the top", "door\n", "FSM001", "1:1", "a spec is a map, not a value"},
		{"alias", "machine: &a door\nversion: *a\n", "FSM001", "1:10", "anchors and aliases"},
		{"alias bomb", "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n", "FSM001", "1:4", "anchors and aliases"},
		{"deep nesting", deep, "FSM001", "", "nested deeper"},
		{"two documents", whole + "---\n" + whole, "FSM001", "9:1", "a second YAML document"},
		{"escaped NUL", whole + "doc: \"a\\0b\"\n", "FSM094", "9:6", "the hidden character U+0000"},
		{"byte order mark in a comment", whole + "doc: a # \ufeff\n", "FSM094", "9:6", "the hidden character U+FEFF"},
		{"derived column", whole + "tables: {t: {key: [a], columns: {a: {type: string, derive: x}}}}\n", "FSM002", "9:52", `unknown key "derive"`},
		{"default of an event field", strings.Replace(whole, "open: {}", "open: {fields: {a: {type: int, default: 3}}}", 1), "FSM002", "", `unknown key "default"`},
		{"broken yaml", "machine: [door\n", "FSM001", "1:10", "this [ is never closed"},
		{"unquoted bracket guard", "machine: door\nwhen: [state in [a, b]]\n", "FSM001", "2:8", "a text that goes on with [ must be quoted here"},
		{"unknown key", whole + "trasitions: []\n", "FSM002", "9:1", `unknown key "trasitions"`},
		{"duplicate key", whole + "version: 2\n", "FSM004", "9:1", `"version" is written twice; first at 2:1`},
		{"missing key", "machine: door\nversion: 1\nstates: {a: {kind: initial}}\n", "FSM005", "1:1", `key "transitions" is missing`},
		{"wrong shape", "machine: door\nversion: 1\nstates: [a]\ntransitions: []\n", "FSM006", "3:9", "a list does not belong here"},
		{"word not allowed", strings.Replace(whole, "kind: initial", "kind: start", 1), "FSM006", "4:16", `"start" is not one of the words`},
		{"not a number", strings.Replace(whole, "to: shut}", "to: shut, priority: high}", 1), "FSM006", "8:60", `"high" does not belong here`},
		{"null state", strings.Replace(whole, "shut: {kind: initial}", "shut:", 1), "FSM006", "4:", "nothing does not belong here"},
		{"name with a blank", strings.Replace(whole, "shut: {kind", "\"sh ut\": {kind", 1), "FSM006", "4:3", `"sh ut" is not a name`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, problems := parse(tt.text)
			if len(problems) == 0 {
				t.Fatal("parses")
			}
			d := problems[0]
			at := strings.TrimPrefix(d.Span.String(), "door.yaml:")
			if d.Code != tt.code || !strings.HasPrefix(at, tt.at) || !contains(d.Message, tt.message) || d.Help == "" {
				t.Errorf("got  %s %s: %s (help: %s)\nwant %s %s: %s", at, d.Code, d.Message, d.Help, tt.at, tt.code, tt.message)
			}
		})
	}
}

func TestParseReportsEveryProblem(t *testing.T) {
	_, problems := parse("machine: door\nversion: 1\nstats: {}\nstates: {a: {kind: initial, knd: x}}\ntransitions: [{name: t, on: e, form: a, from: a}]\n")
	if len(problems) != 3 {
		t.Fatalf("got %d problems, want 3: %v", len(problems), problems)
	}
	if !contains(problems[0].Help, `did you mean "states"?`) || !contains(problems[2].Help, `did you mean "from"?`) {
		t.Errorf("help: %q, %q", problems[0].Help, problems[2].Help)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("? {a: b}: c"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var l diag.List
		if syntax.Parse("f.yaml", data, &l) == nil && l.Len() == 0 {
			t.Error("no file and no diagnostic")
		}
	})
}
