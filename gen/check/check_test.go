package check

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/syntax"
)

// compile parses, lowers and, where that went well, checks the sources.
func compile(t *testing.T, sources diag.Sources) *diag.List {
	t.Helper()
	list := &diag.List{}
	var paths []string
	for path := range sources {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	var files []*syntax.File
	for _, path := range paths {
		if f := syntax.Parse(path, sources[path], list); f != nil {
			files = append(files, f)
		}
	}
	machines := ir.Lower(files, list)
	if !list.HasErrors() {
		Check(machines, list)
		Tests(machines, func(name string) bool { return name != "TestBankConfirms" }, list)
		Accept(machines, sources, list)
	}
	return list
}

var machineLine = regexp.MustCompile(`(?m)^machine: (\S+)`)

// one compiles a single machine under the file name that it asks for.
func one(t *testing.T, source string) (*diag.List, diag.Sources) {
	t.Helper()
	name := "order"
	if m := machineLine.FindStringSubmatch(source); m != nil {
		name = m[1]
	}
	sources := diag.Sources{"spec/" + name + ".yaml": []byte(source)}
	return compile(t, sources), sources
}

func codesIn(l *diag.List) []string {
	var out []string
	for _, d := range l.Sorted() {
		if !slices.Contains(out, string(d.Code)) {
			out = append(out, string(d.Code))
		}
	}
	slices.Sort(out)
	return out
}

// TestExamples compiles the example of every code. Its first line names the
// codes that it must give, and it gives no other.
func TestExamples(t *testing.T) {
	for _, r := range Rules() {
		t.Run(string(r.Code), func(t *testing.T) {
			source := Example(r.Code)
			if source == "" {
				t.Fatalf("no testdata/%s.yaml", r.Code)
			}
			first, _, _ := strings.Cut(source, "\n")
			want := strings.Fields(strings.TrimPrefix(first, "# want: "))
			if !slices.Contains(want, string(r.Code)) {
				t.Fatalf("the example wants %v", want)
			}
			list, sources := one(t, source)
			if r.Code == "FSM007" {
				sources = diag.Sources{"spec/order.yaml": []byte(source)}
				list = compile(t, sources)
			}
			text := string(diag.Text(list, sources, false))
			if got := codesIn(list); !slices.Equal(got, want) {
				t.Errorf("got %v, want %v\n%s", got, want, text)
			}
			for _, d := range list.Sorted() {
				rule, ok := RuleOf(d.Code)
				if !ok || rule.Severity != d.Severity {
					t.Errorf("%s: severity %s, the table says %s", d.Code, d.Severity, rule.Severity)
				}
				if d.Help == "" || d.Span.Start.Line == 0 {
					t.Errorf("without help or place: %+v", d)
				}
			}
		})
	}
}

func TestEveryExampleHasACode(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no examples", err)
	}
	for _, f := range files {
		code := diag.Code(strings.TrimSuffix(filepath.Base(f), ".yaml"))
		if _, ok := RuleOf(code); !ok && code != "clean" {
			t.Errorf("%s has no rule", f)
		}
	}
}

func TestRulesAreWhole(t *testing.T) {
	seen := map[diag.Code]bool{}
	for _, r := range Rules() {
		if seen[r.Code] {
			t.Errorf("%s is declared twice", r.Code)
		}
		seen[r.Code] = true
		if r.Title == "" || r.Text == "" || r.Fix == "" || r.Severity == 0 {
			t.Errorf("%s lacks something: %+v", r.Code, r)
		}
	}
	if got := len(SARIFRules()); got != len(seen) {
		t.Errorf("%d rules for SARIF, want %d", got, len(seen))
	}
}

// codeOf finds the codes that the sources of the compiler use.
var codeOf = regexp.MustCompile(`"(FSM\d{3}|GUARD_[A-Z_]+)"`)

func TestEveryCodeIsExplained(t *testing.T) {
	for _, dir := range []string{".", "../syntax", "../ir"} {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			source, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range codeOf.FindAllStringSubmatch(string(source), -1) {
				if _, ok := RuleOf(diag.Code(m[1])); !ok {
					t.Errorf("%s: %s has no rule", f, m[1])
				}
			}
		}
	}
}

func TestCleanMachine(t *testing.T) {
	source, err := os.ReadFile("testdata/clean.yaml")
	if err != nil {
		t.Fatal(err)
	}
	list, sources := one(t, string(source))
	if list.Len() > 0 {
		t.Errorf("a clean machine has findings:\n%s", diag.Text(list, sources, false))
	}
}

// TestSpecs checks the machines of the project: they have no error. Warnings
// are what the documents leave open; -v shows them.
func TestSpecs(t *testing.T) {
	files, err := filepath.Glob("../../spec/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no specs", err)
	}
	sources := diag.Sources{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		sources["spec/"+filepath.Base(f)] = data
	}
	list := compile(t, sources)
	text := diag.Text(list, sources, false)
	if list.HasErrors() {
		t.Errorf("the specs have errors:\n%s", text)
	}
	t.Logf("%s", text)
}
