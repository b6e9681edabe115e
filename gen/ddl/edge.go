package ddl

import (
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// edges are the legal (event, target) pairs out of one state, in spec order. A
// row without a target stays where it is; a rejecting row stores nothing.
type edges struct {
	from  *ir.State // nil: creation
	pairs []pair
}

type pair struct {
	event *ir.Event
	to    []*ir.State
}

// machineEdges lists creation first, then every state that a step can leave or
// act in.
func machineEdges(m *ir.Machine) []edges {
	out := []edges{edgesFrom(m, nil)}
	for _, s := range m.States {
		if e := edgesFrom(m, s); len(e.pairs) > 0 {
			out = append(out, e)
		}
	}
	return out
}

func edgesFrom(m *ir.Machine, from *ir.State) edges {
	e := edges{from: from}
	for _, r := range m.Rows {
		if r.From == from && r.Reject == nil {
			e.add(r.Event, r.Target())
		}
	}
	return e
}

func (e *edges) add(event *ir.Event, to *ir.State) {
	i := slices.IndexFunc(e.pairs, func(p pair) bool { return p.event == event })
	if i < 0 {
		e.pairs = append(e.pairs, pair{event: event, to: []*ir.State{to}})
		return
	}
	if !slices.Contains(e.pairs[i].to, to) {
		e.pairs[i].to = append(e.pairs[i].to, to)
	}
}

// condition is the test of (event, to) against the pairs, aligned as a table,
// each pair on a line of its own that begins with indent.
func (e edges) condition(event, to, indent string) string {
	width := 0
	for _, p := range e.pairs {
		width = max(width, len(p.event.Text))
	}
	lines := make([]string, len(e.pairs))
	for i, p := range e.pairs {
		word := "   "
		if i > 0 {
			word = "OR "
		}
		pad := strings.Repeat(" ", width-len(p.event.Text))
		lines[i] = indent + word + event + " = " + quote(p.event.Text) + pad + " AND " + to + among(p.to)
	}
	return strings.Join(lines, "\n")
}

// among compares with one state or several.
func among(states []*ir.State) string {
	if len(states) == 1 {
		return " = " + quote(states[0].Text)
	}
	return " IN (" + quoteAll(stateNames(states)) + ")"
}

func stateNames(states []*ir.State) []string {
	names := make([]string, len(states))
	for i, s := range states {
		names[i] = s.Text
	}
	return names
}

// isEdge is the condition that (from, event, to) is a transition of m. Creation
// is the edge from null. PostgreSQL asks a function (postgresEdges): it would
// parse a long CHECK anew for each statement, but keeps a function's plan.
func isEdge(d dialect, m *ir.Machine, from, event, to string) string {
	if d == postgres {
		return ruleName(m.Text, "edge") + "(" + from + ", " + event + ", " + to + ")"
	}
	list := machineEdges(m)
	if from == "OLD."+stateColumn(m) {
		list = list[1:] // a record that exists was created
	}
	return edgeCase(list, from, event, to, "        ")
}

// edgeCase is the condition that (from, event, to) is a transition: one branch
// per old state, so that only its own pairs are compared.
func edgeCase(list []edges, from, event, to, indent string) string {
	if !slices.ContainsFunc(list, func(e edges) bool { return len(e.pairs) > 0 }) {
		return "false"
	}
	var b strings.Builder
	b.WriteString("CASE\n")
	for _, e := range list {
		if len(e.pairs) == 0 {
			continue
		}
		test := from + " IS NULL"
		if e.from != nil {
			test = from + " = " + quote(e.from.Text)
		}
		b.WriteString(indent + "    WHEN " + test + " THEN\n")
		b.WriteString(e.condition(event, to, indent+"        ") + "\n")
	}
	b.WriteString(indent + "    ELSE false\n" + indent + "END")
	return b.String()
}
