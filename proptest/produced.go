package proptest

import (
	"fmt"

	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// produced lists the steps to every different record that the cases of
// Equivalence produce, from any state and not only from what creation leads
// to.
func produced(m *ir.Machine) []interp.Step {
	var out []interp.Step
	seen := map[string]bool{}
	for _, s := range situations(m, now) {
		for _, c := range callers(m) {
			limit, _ := s.limit(c)
			for tc := range s.cases(c, limit, 1) {
				result, _ := tc.decide(m)
				for _, step := range result.Steps {
					if key := string(interp.MarshalRecord(m, step.After)); !seen[key] {
						seen[key] = true
						out = append(out, step)
					}
				}
			}
		}
	}
	return out
}

// maxProduced bounds how many produced records are stored: of more, every n-th.
const maxProduced = 2500

// constraints stores every produced record with the triggers off: what the
// interpreter accepts satisfies all CHECK constraints and reads back equal.
func (w *walk) constraints() {
	w.db.dropTriggers(w.t, w.machine)
	all := produced(w.machine)
	w.producible = len(all)
	stride := max(1, (len(all)+maxProduced-1)/maxProduced)
	for i, s := range all {
		if i%stride != 0 {
			continue
		}
		if w.failures >= maxFailures {
			return
		}
		err := w.db.undo(w.t, func() error {
			if err := w.db.insertRecord(w.machine, rowOf(s)); err != nil {
				return err
			}
			return w.db.reads(w.machine, s.After)
		})
		if err != nil {
			w.errorf("refuses the record %s of %s: %v", interp.MarshalRecord(w.machine, s.After), s.Row, err)
		}
		w.produced++
		w.attempts(func() { w.holdsAlone(s) })
	}
}

// holdsAlone breaks the clauses that no step could break without breaking a
// write-once field too: here nothing but the constraint is left to refuse.
func (w *walk) holdsAlone(s interp.Step) {
	state := s.After.State
	for i, c := range state.Holds {
		if w.done[fmt.Sprintf("holds %s %d", state, i)] || readsFrom(c) {
			continue
		}
		if broken := breakOne(w.machine, s, state.Holds, i, true); broken != nil && w.once("holds %s %d", state, i) {
			row := rowOf(s)
			row.record = broken
			w.refuse(brokenHolds, "", func() error { return w.db.insertRecord(w.machine, row) }, "%s without %s", state, c.Text)
		}
	}
}

// readsFrom reports whether c is about the state before, which no constraint
// can see.
func readsFrom(c *ir.Clause) bool {
	return c.Left.Special == ir.FromName || c.Right.Special == ir.FromName
}

// unbroken lists the clauses of holds for which no reachable record breaks
// just this clause, because the type, a bound or another rule forbids it.
func (w *walk) unbroken() []string {
	var out []string
	for _, state := range w.machine.States {
		for i, c := range state.Holds {
			if !w.done[fmt.Sprintf("holds %s %d", state, i)] {
				out = append(out, fmt.Sprintf("%s: %s", state, c.Text))
			}
		}
	}
	return out
}
