package check

import (
	"slices"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

const codeOverlap = "FSM030"

// A group of more rows than maxPairwise is searched for pairs in one sweep, and
// of those at most maxPairs are reported.
const (
	maxPairwise = 12
	maxPairs    = 20
)

// overlap reports rows of one (state, event, actor) and priority that can
// both hold: the choice would depend on the order of the file.
func (s *subject) overlap() {
	for _, g := range s.groups {
		pairs := rivalPairs(g.rows)
		if len(g.rows) > maxPairwise {
			pairs = s.sweep(g)
		}
		for _, p := range pairs {
			s.overlapping(g, p[0], p[1])
		}
	}
}

// rivalPairs lists the pairs that only their clauses keep apart.
func rivalPairs(rows []*ir.Row) [][2]*ir.Row {
	var out [][2]*ir.Row
	for i, a := range rows {
		for _, b := range rows[i+1:] {
			if a.Priority == b.Priority && a.Otherwise == b.Otherwise && shareActor(a, b) {
				out = append(out, [2]*ir.Row{a, b})
			}
		}
	}
	return out
}

// sweep finds the pairs of a large group that hold together in some case of
// the whole group, in the order of the file; all pairs where these cases can't
// be enumerated.
func (s *subject) sweep(g *group) [][2]*ir.Row {
	sp := s.space(scene{from: g.from, event: g.event, views: []domain.View{{Event: g.event, Clauses: clausesOf(g.rows)}}})
	if !sp.exhaustive {
		return rivalPairs(g.rows)
	}
	var rest []*ir.Row
	for _, r := range g.rows {
		if r.Otherwise {
			rest = append(rest, r)
		}
	}
	out := rivalPairs(rest)
	sp.each(func(_ domain.Assignment, read reader) bool {
		var holding []*ir.Row
		for _, r := range g.rows {
			if !r.Otherwise && allHold(r.When, read) {
				holding = append(holding, r)
			}
		}
		for _, p := range rivalPairs(holding) {
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
			if len(out) >= maxPairs {
				return false
			}
		}
		return true
	})
	return out
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
	f := sp.find(func(read reader) bool { return allHold(clauses, read) })
	switch {
	case f.undecided:
		s.undecided(b.Span, help, "it is not decided whether rows %q and %q of %s in state %q can both hold", a.Text, b.Text, g.event.Text, g.stateName())
	case f.found && f.when == "":
		f.when = ", always"
		fallthrough
	case f.found:
		s.report(codeOverlap, b.Span, help, "rows %q and %q of %s in state %q can both hold%s", a.Text, b.Text, g.event.Text, g.stateName(), f.when)
	}
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
