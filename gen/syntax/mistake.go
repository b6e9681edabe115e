package syntax

import (
	"fmt"
	"strings"
)

// mistake is what makes a text no YAML, as a person would say it.
type mistake struct {
	line, col     int // from 1; col counts characters
	width         int
	message, help string
}

const quoteIt = "write it in quotes: \"…\""

// findMistake reads lines the way YAML does and returns the first thing that
// the YAML library can't have liked. The library often names the line where it
// gave up, which is not where the mistake is. It returns nil where it sees none.
func findMistake(lines []string) *mistake {
	s := scanner{lines: lines}
	for s.at < len(s.lines) && s.found == nil {
		s.line()
	}
	return s.found
}

// scanner walks the lines of a block; flow collections are read by flow.
type scanner struct {
	lines []string
	at    int // line that is read next, from 0
	found *mistake

	levels []int // columns of the open block collections
	value  bool  // the line before has a plain value, which may go on
	bare   int   // line before that has neither colon nor dash, from 1; 0: none
}

func (s *scanner) fail(line, col, width int, help, format string, args ...any) {
	if s.found == nil {
		s.found = &mistake{line + 1, col + 1, max(1, width), fmt.Sprintf(format, args...), help}
	}
}

// line reads one line of a block, with the lines that its value goes on in.
func (s *scanner) line() {
	row := s.at
	text := []rune(strings.TrimRight(s.lines[row], "\r"))
	s.at++
	col := blanks(text, 0)
	if col == len(text) || text[col] == '#' || strings.HasPrefix(string(text), "---") || col == 0 && text[0] == '%' {
		return
	}
	if string(text) == "..." {
		if rest(s.lines[s.at:]) {
			s.fail(row, 0, 3, "remove the line; each machine stands in a file of its own", "\"...\" ends the document here, and text follows")
		}
		return
	}
	start := col
	for dash(text, col) {
		s.enter(row, col, len(text), true)
		col = blanks(text, col+1)
	}
	if col+1 < len(text) && text[col] == '-' && strings.ContainsRune("{[\"'", text[col+1]) {
		s.fail(row, col, 2, "write \"- \" and then the item", "a blank is missing after the dash")
		return
	}
	colon := keyEnd(text, col)
	if colon < 0 {
		s.noKey(row, col, col > start, text)
		return
	}
	if s.bare > 0 && start >= s.indentOf(s.bare-1) {
		s.missingColon(s.bare - 1)
		return
	}
	s.enter(row, col, colon, false)
	if col = blanks(text, colon+1); col < len(text) && text[col] != '#' {
		s.scalar(row, col, text, false)
		return
	}
	s.value, s.bare = false, 0
}

// noKey reads a line without a key: an item of a list, the rest of a value, or
// a key without its colon.
func (s *scanner) noKey(row, col int, item bool, text []rune) {
	deeper := len(s.levels) > 0 && col > s.levels[len(s.levels)-1]
	switch {
	case item:
		if col < len(text) {
			s.scalar(row, col, text, true)
		}
		s.value, s.bare = true, 0
	case s.value && deeper:
	case strings.ContainsRune("]}", text[col]):
		s.fail(row, col, 1, "remove it, or open it before", "this %q closes nothing", text[col])
	case strings.ContainsRune("\"'[{", text[col]):
		s.scalar(row, col, text, true)
	default:
		if s.bare > 0 || !deeper && len(s.levels) > 0 {
			s.missingColon(row)
		}
		s.bare = row + 1
	}
}

// missingColon reports the line as a key without its colon.
func (s *scanner) missingColon(row int) {
	text := []rune(strings.TrimRight(s.lines[row], "\r "))
	col := blanks(text, 0)
	for dash(text, col) {
		col = blanks(text, col+1)
	}
	word := string(text[col:])
	if i := strings.IndexAny(word, " :"); i > 0 {
		word = word[:i]
	}
	s.fail(row, col, len([]rune(word)), "write `"+word+": …`, with a blank after the colon", "a colon is missing after %q", word)
}

// enter opens or returns to the collection whose items begin at col.
func (s *scanner) enter(row, col, end int, item bool) {
	last := len(s.levels) - 1
	switch {
	case last < 0 || col > s.levels[last]:
		if s.value && last >= 0 && !item {
			s.fail(row, 0, col, "indent it like the line above, or give that line no value", "this line is indented deeper than the one above, which has a value already")
		}
		s.levels = append(s.levels, col)
		return
	}
	for last >= 0 && s.levels[last] > col {
		last--
	}
	if last < 0 || s.levels[last] < col {
		s.fail(row, 0, max(1, col), fmt.Sprintf("begin it in column %s, like the line that it belongs with", columns(s.levels)), "this line is indented by %d, and no line above it is", col)
		return
	}
	s.levels = s.levels[:last+1]
	s.value = false
}

func columns(levels []int) string {
	texts := make([]string, len(levels))
	for i, l := range levels {
		texts[i] = fmt.Sprint(l + 1)
	}
	return strings.Join(texts, " or ")
}

// scalar reads a value that begins at col, to its end. Item: it is no key's.
func (s *scanner) scalar(row, col int, text []rune, item bool) {
	s.value, s.bare = false, 0
	switch text[col] {
	case '|', '>':
		s.block(row, col, text)
	case '"', '\'', '[', '{':
		f := flow{s: s, row: row, col: col}
		f.value()
		if s.found == nil {
			f.after()
		}
		s.at = f.row + 1
	default:
		if s.forbidden(row, col, text[col:]) {
			return
		}
		plain := string(text[col:])
		if i := strings.Index(plain, " #"); i >= 0 {
			plain = plain[:i]
		}
		if i := strings.Index(plain+" ", ": "); i >= 0 && !item {
			s.fail(row, col, len([]rune(plain)), "quote a text that has a colon: \""+strings.TrimSpace(plain)+"\"", "the text holds \": \", which begins a value")
		}
		s.value = true
	}
}

// forbidden reports a character that no plain text begins with.
func (s *scanner) forbidden(row, col int, rest []rune) bool {
	next := ' '
	if len(rest) > 1 {
		next = rest[1]
	}
	switch c := rest[0]; {
	case c == '*':
		s.fail(row, col, 1, "write \"*\" in quotes; aliases are not part of the language, so write out what else is meant", "a value that begins with * is an alias")
	case c == '%' || c == '@' || c == '`':
		s.fail(row, col, 1, quoteIt, "no text begins with %q unless it is quoted", c)
	case (c == '-' || c == '?') && (next == ' '):
		s.fail(row, col, 1, quoteIt+", or begin a list in the next line", "no text begins with \"%c \" unless it is quoted", c)
	default:
		return false
	}
	return true
}

// block skips the lines of a text that begins with | or >.
func (s *scanner) block(row, col int, text []rune) {
	head := strings.TrimSpace(string(text[col:]))
	if mark, _, _ := strings.Cut(head[1:], "#"); strings.Trim(mark, "+-0123456789 ") != "" {
		s.fail(row, col, 1, quoteIt+", or begin the text in the next line", "%c begins a text of several lines, and something follows it here", text[col])
		return
	}
	parent := s.levels[max(0, len(s.levels)-1):]
	for ; s.at < len(s.lines); s.at++ {
		line := []rune(s.lines[s.at])
		if n := blanks(line, 0); n < len(line) && (len(parent) == 0 || n <= parent[0]) {
			return
		}
	}
}

func (s *scanner) indentOf(row int) int { return blanks([]rune(s.lines[row]), 0) }

func blanks(text []rune, from int) int {
	for from < len(text) && text[from] == ' ' {
		from++
	}
	return from
}

func dash(text []rune, col int) bool {
	return col < len(text) && text[col] == '-' && (col+1 == len(text) || text[col+1] == ' ')
}

// rest reports whether lines hold more than comments.
func rest(lines []string) bool {
	for _, l := range lines {
		if l = strings.TrimSpace(l); l != "" && l[0] != '#' {
			return true
		}
	}
	return false
}

// keyEnd is the column of the colon behind the key that begins at col, or -1.
func keyEnd(text []rune, col int) int {
	if col >= len(text) || strings.ContainsRune("[{", text[col]) {
		return -1
	}
	if q := text[col]; q == '"' || q == '\'' {
		end := closingQuote(text, col)
		if end < 0 {
			return -1
		}
		if end = blanks(text, end+1); end < len(text) && text[end] == ':' {
			return end
		}
		return -1
	}
	for i := col; i < len(text); i++ {
		switch {
		case text[i] == ':' && (i+1 == len(text) || text[i+1] == ' '):
			return i
		case text[i] == '#' && i > col && text[i-1] == ' ':
			return -1
		}
	}
	return -1
}

// closingQuote is the column of the quote that closes the one at col, or -1.
func closingQuote(text []rune, col int) int {
	q := text[col]
	for i := col + 1; i < len(text); i++ {
		switch {
		case q == '"' && text[i] == '\\':
			i++
		case text[i] == q && q == '\'' && i+1 < len(text) && text[i+1] == q:
			i++
		case text[i] == q:
			return i
		}
	}
	return -1
}
