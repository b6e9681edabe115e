package mermaid

import (
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// notes say what a state holds, each clause where it begins: a clause that
// every state before already holds is not repeated.
func (d *drawing) notes() {
	for _, s := range d.machine.States {
		begins := d.begins(s)
		if len(begins) == 0 {
			continue
		}
		d.line("note right of ", d.ids[s])
		d.line("    holds:", newline, strings.Join(clauses(begins), newline))
		d.line("end note")
	}
}

// begins are the clauses that s holds and some state before it does not.
func (d *drawing) begins(s *ir.State) []*ir.Clause {
	before, created := d.before(s)
	var begins []*ir.Clause
	for _, c := range s.Holds {
		inherited := func(from *ir.State) bool {
			return slices.ContainsFunc(from.Holds, func(h *ir.Clause) bool { return h.Text == c.Text })
		}
		if created || !all(before, inherited) {
			begins = append(begins, c)
		}
	}
	return begins
}

// before are the other states from which a row leads to s; created tells
// whether records are created in s.
func (d *drawing) before(s *ir.State) (before []*ir.State, created bool) {
	for _, r := range d.machine.Rows {
		switch {
		case r.To != s || r.From == s:
		case r.From == nil:
			created = true
		default:
			before = append(before, r.From)
		}
	}
	return before, created || len(before) == 0
}

func all(states []*ir.State, has func(*ir.State) bool) bool {
	return !slices.ContainsFunc(states, func(s *ir.State) bool { return !has(s) })
}
