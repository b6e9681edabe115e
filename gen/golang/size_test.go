package golang_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What generated code may cost its readers.
const (
	maxLines      = 20_500 // of the ten machines together: all files, tests included
	maxFuncLines  = 70
	maxComplexity = 20
)

// ten are the machines that maxLines is about.
var ten = []string{"activate", "deal", "download", "gc", "outbox", "publish", "registration", "unpack", "upload", "wal"}

// TestGeneratedCodeIsSmall counts the lines of generated/ and of each function there, and the
// paths through it. A machine beside the ten has no more lines for each transition than the one of
// the ten that has most.
func TestGeneratedCodeIsSmall(t *testing.T) {
	total, most := 0, 0.0
	others := map[string]float64{}
	for _, m := range load(t, specs(t)...) {
		lines := readable(t, m.Text)
		each := float64(lines) / float64(len(m.Rows))
		if slices.Contains(ten, m.Text) {
			total, most = total+lines, max(most, each)
		} else {
			others[m.Text] = each
		}
	}
	if total > maxLines || total < maxLines/2 {
		t.Errorf("the ten machines have %d lines, want at most %d", total, maxLines)
	}
	for name, each := range others {
		if each > most {
			t.Errorf("%s has %.0f lines for each transition, none of the ten more than %.0f", name, each, most)
		}
	}
}

// readable counts the lines of a generated package, and fails the test for each function there that
// is too large.
func readable(t *testing.T, machine string) (total int) {
	t.Helper()
	files, err := filepath.Glob("../../generated/" + machine + "/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no generated code found: %v", machine, err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		total += bytes.Count(data, []byte("\n"))
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, data, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				lines := fset.Position(f.End()).Line - fset.Position(f.Pos()).Line + 1
				if paths := complexity(f); lines > maxFuncLines || paths > maxComplexity {
					t.Errorf("%s/%s has %d lines and a complexity of %d", filepath.Base(filepath.Dir(path)), method(f), lines, paths)
				}
			}
		}
	}
	return total
}

// complexity is the cyclomatic complexity of a function, by its syntax tree; the generator counts
// tokens.
func complexity(f *ast.FuncDecl) int {
	paths := 1
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt, *ast.CaseClause, *ast.CommClause:
			paths++
		case *ast.BinaryExpr:
			if n.Op == token.LAND || n.Op == token.LOR {
				paths++
			}
		}
		return true
	})
	return paths
}

// method is the name of f behind that of its receiver's type, if it has one.
func method(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	receiver := f.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	if generic, ok := receiver.(*ast.IndexExpr); ok {
		receiver = generic.X
	}
	return receiver.(*ast.Ident).Name + "." + f.Name.Name
}
