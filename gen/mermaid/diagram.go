package mermaid

import (
	"strings"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// config widens labels, so that a clause stays on one line.
const config = `%%{init: {"flowchart": {"wrappingWidth": 400}}}%%`

// Diagram returns the stateDiagram-v2 text of m, with a final newline. Equal
// machines give equal bytes.
func Diagram(m *ir.Machine) string {
	d := &drawing{machine: m, ids: stateIDs(m.States)}
	d.line("stateDiagram-v2")
	d.line(config)
	d.line("accTitle: State machine " + escape(m.Text))
	if always := actionNames(m.Do); len(always) > 0 {
		d.line("%% every accepted row also does ", strings.Join(always, ", "))
	}
	d.states()
	d.edges()
	d.notes()
	d.styles()
	return d.text.String()
}

// drawing is the text so far.
type drawing struct {
	machine *ir.Machine
	ids     map[*ir.State]string
	text    strings.Builder
}

// line adds one statement; all but the first are indented.
func (d *drawing) line(parts ...string) {
	if d.text.Len() > 0 {
		d.text.WriteString("    ")
	}
	for _, p := range parts {
		d.text.WriteString(p)
	}
	d.text.WriteString("\n")
}

// states declares every state with the lines inside its box.
func (d *drawing) states() {
	for _, s := range d.machine.States {
		d.line(`state "`, escape(s.Text), `" as `, d.ids[s])
		d.inside(d.ids[s], "entry / ", actionNames(s.Entry))
		d.inside(d.ids[s], "exit / ", actionNames(s.Exit))
		if s.Timeout != nil {
			d.line(d.ids[s], " : ", timeoutLine(s.Timeout))
		}
		for _, r := range d.machine.Rows {
			if r.From == s && internal(r) && !r.Wildcard {
				d.line(d.ids[s], " : ", d.insideLabel(r))
			}
		}
	}
	if d.hasWildcard() {
		d.line(`state "any state that is not terminal" as `, anyState)
	}
	for _, r := range groupHeads(d.machine.Rows) {
		if r.Wildcard && internal(r) {
			d.line(anyState, " : ", d.insideLabel(r))
		}
	}
}

func (d *drawing) inside(id, prefix string, items []string) {
	if len(items) > 0 {
		d.line(id, " : ", wrap(prefix, items, ""))
	}
}

func internal(r *ir.Row) bool { return r.To == nil && r.Reject == nil }

func (d *drawing) hasWildcard() bool {
	for _, r := range d.machine.Rows {
		if r.Wildcard && r.Reject == nil {
			return true
		}
	}
	return false
}

// groupHeads returns the first row of each spec row and event.
func groupHeads(rows []*ir.Row) []*ir.Row {
	type key struct {
		group int
		event *ir.Event
	}
	seen := make(map[key]bool)
	var heads []*ir.Row
	for _, r := range rows {
		if k := (key{r.Group, r.Event}); !seen[k] {
			seen[k] = true
			heads = append(heads, r)
		}
	}
	return heads
}

// edges draws creation, the rows in spec order, and the ends.
func (d *drawing) edges() {
	type edge struct{ from, to, event string }
	var order []edge
	rows := make(map[edge][]*ir.Row)
	add := func(from string, r *ir.Row) {
		e := edge{from, d.ids[r.To], r.Event.Text}
		if rows[e] == nil {
			order = append(order, e)
		}
		rows[e] = append(rows[e], r)
	}
	for _, r := range d.machine.Rows {
		switch {
		case r.To == nil || r.Wildcard:
		case r.From == nil:
			add("[*]", r)
		default:
			add(d.ids[r.From], r)
		}
	}
	for _, r := range groupHeads(d.machine.Rows) {
		if r.Wildcard && r.To != nil {
			add(anyState, r)
		}
	}
	for _, e := range order {
		d.line(e.from, " --> ", e.to, " : ", d.edgeLabel(rows[e]))
	}
	for _, s := range d.machine.States {
		if s.Terminal {
			d.line(d.ids[s], " --> [*]")
		}
	}
}
