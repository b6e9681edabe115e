package golang

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"

	"github.com/dave/jennifer/jen"
)

// What a function may have, so that a person can read it at once.
const (
	maxLines      = 70
	maxComplexity = 20
)

// readable reports whether a function is within the limits.
func readable(function *jen.Statement) bool {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", "package p\n"+fmt.Sprintf("%#v", function), parser.SkipObjectResolution)
	return err == nil && fset.Position(file.End()).Line-1 <= maxLines && complexity(file) <= maxComplexity
}

// complexity is the cyclomatic complexity of the function in file.
func complexity(file *ast.File) int {
	paths := 1
	ast.Inspect(file, func(n ast.Node) bool {
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
