package gen_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// TestEveryWordHasItsForms compiles, for each type, a table of each word of the closed
// vocabularies: the checker refuses what does not fit, and every back end has a form for
// the rest. [TestWordsDecideAlike] runs what comes out.
func TestEveryWordHasItsForms(t *testing.T) {
	for _, base := range ir.BaseTypes() {
		for _, w := range wordsOf(base) {
			t.Run(string(base)+"/"+w.name, func(t *testing.T) { formsOf(t, base, w) })
		}
	}
}

func formsOf(t *testing.T, base ir.Base, w word) {
	if w.sections == nil && w.docs == nil {
		if w.name != "observation " { // of rows: the metrics of each type
			t.Fatal("this test has no form for it")
		}
		return
	}
	source := table(base, w)
	result, list, err := gen.Compile([]gen.Source{source, begun(base)}, options)
	if err != nil {
		t.Fatal(err)
	}
	if w.refused != "" {
		if !slices.ContainsFunc(list.Sorted(), func(d diag.Diagnostic) bool { return d.Code == w.refused }) {
			t.Errorf("want %s, got%s\n%s", w.refused, render(list.Sorted()), source.Data)
		}
		return
	}
	if list.HasErrors() {
		t.Fatalf("the checker refuses it:%s\n%s", render(list.Sorted()), source.Data)
	}
	page, diagram := fileOf(t, result, "word_"+string(base)+"/README.md"), fileOf(t, result, "word_"+string(base)+"/diagram.mmd")
	for _, text := range w.docs {
		if !strings.Contains(page, text) {
			t.Errorf("the documentation does not have %q", text)
		}
	}
	for _, text := range w.diagram {
		if !strings.Contains(diagram, text) {
			t.Errorf("the diagram does not have %q", text)
		}
	}
}

func fileOf(t *testing.T, r gen.Result, path string) string {
	t.Helper()
	i := slices.IndexFunc(r.Files, func(f gen.File) bool { return f.Path == path })
	if i < 0 {
		t.Fatalf("there is no file %s", path)
	}
	return string(r.Files[i].Data)
}
