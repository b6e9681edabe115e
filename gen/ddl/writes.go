package ddl

import (
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// columnRules refuse to change a column on an edge none of whose rows writes it. In a
// creation it has its default.
func columnRules(d dialect, m *ir.Machine, edges []edge) []rule {
	creation := len(edges) > 0 && edges[0].from == nil
	var list []rule
	for _, f := range m.Fields {
		if !creation && f.Immutable && f.Type.Optional && stored(f) {
			list = append(list, writeOnceRule(m.Text, "OLD."+ident(m.ID.Text), f))
		}
		if !stored(f) || !creation && f.Immutable && !f.Type.Optional {
			continue // a write-once field that is there has a rule of its own
		}
		writes := func(e edge) bool {
			return slices.ContainsFunc(e.rows, func(r *ir.Row) bool { return r.Writes(f) })
		}
		if !slices.ContainsFunc(edges, func(e edge) bool { return !writes(e) }) {
			continue
		}
		list = append(list, columnRule(d, m, f, creation, along(m, edges, writes)))
	}
	return list
}

// columnRule refuses to write f anywhere but where along says.
func columnRule(d dialect, m *ir.Machine, f *ir.Field, creation bool, along string) rule {
	c := ident(f.Text)
	old := "OLD." + c
	said := []text{words(f.Text + " is not written by "), value("NEW.last_event"), words(" from "), value("OLD." + stateColumn(m)),
		words(", it stays "), value(old), words(" and does not become "), value("NEW." + c)}
	if creation {
		old = d.literal(f.Type, f.Default)
		said = []text{words(f.Text + " is not written by "), value("NEW.last_event"), words(", it begins as " + old + " and not as "), value("NEW." + c)}
	}
	when, cond := "NEW."+c+" IS DISTINCT FROM "+old, "NOT ("+along+")"
	if old == "NULL" {
		when = "NEW." + c + " IS NOT NULL"
	}
	if along == "" {
		when, cond = "", when
	}
	if !creation && d.respells(f.Type) {
		// An engine may write what it read with other blanks.
		cond += "\n            AND (NOT json_valid(NEW." + c + ") OR json(NEW." + c + ") IS DISTINCT FROM json(OLD." + c + "))"
	}
	return rule{
		kind: kindStep, name: ruleName(m.Text, "step"), when: when, cond: cond,
		message: about(m.Text, "NEW."+ident(m.ID.Text), kindStep, "", said...), hint: "Leave " + f.Text + " as it is.",
	}
}

// along is the condition that a legal step is along one of the edges that satisfy is;
// "" where none does. The event alone says so where it is enough.
func along(m *ir.Machine, edges []edge, is func(edge) bool) string {
	var whole []*ir.Event
	var parts []string
	for _, ev := range m.Events {
		of := slices.DeleteFunc(slices.Clone(edges), func(e edge) bool { return e.event != ev })
		chosen := slices.DeleteFunc(slices.Clone(of), func(e edge) bool { return !is(e) })
		switch len(chosen) {
		case 0:
		case len(of):
			whole = append(whole, ev)
		default:
			parts = append(parts, someEdges(m, ev, of, chosen))
		}
	}
	if len(whole) > 0 {
		parts = append([]string{"NEW.last_event" + oneOf(texts(whole))}, parts...)
	}
	return strings.Join(parts, "\n                OR ")
}

// someEdges is the condition that a step by ev is along one of the chosen of its
// edges.
func someEdges(m *ir.Machine, ev *ir.Event, of, chosen []edge) string {
	state := stateColumn(m)
	var whole []*ir.State // of which every edge is chosen
	var parts []string
	for _, from := range m.States {
		here := func(e edge) bool { return e.from != from }
		all, some := slices.DeleteFunc(slices.Clone(of), here), slices.DeleteFunc(slices.Clone(chosen), here)
		switch len(some) {
		case 0:
		case len(all):
			whole = append(whole, from)
		default:
			var to []*ir.State
			for _, e := range some {
				to = append(to, e.to)
			}
			parts = append(parts, "OLD."+state+" = "+quote(from.Text)+" AND NEW."+state+among(to))
		}
	}
	if len(whole) > 0 {
		parts = append([]string{"OLD." + state + among(whole)}, parts...)
	}
	if len(parts) > 1 {
		return "NEW.last_event = " + quote(ev.Text) + " AND (" + strings.Join(parts, " OR ") + ")"
	}
	return "NEW.last_event = " + quote(ev.Text) + " AND " + parts[0]
}

func texts(events []*ir.Event) []string {
	list := make([]string, len(events))
	for i, ev := range events {
		list[i] = ev.Text
	}
	return list
}

// timeRules: a step enters its state when it is taken, or it leaves the entry alone.
func timeRules(m *ir.Machine, edges []edge) []rule {
	stays := func(r *ir.Row) bool { return r.To == nil }
	some := along(m, edges, func(e edge) bool { return slices.ContainsFunc(e.rows, stays) })
	all := along(m, edges, func(e edge) bool {
		return !slices.ContainsFunc(e.rows, func(r *ir.Row) bool { return !stays(r) })
	})
	refusal := func(when, cond, said string) rule {
		if cond == "" {
			when, cond = "", when
		}
		return rule{
			kind: kindStep, name: ruleName(m.Text, "step"), when: when, cond: cond,
			message: about(m.Text, "NEW."+ident(m.ID.Text), kindStep, "", words(said), value("NEW.entered_at")),
			hint:    "A step writes one time: to updated_at, and to entered_at if it enters the state.",
		}
	}
	entry := ""
	if some != "" {
		entry = "NOT (NEW.entered_at = OLD.entered_at AND (" + some + "))"
	}
	list := []rule{refusal("NEW.entered_at <> NEW.updated_at", entry, "the state is entered when the step is taken, not at ")}
	if all != "" {
		state := stateColumn(m)
		list = append(list, refusal("NEW.entered_at <> OLD.entered_at AND NEW."+state+" = OLD."+state, "("+all+")",
			"the step does not enter its state, and entered_at does not become "))
	}
	return list
}

// creations and moves are the edges of a machine.
func creations(m *ir.Machine) []edge { return edgesOf(m, nil) }

func moves(m *ir.Machine) []edge {
	var list []edge
	for _, s := range m.States {
		list = append(list, edgesOf(m, s)...)
	}
	return list
}
