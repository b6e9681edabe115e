package check

import (
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// group is the rows of one (state, event).
type group struct {
	from  *ir.State // nil: creation
	event *ir.Event
	rows  []*ir.Row
}

type groupKey struct {
	from  *ir.State
	event *ir.Event
}

// cast is a set of actors that see the same rows of a group. Actors is empty
// where the machine knows none.
type cast struct {
	actors []*ir.Actor
	rows   []*ir.Row
}

// casts divides the actors of a group, in the order in which rows name them.
func (g *group) casts() []cast {
	var actors []*ir.Actor
	for _, r := range g.rows {
		for _, a := range r.By {
			if !slices.Contains(actors, a) {
				actors = append(actors, a)
			}
		}
	}
	if len(actors) == 0 {
		return []cast{{rows: g.rows}}
	}
	var out []cast
	for _, a := range actors {
		rows := rowsFor(g.rows, a)
		i := slices.IndexFunc(out, func(c cast) bool { return slices.Equal(c.rows, rows) })
		if i < 0 {
			out = append(out, cast{rows: rows})
			i = len(out) - 1
		}
		out[i].actors = append(out[i].actors, a)
	}
	return out
}

// systemOnly reports whether the cast is `system`, which has no id.
func (c cast) systemOnly() bool {
	return len(c.actors) == 1 && c.actors[0].System
}

// String names the actors, with a leading blank, or is empty.
func (c cast) String() string {
	if len(c.actors) == 0 {
		return ""
	}
	names := make([]string, len(c.actors))
	for i, a := range c.actors {
		names[i] = a.Text
	}
	return " by " + strings.Join(names, " or ")
}

// rowsFor keeps the rows that a may fire.
func rowsFor(rows []*ir.Row, a *ir.Actor) []*ir.Row {
	var out []*ir.Row
	for _, r := range rows {
		if r.By == nil || slices.Contains(r.By, a) {
			out = append(out, r)
		}
	}
	return out
}

// rowsForSystem keeps the rows that the machine itself may fire.
func rowsForSystem(rows []*ir.Row) []*ir.Row {
	var out []*ir.Row
	for _, r := range rows {
		if systemMay(r.By) {
			out = append(out, r)
		}
	}
	return out
}

// systemMay reports whether `system` is among by; nil is every actor.
func systemMay(by []*ir.Actor) bool {
	return by == nil || slices.ContainsFunc(by, func(a *ir.Actor) bool { return a.System })
}

// choose is the choice of a row among those that an actor sees: the highest
// priority whose clauses all hold, `otherwise` only where none does.
func choose(rows []*ir.Row, read reader) *ir.Row {
	var best, rest *ir.Row
	for _, r := range rows {
		switch {
		case r.Otherwise:
			if rest == nil || r.Priority > rest.Priority {
				rest = r
			}
		case (best == nil || r.Priority > best.Priority) && allHold(r.When, read):
			best = r
		}
	}
	if best != nil {
		return best
	}
	return rest
}

func allHold(clauses []*ir.Clause, read reader) bool {
	for _, c := range clauses {
		if !domain.Eval(c, read) {
			return false
		}
	}
	return true
}

// clausesOf lists the guards of all rows.
func clausesOf(rows []*ir.Row) []*ir.Clause {
	var out []*ir.Clause
	for _, r := range rows {
		out = append(out, r.When...)
	}
	return out
}

// stateName names where a group acts.
func (g *group) stateName() string {
	if g.from == nil {
		return "none"
	}
	return g.from.Text
}

// acceptedBySystem lists the rows of a state that `system` may fire for e.
func (s *subject) acceptedBySystem(state *ir.State, e *ir.Event) []*ir.Row {
	if g := s.byKey[groupKey{state, e}]; g != nil {
		return rowsForSystem(g.rows)
	}
	return nil
}
