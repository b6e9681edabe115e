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
func among(states []*ir.State) string { return oneOf(stateNames(states)) }

func oneOf(words []string) string {
	if len(words) == 1 {
		return " = " + quote(words[0])
	}
	return " IN (" + quoteAll(words) + ")"
}

func stateNames(states []*ir.State) []string {
	names := make([]string, len(states))
	for i, s := range states {
		names[i] = s.Text
	}
	return names
}

// edgeRules refuse a step along no transition, with a rule for each old state that
// lists what leads on. In PostgreSQL one condition knows all edges; in SQLite, where a
// condition more costs little, each rule knows its own.
func edgeRules(d dialect, m *ir.Machine) []rule {
	state, id := "OLD."+stateColumn(m), "OLD."+ident(m.ID.Text)
	refusal := func(from text, hint string) rule {
		return rule{
			kind: kindEdge, name: ruleName(m.Text, "edge"), hint: hint,
			message: about(m.Text, id, kindEdge, "no transition from ", from,
				words(" on "), value("NEW.last_event"), words(" to "), value("NEW."+stateColumn(m))),
		}
	}
	var list []rule
	var left []*ir.State
	for _, e := range machineEdges(m)[1:] { // a record that exists was created
		r := refusal(words(e.from.Text), "From there lead "+e.words()+".")
		r.path = []string{state + " = " + quote(e.from.Text)}
		r.cond = "NOT (\n" + e.condition("NEW.last_event", "NEW."+stateColumn(m), "            ") + ")"
		list, left = append(list, r), append(left, e.from)
	}
	final := refusal(value(state), "The state is final.")
	final.cond = outside(state, stateNames(left))
	list = append(list, final)
	if legal := steps(m); d.traits().edgeLists && len(legal) > 0 {
		illegal := state + " || ' ' || NEW.last_event || ' ' || NEW." + stateColumn(m) + " NOT IN (" + tabled(legal) + ")"
		for i := range list {
			list[i].path, list[i].cond = append([]string{illegal}, list[i].path...), ""
		}
	}
	return list
}

// steps lists state, event and new state of every step that is no creation.
func steps(m *ir.Machine) (list []string) {
	for _, e := range machineEdges(m)[1:] {
		for _, p := range e.pairs {
			for _, to := range p.to {
				list = append(list, e.from.Text+" "+p.event.Text+" "+to.Text)
			}
		}
	}
	return list
}

// outside is the condition that expr is none of the words.
func outside(expr string, words []string) string {
	if len(words) == 0 {
		return expr + " IS NOT NULL"
	}
	return expr + " NOT IN (" + quoteAll(words) + ")"
}

// tabled is a list of quoted texts, each on a line of its own.
func tabled(list []string) string {
	lines := make([]string, len(list))
	for i, text := range list {
		lines[i] = "\n            " + quote(text)
	}
	return strings.Join(lines, ",")
}

// words lists the pairs for people.
func (e edges) words() string {
	list := make([]string, len(e.pairs))
	for i, p := range e.pairs {
		list[i] = p.event.Text + " to " + strings.Join(stateNames(p.to), " or ")
	}
	return strings.Join(list, ", ")
}
