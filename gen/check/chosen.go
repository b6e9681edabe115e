package check

import (
	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

const (
	codeNeverChosen = "FSM031"
	codeImpossible  = "FSM033"
)

// impossible reports clauses that no value within type and bounds satisfies.
func (s *subject) impossible() {
	seen := map[*ir.Clause]bool{}
	judged := map[*ir.Clause]bool{}
	judge := func(c *ir.Clause, ev *ir.Event) bool {
		if seen[c] {
			return judged[c]
		}
		seen[c] = true
		if judged[c] = s.neverHolds(c, ev); judged[c] {
			s.report(codeImpossible, c.Span, "compare with a value that the type and the bounds allow, or remove the clause", "%q never holds", c.Text)
		}
		return judged[c]
	}
	for _, r := range s.m.Rows {
		for _, c := range r.When {
			if judge(c, r.Event) {
				s.dead[r] = true
			}
		}
	}
	for _, st := range s.m.States {
		for _, c := range st.Holds {
			judge(c, nil)
		}
	}
	for _, x := range s.m.Metrics {
		for _, c := range x.When {
			judge(c, nil)
		}
	}
}

// neverHolds enumerates the values of c alone.
func (s *subject) neverHolds(c *ir.Clause, ev *ir.Event) bool {
	d := domain.Join(s.m, now(), domain.View{Event: ev, Clauses: []*ir.Clause{c}})
	if !d.Exhaustive(maxCases) {
		return false
	}
	for a := range d.All(maxCases, seed) {
		if domain.Eval(c, a.Reader(ev)) {
			return false
		}
	}
	return true
}

// neverChosen reports rows that lose in every case: their clauses contradict
// each other or what records of their state can be, or others always win. A
// row that stands for many, a wildcard or an `otherwise`, may lose at some.
func (s *subject) neverChosen() {
	left := map[int]int{} // expansions of a spec row that may still win
	for _, r := range s.m.Rows {
		left[r.Group]++
	}
	for _, g := range s.groups {
		if len(g.rows) == 1 && len(g.rows[0].When) == 0 {
			continue
		}
		won := s.winners(g)
		for _, r := range g.rows {
			if won[r] || s.dead[r] {
				continue
			}
			s.dead[r] = true
			if left[r.Group]--; left[r.Group] > 0 && (r.Wildcard || r.Otherwise) {
				continue
			}
			why, help := s.cause(g, r)
			s.report(codeNeverChosen, r.Span, help, "row %q can never be chosen on %s in state %q: %s", r.Text, g.event.Text, g.stateName(), why)
		}
	}
}

// winners are the rows of g that some case chooses; all of them where the
// cases are too many to tell, and then those that were not seen are noted.
func (s *subject) winners(g *group) map[*ir.Row]bool {
	won := map[*ir.Row]bool{}
	var maybe []*ir.Row
	for _, c := range g.casts() {
		sp := s.space(scene{from: g.from, event: g.event, system: c.systemOnly(),
			views: []domain.View{{Event: g.event, Clauses: clausesOf(c.rows)}}})
		sp.each(func(_ domain.Assignment, read reader) bool {
			if r := choose(c.rows, read); r != nil {
				won[r] = true
			}
			return true
		})
		if !sp.exhaustive {
			maybe = append(maybe, c.rows...)
		}
	}
	for _, r := range maybe {
		s.unseen[r] = s.unseen[r] || !won[r]
		won[r] = true
	}
	return won
}
