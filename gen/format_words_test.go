package gen_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/syntax"
)

// TestFormatNamesEveryWord: FORMAT.md, the only description of the language, has each word
// of the vocabularies in the section that explains them.
func TestFormatNamesEveryWord(t *testing.T) {
	page, err := os.ReadFile("../spec/FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	guards := sectionOf(t, string(page), "Guards")
	if grammar := "operator = " + strings.Join(syntax.Operators(), " | ") + "\n"; !strings.Contains(guards, grammar) {
		t.Errorf("the grammar of guards does not have the line %q", grammar)
	}
	explained(t, guards, "operator", syntax.Operators())
	explained(t, sectionOf(t, string(page), "Data"), "type", typesAsWritten())
	explained(t, string(page), "special", prefixed("$", ir.Specials()))
	explained(t, string(page), "kind of a state", prefixed("", ir.Kinds()))
	explained(t, string(page), "source of an event", prefixed("", ir.EventSources()))
	explained(t, string(page), "level", prefixed("", ir.Levels()))
	explained(t, string(page), "type of a metric", prefixed("", ir.MetricTypes()))
	explained(t, string(page), "observation", slices.DeleteFunc(prefixed("", ir.Observations()), func(w string) bool { return w == "" }))
	effects := sectionOf(t, string(page), "Effects")
	for _, d := range ir.Deliveries() {
		if !strings.Contains(effects, "\n| `"+string(d)+"` | ") {
			t.Errorf("the table of delivery classes has no line for %s", d)
		}
	}
}

// explained looks for each word in code quotes.
func explained(t *testing.T, text, what string, words []string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, "`"+w+"`") {
			t.Errorf("FORMAT.md does not explain the %s `%s` where it lists the others", what, w)
		}
	}
}

// typesAsWritten lists the types as a table writes them.
func typesAsWritten() []string {
	return append(syntax.Types(), "list<T>", "enums")
}

func prefixed[W ~string](prefix string, words []W) (out []string) {
	for _, w := range words {
		out = append(out, prefix+string(w))
	}
	return out
}

// sectionOf returns the text of a section of a page, with its subsections.
func sectionOf(t *testing.T, page, title string) string {
	t.Helper()
	_, text, found := strings.Cut(page, "\n## "+title+"\n")
	if !found {
		t.Fatalf("there is no section %q", title)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}
