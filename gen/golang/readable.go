package golang

import (
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
	file, err := parser.ParseFile(fset, "", source(function), parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	decision := file.Decls[len(file.Decls)-1] // behind the imports
	lines := fset.Position(decision.End()).Line - fset.Position(decision.Pos()).Line + 1
	return lines <= maxLines && complexity(decision) <= maxComplexity
}

// complexity is the cyclomatic complexity of a function.
func complexity(function ast.Node) int {
	paths := 1
	ast.Inspect(function, func(n ast.Node) bool {
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
