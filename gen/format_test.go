package gen_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/syntax"
)

var options = gen.Options{Module: "github.com/fsmgen/fsmgen", Specs: "../../spec"}

// example is a fenced YAML block of a Markdown page that holds a machine.
type example struct {
	machine string
	text    string
	with    string // machine whose block is compiled along
}

var (
	yamlBlock   = regexp.MustCompile("(?ms)(?:^<!-- with: (\\w+) -->\\s*)?^```yaml\n(.*?)^```$")
	machineLine = regexp.MustCompile(`(?m)^machine: (\w+)$`)
)

func examples(t *testing.T, page string) []example {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var out []example
	for _, m := range yamlBlock.FindAllStringSubmatch(string(text), -1) {
		name := machineLine.FindStringSubmatch(m[2])
		if name == nil {
			t.Errorf("%s: a YAML block is no machine:\n%s", page, m[2])
			continue
		}
		out = append(out, example{machine: name[1], text: m[2], with: m[1]})
	}
	return out
}

// Every example of the language's description compiles without a warning.
func TestFormatExamplesCompile(t *testing.T) {
	all := examples(t, "../spec/FORMAT.md")
	if len(all) < 15 {
		t.Fatalf("found %d examples", len(all))
	}
	blocks := map[string]string{}
	for _, e := range all {
		blocks[e.machine] = e.text
	}
	for _, e := range all {
		t.Run(e.machine, func(t *testing.T) {
			sources := []gen.Source{{Path: e.machine + ".yaml", Data: []byte(e.text)}}
			if e.with != "" {
				sources = append(sources, gen.Source{Path: e.with + ".yaml", Data: []byte(blocks[e.with])})
			}
			_, list, err := gen.Compile(sources, options)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range list.Sorted() {
				t.Errorf("%s: %s [%s]\n  help: %s", d.Span, d.Message, d.Code, d.Help)
			}
		})
	}
}

// No key of the language lacks an example.
func TestFormatShowsEveryKey(t *testing.T) {
	var text strings.Builder
	for _, e := range examples(t, "../spec/FORMAT.md") {
		text.WriteString(e.text)
	}
	for _, key := range keys(syntax.Language()) {
		if !regexp.MustCompile(`\b`+key+`: `).MatchString(text.String()) &&
			!strings.Contains(text.String(), key+":\n") {
			t.Errorf("no example of FORMAT.md shows the key %q", key)
		}
	}
}

func keys(s *syntax.Shape) []string {
	var out []string
	for _, k := range s.Keys {
		out = append(out, k.Name)
		out = append(out, keys(k.Shape)...)
	}
	for _, below := range []*syntax.Shape{s.Names, s.Items} {
		if below != nil {
			out = append(out, keys(below)...)
		}
	}
	return out
}
