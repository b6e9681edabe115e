package check

import (
	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

const codeUncovered = "FSM032"

// coverage reports what no row answers: the caller gets guard_failed, and the
// document may have meant something else.
func (s *subject) coverage() {
	for _, g := range s.groups {
		for _, c := range g.casts() {
			if !covered(c.rows) {
				s.uncovered(g, c)
			}
		}
	}
}

// covered reports whether a row takes whatever the others leave.
func covered(rows []*ir.Row) bool {
	for _, r := range rows {
		if r.Otherwise || len(r.When) == 0 {
			return true
		}
	}
	return false
}

func (s *subject) uncovered(g *group, c cast) {
	sp := s.space(scene{from: g.from, event: g.event, system: c.systemOnly(),
		views: []domain.View{{Event: g.event, Clauses: clausesOf(c.rows)}}})
	f := sp.all(func(read reader) bool { return choose(c.rows, read) == nil })
	if f.undecided {
		s.undecided(c.rows[0].Span, "write a row with `otherwise: true`, with `reject` if the caller shall hear why",
			"it is not decided whether some row takes every %s%s in state %q", g.event.Text, c, g.stateName())
	}
	if f.found {
		s.report(codeUncovered, c.rows[0].Span, "write a row for these values, or one with `otherwise: true`, with `reject` if the caller shall hear why",
			"no row takes %s%s in state %q%s", g.event.Text, c, g.stateName(), f.when)
	}
}
