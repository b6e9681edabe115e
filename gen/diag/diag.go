// Package diag holds what every stage of the compiler says to its user: a
// span, a code, one sentence and one line of help.
//
// A stage never prints and never stops at the first problem: it adds to a
// [List] and goes on. Only cmd/fsmgen renders the list.
package diag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Pos is a place in a source file. Line and Col count from 1; Col counts
// characters, as editors do.
type Pos struct {
	Line, Col int
}

// Span is a half-open range [Start, End) of one file. A span always has a
// file: a diagnostic without a place is not one.
type Span struct {
	File       string
	Start, End Pos
}

// String renders the start of s as file:line:col.
func (s Span) String() string {
	return fmt.Sprintf("%s:%d:%d", s.File, s.Start.Line, s.Start.Col)
}

// Within returns the part of a one-line span that begins offset characters
// after its start and is length characters long.
func (s Span) Within(offset, length int) Span {
	s.Start.Col += offset
	s.End = Pos{s.Start.Line, s.Start.Col + length}
	return s
}

// Severity tells whether a diagnostic stops compilation.
type Severity uint8

// The severities. A warning never stops compilation.
const (
	Error Severity = iota + 1
	Warning
)

// String returns "error" or "warning".
func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// Code names a kind of problem, for ever: FSM001 or GUARD_SYNTAX_ERROR.
type Code string

// Diagnostic is one problem. Message is lower case, blames nobody and has no
// final period; Help says what to do about it.
type Diagnostic struct {
	Severity Severity
	Code     Code
	Span     Span
	Message  string
	Help     string
}

// List collects the diagnostics of a run. The zero value is ready to use.
type List struct {
	items []Diagnostic
}

// Errorf adds an error. The help line may be empty only where no fix can be
// named.
func (l *List) Errorf(code Code, at Span, help, format string, args ...any) {
	l.add(Error, code, at, help, fmt.Sprintf(format, args...))
}

// Warnf adds a warning.
func (l *List) Warnf(code Code, at Span, help, format string, args ...any) {
	l.add(Warning, code, at, help, fmt.Sprintf(format, args...))
}

func (l *List) add(sev Severity, code Code, at Span, help, msg string) {
	l.items = append(l.items, Diagnostic{Severity: sev, Code: code, Span: at, Message: msg, Help: help})
}

// DeleteFunc removes the diagnostics for which del is true.
func (l *List) DeleteFunc(del func(Diagnostic) bool) { l.items = slices.DeleteFunc(l.items, del) }

// Append adds all diagnostics of other to l.
func (l *List) Append(other *List) { l.items = append(l.items, other.items...) }

// Sorted returns the diagnostics in order of file, position, code and
// message, each only once.
func (l *List) Sorted() []Diagnostic {
	out := slices.Clone(l.items)
	slices.SortStableFunc(out, func(a, b Diagnostic) int {
		return cmp.Or(
			strings.Compare(a.Span.File, b.Span.File),
			cmp.Compare(a.Span.Start.Line, b.Span.Start.Line),
			cmp.Compare(a.Span.Start.Col, b.Span.Start.Col),
			cmp.Compare(a.Code, b.Code),
			strings.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(out)
}

// HasErrors reports whether any diagnostic stops compilation.
func (l *List) HasErrors() bool {
	return slices.ContainsFunc(l.items, func(d Diagnostic) bool { return d.Severity == Error })
}

// Len returns the number of diagnostics added.
func (l *List) Len() int { return len(l.items) }
