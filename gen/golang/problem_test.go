package golang

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// TestProblems: what generated code says of a value is plain English.
func TestProblems(t *testing.T) {
	n := func(n int64) *int64 { return &n }
	enum := func(name string) ir.Type { return ir.Type{Base: ir.EnumOf, Enum: &ir.Enum{Name: ir.Name{Text: name}}} }
	for _, tt := range []struct{ got, want string }{
		{invalidity(enum("abort_reason")), "is not an abort_reason"},
		{invalidity(enum("quality")), "is not a quality"},
		{invalidity(enum("unit")), "is not a unit"},
		{invalidity(enum("http_code")), "is not an http_code"},
		{invalidity(ir.Type{Base: ir.Time}), "is not in the years 1 to 9999"},
		{invalidity(ir.Type{Base: ir.JSON}), "is required"},
		{invalidity(ir.Type{Base: ir.ListOf}), "has an invalid element"},
		{boundsOf(ir.Int, n(0), nil), "is less than 0"},
		{boundsOf(ir.Int, nil, n(1)), "is more than 1"},
		{boundsOf(ir.Int, n(1), n(5)), "is not from 1 to 5"},
		{boundsOf(ir.Int, n(3), n(3)), "is not 3"},
		{boundsOf(ir.String, n(1), nil), "is empty"},
		{boundsOf(ir.String, n(2), nil), "has fewer than 2 characters"},
		{boundsOf(ir.String, nil, n(1)), "has more than 1 character"},
		{boundsOf(ir.String, nil, n(64)), "has more than 64 characters"},
		{boundsOf(ir.String, n(8), n(8)), "does not have 8 characters"},
		{boundsOf(ir.String, n(1), n(1)), "does not have 1 character"},
		{boundsOf(ir.String, n(1), n(255)), "does not have 1 to 255 characters"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
		if wrong := notPlain(tt.got, nil); wrong != "" {
			t.Errorf("%q: %s", tt.got, wrong)
		}
	}
}

func boundsOf(base ir.Base, least, most *int64) string {
	return bounds(&ir.Field{Type: ir.Type{Base: base}, Min: least, Max: most})
}

// TestGeneratedMessages reads what the committed packages, and the code that they are made of, may
// say to a caller: the article fits its word, the noun its number, and no type of Go is named.
func TestGeneratedMessages(t *testing.T) {
	total := 0
	for _, pattern := range []string{"../../generated/*", "../../examples/*/generated/*", "../../runtime/fsm"} {
		folders, err := filepath.Glob(pattern)
		if err != nil || len(folders) == 0 {
			t.Fatalf("%s: no code found: %v", pattern, err)
		}
		for _, folder := range folders {
			messages, types := readMessages(t, folder)
			if folder == "../../runtime/fsm" {
				types = nil // its JSON is what everyone calls so
			}
			total += len(messages)
			for text, place := range messages {
				if wrong := notPlain(text, types); wrong != "" {
					t.Errorf("%s: %q: %s", place, text, wrong)
				}
			}
		}
	}
	if total < 120 {
		t.Errorf("%d messages were read: the test looks in the wrong place", total)
	}
}

// TestNotPlain: the rules find what they are about.
func TestNotPlain(t *testing.T) {
	types := map[string]bool{"AbortReason": true, "State": true}
	for text, want := range map[string]string{
		"is not a abort_reason":             "article",
		"is not an quality":                 "article",
		"%s: %q is not an abort_reason":     "",
		"has fewer than 1 characters":       "number",
		"does not have 8 character":         "number",
		"does not have 1 to 255 characters": "",
		"is not an AbortReason":             "AbortReason",
		"can't be an int64":                 "int64",
		"is not a fsm.Optional":             "fsm.Optional",
		"the state is not declared":         "",
	} {
		if got := notPlain(text, types); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q: found %q, want %q", text, got, want)
		}
	}
}

var (
	articles = regexp.MustCompile(`\b(an?) ([A-Za-z]\w*)`)
	counts   = regexp.MustCompile(`\b(\d+) (character|element|event|byte)(s?)\b`)
	goTypes  = regexp.MustCompile(`\bfsm\.[A-Z]\w*|\b(uint|u?int\d+|float\d+|struct)\b|\[\]\w|\bmap\[`)
	names    = regexp.MustCompile(`\b[A-Z]\w*`)
)

// notPlain says what is wrong with a message of a package that declares types; "" for nothing.
func notPlain(text string, types map[string]bool) string {
	for _, m := range articles.FindAllStringSubmatch(text, -1) {
		if want := naming.Article(m[2]); m[1] != want {
			return "the article of " + m[2] + " is " + want
		}
	}
	for _, m := range counts.FindAllStringSubmatch(text, -1) {
		if plural := m[3] == "s"; plural == (m[1] == "1") {
			return "the number does not fit in " + m[0]
		}
	}
	if found := goTypes.FindString(text); found != "" {
		return found + " is a type of Go"
	}
	for _, name := range names.FindAllString(text, -1) {
		if types[name] {
			return name + " is a type of Go"
		}
	}
	return ""
}

// readMessages returns the texts that the code of a folder, tests left out, makes errors and
// rejections of, with the place of each, and the types that it declares.
func readMessages(t *testing.T, folder string) (messages map[string]token.Position, types map[string]bool) {
	t.Helper()
	paths, err := filepath.Glob(folder + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	messages, types = map[string]token.Position{}, map[string]bool{}
	note := func(e ast.Expr) {
		ast.Inspect(e, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil && strings.Contains(text, " ") {
					messages[text] = fset.Position(lit.Pos())
				}
			}
			return true
		})
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				types[n.Name.Name] = true
			case *ast.CallExpr:
				switch called := calledName(n); called {
				case "Errorf", "New", "Sprintf", "panic":
					if len(n.Args) > 0 {
						note(n.Args[0])
					}
				case "WithField", "reject":
					note(n.Args[len(n.Args)-1])
				}
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && (key.Name == "Problem" || key.Name == "Not") {
					note(n.Value)
				}
			case *ast.ReturnStmt: // the words of a reason
				for _, r := range n.Results {
					if lit, ok := r.(*ast.BasicLit); ok {
						note(lit)
					}
				}
			}
			return true
		})
	}
	return messages, types
}

func calledName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}
