package diag

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sources are the bytes of the files that diagnostics point into, by
// [Span].File. A file that is missing is reported without an excerpt.
type Sources map[string][]byte

// maxExcerpt is the widest source line shown, in characters; a longer one is
// cut around the span.
const maxExcerpt = 100

// Text renders the sorted diagnostics for people:
//
//	spec/order.yaml:14:9: error: state "piad" is not declared [FSM003]
//	  - {name: pay, from: new, on: pay, to: piad}
//	                                        ^^^^^
//	  help: did you mean "paid"?
//
// With colour it adds ANSI escapes for a terminal.
func Text(l *List, src Sources, colour bool) []byte {
	var b bytes.Buffer
	paint := painter(colour)
	lines := map[string][][]rune{}
	for _, d := range l.Sorted() {
		tint := red
		if d.Severity == Warning {
			tint = yellow
		}
		fmt.Fprintf(&b, "%s: %s: %s [%s]\n", paint(bold, printable(d.Span.String())), paint(tint, d.Severity.String()), printable(d.Message), d.Code)
		if excerpt, ok := excerptOf(lines, src, d.Span); ok {
			fmt.Fprintf(&b, "  %s\n  %s\n", excerpt.line, paint(tint, excerpt.caret))
		}
		if d.Help != "" {
			fmt.Fprintf(&b, "  %s %s\n", paint(cyan, "help:"), printable(d.Help))
		}
	}
	return b.Bytes()
}

const (
	bold   = "1"
	red    = "1;31"
	yellow = "1;33"
	cyan   = "36"
)

func painter(colour bool) func(style, text string) string {
	if !colour {
		return func(_, text string) string { return text }
	}
	return func(style, text string) string { return "\x1b[" + style + "m" + text + "\x1b[0m" }
}

// excerpt is one source line and the carets below it.
type excerpt struct{ line, caret string }

// excerptOf cuts the line of a span out of its source. The lines of a file
// are split once and kept in cache: many diagnostics may share a long one.
func excerptOf(cache map[string][][]rune, src Sources, at Span) (excerpt, bool) {
	lines, ok := cache[at.File]
	if !ok {
		for line := range strings.SplitSeq(string(src[at.File]), "\n") {
			lines = append(lines, []rune(printable(strings.TrimSuffix(line, "\r"))))
		}
		cache[at.File] = lines
	}
	if len(src[at.File]) == 0 || at.Start.Line < 1 || at.Start.Line > len(lines) {
		return excerpt{}, false
	}
	line := lines[at.Start.Line-1]
	start := min(max(at.Start.Col-1, 0), len(line))
	end := len(line)
	if at.End.Line == at.Start.Line {
		end = min(at.End.Col-1, len(line))
	}
	end = max(end, start+1)
	return cut(line, start, end), true
}

// cut keeps at most maxExcerpt characters of line around [start, end) and
// drops the indentation.
func cut(line []rune, start, end int) excerpt {
	from := 0
	for from < start && line[from] == ' ' {
		from++
	}
	to := len(line)
	if to-from > maxExcerpt {
		from = max(from, min(start-maxExcerpt/3, to-maxExcerpt))
		to = min(to, from+maxExcerpt)
	}
	head, tail := "", ""
	if slices.ContainsFunc(line[:from], func(r rune) bool { return !unicode.IsSpace(r) }) {
		head = "…"
	}
	if to < len(line) {
		tail = "…"
	}
	width := max(min(end, max(to, start+1))-start, 1)
	return excerpt{
		line:  head + string(line[from:to]) + tail,
		caret: strings.Repeat(" ", start-from+utf8.RuneCountInString(head)) + strings.Repeat("^", width),
	}
}

// printable replaces what could move a terminal's cursor, one character for
// one, so that carets stay below what they mean.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r == utf8.RuneError || !unicode.IsPrint(r):
			return '\uFFFD'
		}
		return r
	}, s)
}

// jsonDiagnostic is the stable form of a diagnostic in JSON output.
type jsonDiagnostic struct {
	Severity  string `json:"severity"`
	Code      Code   `json:"code"`
	File      string `json:"file"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	EndLine   int    `json:"endLine"`
	EndColumn int    `json:"endColumn"`
	Message   string `json:"message"`
	Help      string `json:"help,omitempty"`
}

// JSON renders the sorted diagnostics as one object: errors and warnings
// count them, diagnostics lists them.
func JSON(l *List) ([]byte, error) {
	out := struct {
		Errors      int              `json:"errors"`
		Warnings    int              `json:"warnings"`
		Diagnostics []jsonDiagnostic `json:"diagnostics"`
	}{Diagnostics: []jsonDiagnostic{}}
	for _, d := range l.Sorted() {
		if d.Severity == Error {
			out.Errors++
		} else {
			out.Warnings++
		}
		out.Diagnostics = append(out.Diagnostics, jsonDiagnostic{
			Severity: d.Severity.String(), Code: d.Code, File: d.Span.File,
			Line: d.Span.Start.Line, Column: d.Span.Start.Col,
			EndLine: d.Span.End.Line, EndColumn: d.Span.End.Col,
			Message: d.Message, Help: d.Help,
		})
	}
	return encode(out)
}

// encode is indented JSON that leaves <, > and & readable: guards are full of
// them.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode diagnostics: %w", err)
	}
	return b.Bytes(), nil
}

// Text returns what a span of one line covers, or "".
func (s Sources) Text(at Span) string {
	lines := bytes.Split(s[at.File], []byte{'\n'})
	if at.Start.Line < 1 || at.Start.Line > len(lines) || at.Start.Line != at.End.Line {
		return ""
	}
	line := []rune(string(lines[at.Start.Line-1]))
	from, to := max(0, at.Start.Col-1), min(len(line), at.End.Col-1)
	return string(line[min(from, to):to])
}
