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

// size is how long statements are, and how many paths begin in them.
type size struct{ lines, forks int }

func (s size) plus(o size) size { return size{s.lines + o.lines, s.forks + o.forks} }

// readable reports whether a function with a body of size s is within the limits.
func (s size) readable() bool { return s.lines+2 <= maxLines && s.forks+1 <= maxComplexity }

// text is the Go of statements, and what is asked of it. It is made once: that takes longer than
// to make the statements.
type text struct {
	code      string
	size      size
	variables map[string]bool // by name; some are types
}

// forks are the tokens with which a path through a function begins.
var forks = []token.Token{token.IF, token.FOR, token.CASE, token.DEFAULT, token.LAND, token.LOR}

// textOf renders statements as the body of a function and reads its tokens. To parse it would take
// longer, for what is asked of it.
func textOf(body ...jen.Code) text {
	file := source(jen.Func().Id("_").Params().Block(body...))
	code := strings.TrimSpace(file[strings.Index(file, "\nfunc ")+1:]) // without the package and its imports
	t := text{code: code, variables: map[string]bool{}}
	t.size.lines = max(0, strings.Count(code, "\n")-1)
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(code)), []byte(code), nil, 0)
	before := token.ILLEGAL
	for {
		_, kind, name := s.Scan()
		switch {
		case kind == token.EOF:
			return t
		case kind == token.IDENT && before != token.PERIOD: // behind a period it is a field or a method
			t.variables[name] = true
		case slices.Contains(forks, kind):
			t.size.forks++
		}
		before = kind
	}
}
