package docs

import (
	"slices"
	"strings"
)

// page is Markdown text under construction.
type page struct {
	text strings.Builder
}

func (p *page) heading(level int, title string) {
	p.block(strings.Repeat("#", level) + " " + title)
}

// block adds a paragraph or any other block, with the blank line before it.
func (p *page) block(text string) {
	if p.text.Len() > 0 {
		p.text.WriteString("\n")
	}
	p.text.WriteString(text + "\n")
}

// section adds a heading, a sentence and a table; nothing if the table has no
// rows.
func (p *page) section(title, intro string, t *table) {
	if len(t.rows) == 0 {
		return
	}
	p.heading(2, title)
	if intro != "" {
		p.block(intro)
	}
	p.block(t.String())
}

// table is a Markdown table. A column in which no row has anything is left
// out, so that a machine shows only what it uses.
type table struct {
	columns []string
	rows    [][]string
}

func newTable(columns ...string) *table { return &table{columns: columns} }

// add appends a row; its cells are Markdown already.
func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// String renders t without a final newline. Cells are not padded, so that a
// changed row is one changed line.
func (t *table) String() string {
	var used []int
	for c := range t.columns {
		if slices.ContainsFunc(t.rows, func(row []string) bool { return row[c] != "" }) {
			used = append(used, c)
		}
	}
	var lines []string
	line := func(cells []string) {
		var b strings.Builder
		for _, c := range used {
			b.WriteString("| " + cells[c] + " ")
		}
		lines = append(lines, b.String()+"|")
	}
	line(t.columns)
	lines = append(lines, strings.Repeat("|---", len(used))+"|")
	for _, row := range t.rows {
		line(row)
	}
	return strings.Join(lines, "\n")
}

// code renders s as a code span that survives in a table cell.
func code(s string) string {
	if s == "" {
		return ""
	}
	s = strings.ReplaceAll(oneLine(s), "|", `\|`)
	if !strings.Contains(s, "`") {
		return "`" + s + "`"
	}
	fence := "``"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + " " + s + " " + fence
}

// codes renders names as code spans, one beside the other.
func codes(names []string) string { return joined(names, ", ") }

// lines renders texts as code spans, one below the other.
func lines(texts []string) string { return joined(texts, "<br>") }

func joined(texts []string, between string) string {
	spans := make([]string, len(texts))
	for i, t := range texts {
		spans[i] = code(t)
	}
	return strings.Join(spans, between)
}

var proseEscapes = strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`, "$", `\$`)

// prose renders text of the spec for a cell or a paragraph: what it says, not
// what Markdown would make of it.
func prose(s string) string { return proseEscapes.Replace(oneLine(s)) }

// oneLine folds all blanks.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func yesNo(b bool) string {
	if b {
		return "Yes"
	}
	return "No"
}
