package syntax

import "strings"

// flow reads one value in brackets, braces or quotes, over lines if it must.
type flow struct {
	s    *scanner
	row  int
	col  int // of the next character
	open []opened
}

type opened struct {
	row, col int
	mark     rune
	colon    bool // the entry that is read has its colon
	start    int  // column of the plain text that is read, -1: none yet
}

var closes = map[rune]rune{'[': ']', '{': '}'}

func (f *flow) text() []rune { return []rune(strings.TrimRight(f.s.lines[f.row], "\r")) }

// value reads to the end of the value, and leaves row and col behind it.
func (f *flow) value() {
	indent := f.s.indentOf(f.row)
	for f.s.found == nil {
		text := f.text()
		for f.col < len(text) && f.s.found == nil {
			if f.step(text) && len(f.open) == 0 {
				return
			}
		}
		if f.s.found != nil {
			return
		}
		f.row, f.col = f.row+1, 0
		if f.row >= len(f.s.lines) || f.begins(indent) {
			top := f.open[len(f.open)-1]
			f.s.fail(top.row, top.col, 1, "write "+string(closes[top.mark])+" where it ends", "this %c is never closed", top.mark)
			return
		}
		f.open[len(f.open)-1].start = -1
	}
}

// begins reports whether the line begins something new outside of the value.
func (f *flow) begins(indent int) bool {
	text := f.text()
	col := blanks(text, 0)
	return col < len(text) && col <= indent && text[col] != '#' && !strings.ContainsRune("]}", text[col])
}

// step reads one character, or one quoted text, and reports whether it ended
// something.
func (f *flow) step(text []rune) (ended bool) {
	c, col := text[f.col], f.col
	f.col++
	var top *opened
	if len(f.open) > 0 {
		top = &f.open[len(f.open)-1]
	}
	begun := top != nil && top.start >= 0
	switch {
	case c == ' ' || c == '\t':
	case c == '#' && (col == 0 || text[col-1] == ' '):
		f.col = len(text)
	case (c == '"' || c == '\'') && !begun:
		end := closingQuote(text, col)
		if end < 0 {
			f.s.fail(f.row, col, 1, "write the same quote where the text ends; a quote within it is written "+map[rune]string{'"': `\"`, '\'': "''"}[c], "this quote is never closed")
			return false
		}
		f.col = end + 1
		if top != nil {
			top.start = col
		}
		return true
	case c == '[' || c == '{':
		if begun {
			f.s.fail(f.row, top.start, len(strings.TrimSpace(string(text[top.start:col+1]))), "quote a guard or a text with brackets: \"rush in [express, night]\"", "a text that goes on with %c must be quoted here", c)
			return false
		}
		f.open = append(f.open, opened{f.row, col, c, false, -1})
	case c == ']' || c == '}':
		return f.close(c, col)
	case c == ',' && top != nil:
		top.colon, top.start = false, -1
	case c == ':' && top != nil && (f.col == len(text) || strings.ContainsRune(" ,]}", text[f.col])):
		f.colon(top, text, col)
	case !begun && top != nil:
		top.start = col
		f.s.forbidden(f.row, col, text[col:])
	}
	return false
}

func (f *flow) colon(top *opened, text []rune, col int) {
	if top.colon {
		f.s.fail(f.row, max(0, top.start), col+1-max(0, top.start), "quote a text that has a colon, or write the comma that is missing before it", "the text holds \": \", which begins a value")
	}
	top.colon, top.start = true, -1
}

func (f *flow) close(c rune, col int) bool {
	if len(f.open) == 0 {
		f.s.fail(f.row, col, 1, "remove it, or open it before", "this %q closes nothing", c)
		return false
	}
	top := f.open[len(f.open)-1]
	if closes[top.mark] != c {
		f.s.fail(top.row, top.col, 1, "write "+string(closes[top.mark])+" where it ends", "this %c is not closed before the %c in column %d", top.mark, c, col+1)
		return false
	}
	f.open = f.open[:len(f.open)-1]
	if len(f.open) > 0 {
		f.open[len(f.open)-1].start = col
	}
	return true
}

// after judges what stands behind the value in its last line.
func (f *flow) after() {
	text := f.text()
	col := blanks(text, f.col)
	if col >= len(text) || text[col] == '#' {
		return
	}
	if strings.ContainsRune("]}", text[col]) {
		f.s.fail(f.row, col, 1, "remove it, or open it before", "this %c closes nothing", text[col])
		return
	}
	f.s.fail(f.row, col, len(text)-col, "write the whole value in quotes", "text follows behind the end of the value")
}
