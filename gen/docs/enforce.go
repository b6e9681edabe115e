package docs

import (
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// InvariantEnforcers names what enforces inv, each as "where: what". Where is
// check (the compiler refuses a table that breaks it), go, postgres, sqlite,
// or test.
func InvariantEnforcers(m *ir.Machine, inv *ir.Invariant) []string {
	switch {
	case inv.Holds != nil:
		return everywhere("holds of "+inv.Holds.Text, "CHECK holds of "+inv.Holds.Text)
	case inv.Terminal != nil:
		out := []string{"check: no row leaves " + inv.Terminal.Text}
		return append(out, everywhere("no event leaves "+inv.Terminal.Text, "trigger on edges from "+inv.Terminal.Text)...)
	case len(inv.Immutable) > 0:
		fields := strings.Join(names(inv.Immutable), ", ")
		return everywhere("write-once "+fields, "trigger write-once "+fields)
	case inv.Unique != nil:
		index := "unique index " + inv.Unique.Text
		if inv.Unique.WhileActive {
			index += " while active"
		}
		return databases(index)
	case inv.Never != nil:
		return neverEnforcers(m, inv.Never)
	case len(inv.Always) > 0:
		return everywhere("holds of every state", "CHECK holds of every state")
	}
	return []string{"test: " + inv.Test}
}

func neverEnforcers(m *ir.Machine, n *ir.Never) []string {
	edge := n.From.Text + " to " + strings.Join(names(n.To), ", ")
	var out []string
	drawn := slices.ContainsFunc(m.Rows, func(r *ir.Row) bool {
		return r.From == n.From && r.To != nil && slices.Contains(n.To, r.To)
	})
	if !drawn {
		out = append(out, "check: no row from "+edge)
	}
	if len(n.Unless) > 0 {
		edge += " unless " + strings.Join(clauseTexts(n.Unless), ", ")
	}
	return append(out, databases("trigger never "+edge)...)
}

func everywhere(inGo, inSQL string) []string {
	return append([]string{"go: " + inGo}, databases(inSQL)...)
}

func databases(what string) []string { return []string{"postgres: " + what, "sqlite: " + what} }

func invariants(m *ir.Machine) *table {
	t := newTable("Invariant", "Promise", "Enforced by")
	for _, inv := range m.Invariants {
		t.add(code(inv.Text), prose(inv.Doc), strings.Join(proses(InvariantEnforcers(m, inv)), "<br>"))
	}
	return t
}

func proses(texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = prose(t)
	}
	return out
}
