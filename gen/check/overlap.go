package check

import (
	"slices"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

const (
	codeOverlap     = "FSM030"
	codeNeverChosen = "FSM031"
	codeImpossible  = "FSM033"
)

// overlap reports rows of one (state, event, actor) and priority that can
// both hold: the choice would depend on the order of the file.
func (s *subject) overlap() {
	for _, g := range s.groups {
		for i, a := range g.rows {
			for _, b := range g.rows[i+1:] {
				if a.Priority == b.Priority && a.Otherwise == b.Otherwise && shareActor(a, b) {
					s.overlapping(g, a, b)
				}
			}
		}
	}
}

func shareActor(a, b *ir.Row) bool {
	if a.By == nil || b.By == nil {
		return true
	}
	return slices.ContainsFunc(a.By, func(x *ir.Actor) bool { return slices.Contains(b.By, x) })
}

func (s *subject) overlapping(g *group, a, b *ir.Row) {
	const help = "add a clause that tells them apart, or give one of them a `priority`"
	if a.Otherwise {
		s.report(codeOverlap, b.Span, "keep one `otherwise` for a state, an event and an actor",
			"rows %q and %q are both the `otherwise` of %s in state %q", a.Text, b.Text, g.event.Text, g.stateName())
		return
	}
	if contradict(a.When, b.When) {
		return
	}
	clauses := append(slices.Clone(a.When), b.When...)
	sp := s.space(scene{from: g.from, event: g.event, views: []domain.View{{Event: g.event, Clauses: clauses}}})
	sp.each(func(at domain.Assignment, read reader) bool {
		if !allHold(clauses, read) {
			return true
		}
		when := sp.when(at)
		if when == "" {
			when = " always"
		}
		s.report(codeOverlap, b.Span, help, "rows %q and %q of %s in state %q can both hold:%s", a.Text, b.Text, g.event.Text, g.stateName(), when)
		return false
	})
}

// contradict reports whether two guards demand different constants of one
// name. It is a short cut past the enumeration for tables with many rows of
// one event, and says nothing when it is false.
func contradict(a, b []*ir.Clause) bool {
	for _, x := range a {
		if x.Op != ir.Eq || !x.Right.IsLit {
			continue
		}
		for _, y := range b {
			if y.Op == ir.Eq && y.Right.IsLit && sameOperand(&x.Left, &y.Left) && !domain.Equal(x.Right.Literal, y.Right.Literal) {
				return true
			}
		}
	}
	return false
}

func sameOperand(a, b *ir.Operand) bool {
	return a.Field == b.Field && a.Event == b.Event && a.Param == b.Param && a.Special == b.Special && !a.IsLit && !b.IsLit
}

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

// neverHolds enumerates the values of c alone. Equality of a free text with
// itself and the like need no enumeration: an operator on open values can
// always hold.
func (s *subject) neverHolds(c *ir.Clause, ev *ir.Event) bool {
	d := domain.NewSpace(s.m, []*ir.Clause{c}, nil, ev, now())
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
			if left[r.Group]--; left[r.Group] > 0 && (r.Wildcard || r.Otherwise) {
				continue
			}
			s.report(codeNeverChosen, r.Span, neverChosenHelp(r), "row %q can never be chosen on %s in state %q", r.Text, g.event.Text, g.stateName())
		}
	}
}

func neverChosenHelp(r *ir.Row) string {
	if r.Otherwise {
		return "remove it: the other rows cover every case"
	}
	return "its clauses contradict each other or what records of the state can be, or rows of higher priority always win; mend or remove it"
}

// winners are the rows of g that some case chooses; all of them where the
// cases are too many to tell.
func (s *subject) winners(g *group) map[*ir.Row]bool {
	won := map[*ir.Row]bool{}
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
			for _, r := range c.rows {
				won[r] = true
			}
		}
	}
	return won
}
