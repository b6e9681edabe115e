package mermaid

import (
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// Lines break so that boxes and edges stay narrow; widths are in characters.
const (
	newline   = "<br/>"
	edgeWidth = 30
	boxWidth  = 44
)

// special are the characters that Mermaid, its HTML labels or their Markdown
// would read as something else than themselves.
var special = strings.NewReplacer(
	"#", "#35;", ";", "#59;", ":", "#58;", "%", "#37;", "&", "#amp;",
	"<", "#lt;", ">", "#gt;", `"`, "#quot;", "{", "#123;", "}", "#125;",
	"`", "#96;", `\`, "#92;", "*", "#42;", "~", "#126;", "|", "#124;",
	"--", "-#45;", "__", "_#95;", "$$", "$#36;", "\n", " ", "\r", " ", "\t", " ",
)

// escape makes text safe in a label, a note or a quoted state name.
func escape(text string) string { return special.Replace(text) }

// edgeLabel is the text at the edge of rows that share source, target and
// event: the event, then the alternatives below each other.
func (d *drawing) edgeLabel(rows []*ir.Row) string {
	lines := []string{escape(rows[0].Event.Text)}
	if len(rows) == 1 {
		lines[0] = joinWords(lines[0], d.distinction(rows[0]))
		return strings.Join(append(lines, guardLines(rows[0])...), newline)
	}
	for i, r := range rows {
		var alternative []string
		if w := d.distinction(r); w != "" {
			alternative = append(alternative, w)
		}
		alternative = append(alternative, guardLines(r)...)
		if len(alternative) == 0 {
			alternative = []string{"[true]"}
		}
		if i > 0 {
			alternative[0] = "or " + alternative[0]
		}
		lines = append(lines, alternative...)
	}
	return strings.Join(lines, newline)
}

// insideLabel is the line of an internal row in the box of its state.
func (d *drawing) insideLabel(r *ir.Row) string {
	parts := append([]string{joinWords("on "+escape(r.Event.Text), d.distinction(r))}, guardLines(r)...)
	text, width := parts[0], len(parts[0])
	for _, part := range parts[1:] {
		if width += len(part) + 1; width > boxWidth {
			text, width = text+newline, len(part)
		} else {
			text += " "
		}
		text += part
	}
	return text
}

// distinction is what sets r apart from other rows of its event: fewer actors
// than the event has, and a priority where priority decides.
func (d *drawing) distinction(r *ir.Row) string {
	var words string
	if len(r.By) > 0 && len(r.By) < len(r.Event.By) {
		words = "by " + escape(strings.Join(names(r.By), ", "))
	}
	for _, other := range d.machine.Rows {
		if other.From == r.From && other.Event == r.Event && other.Priority != r.Priority {
			return joinWords(words, "(priority "+strconv.Itoa(r.Priority)+")")
		}
	}
	return words
}

func joinWords(a, b string) string { return strings.TrimSpace(a + " " + b) }

func names(actors []*ir.Actor) []string {
	var out []string
	for _, a := range actors {
		out = append(out, a.Text)
	}
	return out
}

// guardLines are the guard and the doings of r, one line each.
func guardLines(r *ir.Row) []string {
	var lines []string
	if g := guard(r); len(g) > 0 {
		lines = append(lines, wrap("[", g, "]"))
	}
	if a := actionNames(r.Do); len(a) > 0 {
		lines = append(lines, wrap("/ ", a, ""))
	}
	if r.Raise != nil {
		lines = append(lines, "/ raise "+escape(r.Raise.Event.Text))
	}
	return lines
}

func guard(r *ir.Row) []string {
	if r.Otherwise {
		return []string{"otherwise"}
	}
	return clauses(r.When)
}

func clauses(cs []*ir.Clause) []string {
	var texts []string
	for _, c := range cs {
		texts = append(texts, escape(c.Text))
	}
	return texts
}

// actionNames are the effects among actions that a picture shows.
func actionNames(actions []ir.Action) []string {
	var names []string
	for _, a := range actions {
		if a.Effect != nil && a.Effect.Kind != ir.Log {
			names = append(names, escape(a.Effect.Text))
		}
	}
	return names
}

// wrap joins items with commas and breaks lines that grow too long.
func wrap(before string, items []string, after string) string {
	var b strings.Builder
	b.WriteString(before)
	width := len(before)
	for i, item := range items {
		if i > 0 {
			b.WriteString(",")
			if width+len(item) > edgeWidth {
				b.WriteString(newline)
				width = 0
			} else {
				b.WriteString(" ")
			}
		}
		b.WriteString(item)
		width += len(item) + 2
	}
	b.WriteString(after)
	return b.String()
}

// timeoutLine reads "after 48h / EXPIRE"; a param stands for its default.
func timeoutLine(t *ir.Timeout) string {
	fires := " / " + escape(t.Fire.Event.Text)
	switch {
	case t.At != nil:
		return "at " + escape(t.At.Text) + fires
	case t.After.Param != nil:
		return "after " + short(t.After.Param.Default) + fires
	case t.After.IsLit:
		return "after " + short(t.After.Literal) + fires
	}
	return "after " + escape(t.After.Text) + fires
}

// short writes a duration without its zero parts: 48h, not 48h0m0s.
func short(v ir.Value) string {
	d, ok := v.(time.Duration)
	if !ok {
		return ""
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
