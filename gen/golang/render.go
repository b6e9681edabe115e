package golang

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"strings"

	"github.com/dave/jennifer/jen"
)

// source is a Go file with code alone, not formatted: what is compared or measured needs
// no formatting, which takes longer than all else.
func source(code jen.Code) string {
	f := jen.NewFile("p")
	f.NoFormat = true
	f.Add(code)
	var b bytes.Buffer
	if err := f.Render(&b); err != nil {
		panic(fmt.Errorf("render what this package made: %w", err)) // as GoString of jennifer does
	}
	return b.String()
}

// render formats f, with what only returns, and types of one embedded type, on one line
// where gofmt lets it.
func render(f *jen.File) ([]byte, error) {
	f.NoFormat = true // it would be formatted twice
	var b bytes.Buffer
	if err := f.Render(&b); err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", groupImports(b.Bytes()), parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	lines := oneLiner{fset.File(file.Pos()), file}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Body != nil && len(n.Body.List) == 1 {
				if returned, ok := n.Body.List[0].(*ast.ReturnStmt); ok {
					lines.join(n.Body, returned)
				}
			}
		case *ast.StructType:
			if n.Fields.NumFields() == 1 && len(n.Fields.List[0].Names) == 0 {
				lines.join(n.Fields, n.Fields.List[0])
			}
		case *ast.InterfaceType:
			if n.Methods.NumFields() == 1 && len(n.Methods.List[0].Names) == 0 {
				lines.join(n.Methods, n.Methods.List[0])
			}
		}
		return true
	})
	b.Reset()
	err = format.Node(&b, fset, file)
	return b.Bytes(), err
}

// oneLiner puts what is between braces on the line of the opening one.
type oneLiner struct {
	lines *token.File
	file  *ast.File
}

// join leaves alone what takes several lines by itself, or has a comment.
func (l oneLiner) join(braces, inner ast.Node) {
	if l.lines.Line(inner.Pos()) != l.lines.Line(inner.End()) {
		return
	}
	for _, c := range l.file.Comments {
		if braces.Pos() < c.Pos() && c.Pos() < braces.End() {
			return
		}
	}
	first := l.lines.Line(braces.Pos())
	for range l.lines.Line(braces.End()-1) - first {
		l.lines.MergeLine(first)
	}
}

// groupImports groups the imports of a file as goimports does, the standard library first:
// jennifer sorts them by path alone.
func groupImports(file []byte) []byte {
	before, rest, found := strings.Cut(string(file), "\nimport (\n")
	block, after, closed := strings.Cut(rest, "\n)\n")
	if !found || !closed {
		return file
	}
	var std, others []string
	for _, line := range strings.Split(block, "\n") {
		first, _, _ := strings.Cut(line[strings.IndexByte(line, '"')+1:], "/")
		if strings.Contains(first, ".") {
			others = append(others, line)
		} else {
			std = append(std, line)
		}
	}
	if len(std) > 0 && len(others) > 0 {
		std = append(std, "")
	}
	imports := strings.Join(append(std, others...), "\n")
	return []byte(before + "\nimport (\n" + imports + "\n)\n" + after)
}
