package golang_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"testing"

	"github.com/fsmgen/fsmgen/gen/golang"
)

// What the generated code of the ten machines may cost its readers.
const (
	maxLines      = 20_500 // all files, tests included
	maxFuncLines  = 70
	maxComplexity = 20
)

// TestGeneratedCodeIsSmall counts the lines of generated/ and of each function there, and the
// paths through it.
func TestGeneratedCodeIsSmall(t *testing.T) {
	files, err := filepath.Glob("../../generated/*/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no generated code found: %v", err)
	}
	total := 0
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
				if paths := golang.Complexity(f); lines > maxFuncLines || paths > maxComplexity {
					t.Errorf("%s/%s has %d lines and a complexity of %d", filepath.Base(filepath.Dir(path)), method(f), lines, paths)
				}
			}
		}
	}
	if total > maxLines {
		t.Errorf("generated/ has %d lines, more than %d", total, maxLines)
	}
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
