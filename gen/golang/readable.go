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
	parsed, lines := parse(function)
	return lines <= maxLines && complexity(parsed) <= maxComplexity
}

// lineCount counts the lines of statements.
func lineCount(body []jen.Code) int {
	_, lines := parse(jen.Func().Id("_").Params().Block(body...))
	return lines - 2 // those of the braces
}

// parse returns the declaration that code renders to, and how many lines it has.
func parse(code jen.Code) (ast.Decl, int) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", source(code), parser.SkipObjectResolution)
	if err != nil {
		panic(fmt.Errorf("parse what this package made: %w", err)) // as source does
	}
	last := file.Decls[len(file.Decls)-1] // behind the imports
	return last, fset.Position(last.End()).Line - fset.Position(last.Pos()).Line + 1
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
