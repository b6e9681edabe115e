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
	folder := machineOf(base, w) + "/"
	for what, form := range map[string]struct {
		files []string
		texts []string
	}{
		"documentation":     {[]string{"README.md"}, w.docs},
		"diagram":           {[]string{"diagram.mmd"}, w.diagram},
		"Go":                {[]string{"definition.go", "effects.go", "fire.go", "actors.go"}, w.golang},
		"PostgreSQL schema": {[]string{"postgres.sql"}, slices.Concat(w.sql, w.postgres)},
		"SQLite schema":     {[]string{"sqlite.sql"}, w.sql},
	} {
		all := ""
		for _, name := range form.files {
			if name != "actors.go" || strings.Contains(string(source.Data), "\nactors:") {
				all += fileOf(t, result, folder+name)
			}
		}
		for _, text := range form.texts {
			if !strings.Contains(all, text) {
				t.Errorf("the %s does not have %q", what, text)
			}
		}
	}
	if w.decides != nil {
		w.decides(t, result.Machines[0])
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
