package check

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// cause says why r is never chosen in g, and what to do about it.
func (s *subject) cause(g *group, r *ir.Row) (why, help string) {
	var winners []*ir.Row
	cast := g.rows
	for _, c := range g.casts() {
		if !slices.Contains(c.rows, r) {
			continue
		}
		cast = c.rows
		s.spaceOf(g, c).each(func(_ domain.Assignment, read reader) bool {
			if w := choose(c.rows, read); w != nil && (r.Otherwise || allHold(r.When, read)) && !slices.Contains(winners, w) {
				winners = append(winners, w)
			}
			return true
		})
	}
	if len(winners) > 0 {
		if r.Otherwise {
			return rowNames(winners) + " cover every case", "remove it, or narrow one of them"
		}
		return rowNames(winners) + " always win, by their priority", "give it a higher priority, or remove it"
	}
	return s.contradiction(g, cast, r), "mend one of the clauses, or remove the row"
}

func (s *subject) spaceOf(g *group, c cast) space {
	return s.space(scene{from: g.from, event: g.event, system: c.systemOnly(), views: []domain.View{{Event: g.event, Clauses: clausesOf(c.rows)}}})
}

// contradiction names the clause, or the two, that no record satisfies.
func (s *subject) contradiction(g *group, rows []*ir.Row, r *ir.Row) string {
	sp := s.spaceOf(g, cast{rows: rows})
	never := func(clauses ...*ir.Clause) bool {
		f := sp.find(func(read reader) bool { return allHold(clauses, read) })
		return !f.found && !f.undecided
	}
	for _, c := range r.When {
		if never(c) {
			return fmt.Sprintf("no record of the state satisfies %q", c.Text)
		}
	}
	for i, a := range r.When {
		for _, b := range r.When[i+1:] {
			if never(a, b) {
				return fmt.Sprintf("%q and %q contradict each other there", a.Text, b.Text)
			}
		}
	}
	return "its clauses contradict each other there"
}

func rowNames(rows []*ir.Row) string {
	const shown = 3
	text := "rows"
	if len(rows) == 1 {
		text = "row"
	}
	for i, r := range rows[:min(len(rows), shown)] {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf(" %q", r.Text)
	}
	if len(rows) > shown {
		text += fmt.Sprintf(" and %d more", len(rows)-shown)
	}
	return text
}
