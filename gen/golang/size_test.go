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
	maxLines      = 16_743 // of the nine machines together: all files, tests included
	maxDealLines  = 71     // of the deal, for each transition
	maxFuncLines  = 70
	maxComplexity = 20
)

// nine are the machines that maxLines is about: their tables are those that it was set for. It was 20,500
// with the deal, which had 53 transitions and 3,757 lines then, and has more transitions now.
var nine = []string{"activate", "download", "gc", "outbox", "publish", "registration", "unpack", "upload", "wal"}

// TestGeneratedCodeIsSmall counts the lines of generated/ and of each function there, and the
// paths through it. A machine beside the nine has no more lines for each transition than they have on
// average.
func TestGeneratedCodeIsSmall(t *testing.T) {
	total, transitions := 0, 0
	others := map[string]float64{}
	for _, m := range load(t, specs(t)...) {
		lines := readable(t, m.Text)
		if slices.Contains(nine, m.Text) {
			total, transitions = total+lines, transitions+len(m.Rows)
		} else {
			others[m.Text] = float64(lines) / float64(len(m.Rows))
		}
	}
	if total > maxLines || total < maxLines/2 {
		t.Errorf("the nine machines have %d lines, want at most %d", total, maxLines)
	}
	average := float64(total) / float64(transitions)
	for name, each := range others {
		most := average
		if name == "deal" {
			most = maxDealLines
		}
		if each > most {
			t.Errorf("%s has %.0f lines for each transition, want at most %.0f", name, each, most)
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
