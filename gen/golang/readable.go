package golang

import (
	"go/scanner"
	"go/token"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"
)

// What a function may have, so that a person can read it at once.
const (
	maxLines      = 70
	maxComplexity = 20
)

// readable reports whether a function is within the limits.
func readable(function *jen.Statement) bool {
	text := declared(function)
	return height(text) <= maxLines && complexity(text) <= maxComplexity
}

// lineCount counts the lines of statements.
func lineCount(body []jen.Code) int {
	return height(declared(jen.Func().Id("_").Params().Block(body...))) - 2 // those of the braces
}

// declared is the text of a function, without the package and the imports that it needs.
func declared(function jen.Code) string {
	text := source(function)
	return strings.TrimSpace(text[strings.Index(text, "\nfunc ")+1:])
}

// height counts the lines of a text.
func height(text string) int { return strings.Count(text, "\n") + 1 }

// forks are the tokens with which a path through a function begins.
var forks = []token.Token{token.IF, token.FOR, token.CASE, token.DEFAULT, token.LAND, token.LOR}

// complexity is the cyclomatic complexity of a function.
func complexity(text string) int {
	paths := 1
	for _, t := range tokens(text) {
		if slices.Contains(forks, t.kind) {
			paths++
		}
	}
	return paths
}

// lexeme is a token of Go; an identifier has its text.
type lexeme struct {
	kind token.Token
	text string
}

// tokens splits text. To parse it would take longer, for what is asked of it.
func tokens(text string) []lexeme {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(text))
	s.Init(file, []byte(text), nil, 0)
	out := make([]lexeme, 0, len(text)/4)
	for {
		_, kind, literal := s.Scan()
		if kind == token.EOF {
			return out
		}
		out = append(out, lexeme{kind, literal})
	}
}
