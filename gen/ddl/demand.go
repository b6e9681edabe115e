package ddl

import (
	"strings"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// demand is what every row of a table has to satisfy: cond is true, or null. It
// becomes a CHECK, or a rule of the function that judges a record.
type demand struct {
	comment string
	name    string
	cond    string
	// wrong and hint are what a rule says when cond is false; of a CHECK people
	// see the name only.
	wrong []text
	hint  string
}

// recordDemands are what a record satisfies, whatever its state.
func recordDemands(d dialect, m *ir.Machine) []demand {
	row := recordScope(d, m).row
	state := row + stateColumn(m)
	list := []demand{declared(ruleName(m.Text, m.Storage.State, "declared"), m.Storage.State, state, stateNames(m.States))}
	for _, c := range Columns(m) {
		list = append(list, shapeDemands(d, row, m.Text, c)...)
	}
	for _, inv := range m.Invariants {
		list = append(list, clauseDemands(d, m, inv.Doc, inv.Text, ruleName(m.Text, inv.Text), withoutFrom(inv.Always))...)
	}
	return list
}

// holdsDemands are what a record satisfies in state s; clauses of `always`
// invariants have demands of their own.
func holdsDemands(d dialect, m *ir.Machine, s *ir.State) []demand {
	always := map[string]bool{}
	for _, inv := range m.Invariants {
		for _, c := range inv.Always {
			always[c.Text] = true
		}
	}
	var own []*ir.Clause
	var leftOut []string
	for _, c := range withoutFrom(s.Holds) {
		if always[c.Text] {
			continue
		}
		own = append(own, c)
		if _, ok := recordScope(d, m).clause(c); !ok {
			leftOut = append(leftOut, "left to the machine: "+c.Text)
		}
	}
	return clauseDemands(d, m, strings.Join(leftOut, "\n"), s.Text, ruleName(m.Text, s.Text, "holds"), own)
}

// clauseDemands are the clauses that SQL decides, a demand each: they share a
// name, and the first one has the comment.
func clauseDemands(d dialect, m *ir.Machine, comment, who, name string, clauses []*ir.Clause) []demand {
	var list []demand
	for _, c := range clauses {
		cond, ok := recordScope(d, m).clause(c)
		if !ok {
			continue
		}
		wrong := []text{words(who + " demands " + c.Text)}
		if f := c.Left.Field; f != nil && !c.Op.Presence() {
			wrong = append(wrong, words(", and "+f.Text+" is "), value(recordScope(d, m).field(f)))
		}
		list = append(list, demand{comment: comment, name: name, cond: cond, wrong: wrong, hint: "Make it true in the same step."})
		comment = ""
	}
	return list
}

func withoutFrom(clauses []*ir.Clause) []*ir.Clause {
	var list []*ir.Clause
	for _, c := range clauses {
		if !readsFrom(c) {
			list = append(list, c)
		}
	}
	return list
}

// declared admits only these words; what is the column as people call it.
func declared[T ~string](name, what, col string, list []T) demand {
	return demand{
		name: name, cond: col + " IN (" + quoteAll(list) + ")",
		wrong: []text{words(what + " is "), value(col), words(", which is not declared")},
		hint:  "Declared are " + join(list) + ".",
	}
}

func join[T ~string](list []T) string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = string(w)
	}
	return strings.Join(out, ", ")
}
