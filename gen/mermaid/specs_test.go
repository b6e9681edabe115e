package mermaid_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/mermaid"
)

// specs loads all machines of spec/.
func specs(t *testing.T) []*ir.Machine {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", "spec", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var sources []gen.Source
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, gen.Source{Path: "spec/" + filepath.Base(path), Data: data})
	}
	machines, list, err := gen.Load(sources)
	if err != nil {
		t.Fatal(err)
	}
	if list.HasErrors() {
		for _, d := range list.Sorted() {
			t.Logf("%s: %s %s", d.Span, d.Code, d.Message)
		}
		t.Fatal("spec/ does not compile")
	}
	if len(machines) == 0 || len(machines) != len(paths) {
		t.Fatalf("%d machines of %d specs", len(machines), len(paths))
	}
	return machines
}

func TestRealParserAcceptsTheSpecs(t *testing.T) {
	var diagrams []mermaid.Named
	for _, m := range specs(t) {
		diagrams = append(diagrams, mermaid.Named{Name: m.Text, Text: mermaid.Diagram(m)})
	}
	mermaid.Parse(t, diagrams)
}

func TestEveryStateAndEventIsDrawn(t *testing.T) {
	for _, m := range specs(t) {
		text := mermaid.Diagram(m)
		for _, s := range m.States {
			if !strings.Contains(text, `state "`+s.Text+`" as `) {
				t.Errorf("%s: state %s is not drawn", m.Text, s)
			}
		}
		for _, r := range m.Rows {
			shown := strings.Contains(text, " : "+r.Event.Text) || strings.Contains(text, " : on "+r.Event.Text)
			if r.Reject == nil && !shown {
				t.Errorf("%s: row %s: event %s is not drawn", m.Text, r, r.Event)
			}
		}
		if text != mermaid.Diagram(m) {
			t.Errorf("%s: two drawings differ", m.Text)
		}
	}
}
