package golang_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// stepsAlone are the declarations that take a step without what it raises: an engine commits
// between the two with them.
var stepsAlone = []string{"Step", "raising", "Raised"}

// TestStepsAlone: what takes a step alone is emitted where a transition raises an event, and
// nowhere else; StepNew, where a creation does.
func TestStepsAlone(t *testing.T) {
	const begin = "  - {name: began, from: none, on: begin, to: open%s}\n"
	const more = "  - {name: went, from: open, on: go_on, to: done%s}\n"
	for _, tt := range []struct {
		name, transitions string
		want              []string
	}{
		{"raises nothing", fmt.Sprintf(begin, "") + fmt.Sprintf(more, ""), nil},
		{"a transition raises", fmt.Sprintf(begin, "") + fmt.Sprintf(more, ", raise: {end: {}}"), stepsAlone},
		{"a creation raises", fmt.Sprintf(begin, ", raise: {go_on: {}}") + fmt.Sprintf(more, ""), append([]string{"StepNew"}, stepsAlone...)},
	} {
		spec := "machine: chain\nversion: 1.0.0\nstates: {open: {kind: initial}, done: {kind: snapshot}, over: {kind: terminal}}\n" +
			"events: {begin: {}, go_on: {}, end: {}}\ntransitions:\n" + tt.transitions + "  - {name: ended, from: done, on: end, to: over}\n"
		machines, list, err := gen.Load([]gen.Source{{Path: "chain.yaml", Data: []byte(spec)}})
		if err != nil || list.HasErrors() {
			t.Fatalf("%s: %v %v", tt.name, err, list.Sorted())
		}
		var files [][]byte
		for _, f := range emit(t, machines[0]) {
			files = append(files, f.Data)
		}
		wantDeclared(t, tt.name, files, tt.want)
	}
}

// TestCommittedStepsAlone: the committed packages have what takes a step alone exactly where their
// tables raise an event.
func TestCommittedStepsAlone(t *testing.T) {
	raising := 0
	for _, m := range load(t, specs(t)...) {
		var want []string
		if slices.ContainsFunc(m.Rows, func(r *ir.Row) bool { return r.Raise != nil }) {
			want = slices.Clone(stepsAlone)
			raising++
		}
		if slices.ContainsFunc(m.Rows, func(r *ir.Row) bool { return r.Raise != nil && r.From == nil }) {
			want = append(want, "StepNew")
		}
		var files [][]byte
		paths, err := filepath.Glob("../../generated/" + m.Text + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, data)
		}
		wantDeclared(t, m.Text, files, want)
	}
	if raising == 0 || raising == len(specs(t)) {
		t.Errorf("%d of the committed tables raise an event: the test needs both kinds", raising)
	}
}

func wantDeclared(t *testing.T, name string, files [][]byte, want []string) {
	t.Helper()
	var got []string
	for _, data := range files {
		file, err := parser.ParseFile(token.NewFileSet(), "", data, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					got = append(got, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if declared, ok := s.(*ast.TypeSpec); ok {
						got = append(got, declared.Name.Name)
					}
				}
			}
		}
	}
	if !slices.Contains(got, "Fire") {
		t.Fatalf("%s: there is no Fire among %v", name, got)
	}
	for _, declared := range append([]string{"StepNew"}, stepsAlone...) {
		if has := slices.Contains(got, declared); has != slices.Contains(want, declared) {
			t.Errorf("%s: %s is emitted: %t", name, declared, has)
		}
	}
}
