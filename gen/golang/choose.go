package golang

import (
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// candidates are the rows of (state, event) in the order in which they are
// tried. A row without a condition ends the list. With several the code is for every state that
// these rows leave, so that states with the same rows can share it. What is long goes to apart,
// unless it is nil.
func (g *generator) candidates(ev *ir.Event, s *ir.State, several bool, apart *parts) []jen.Code {
	var code []jen.Code
	rows := g.rowsOf(s, ev)
	shared := sameActors(rows)
	if shared {
		may := g.mayFire(rows[0], g.guards(rows[0]), s != nil)
		code = append(code, jen.If(may.not()).Block(refuse(g.rejection("ErrNotAllowed", ev))))
	}
	for _, row := range rows {
		condition, f := g.condition(row, shared)
		if condition.known && !condition.outcome {
			continue
		}
		code = append(code, rowComment(row)...)
		b := apart.row(g, row, g.rowBody(row, f, several && g.expands(row)).code)
		if condition.known {
			return append(code, b...)
		}
		code = append(code, jen.If(apart.condition(g, row, condition.code())).Block(b...))
	}
	if !guarded(rows) {
		return append(code, refuse(g.rejection("ErrNotAllowed", ev)))
	}
	return append(code, refuse(jen.Id("r").Dot(explainName(ev, s == nil)).Call(g.explainArgs(ev)...)))
}

// condition tests the actor, unless all rows share it, and the guards. The
// facts are what is known where it holds.
func (g *generator) condition(row *ir.Row, shared bool) (test, facts) {
	guards, f := g.guards(row), newFacts()
	may := known(true)
	if !shared {
		may = g.mayFire(row, guards, row.From != nil)
	}
	if row.From != nil && len(row.By) > 0 && allHaveIs(row.By) {
		f.present["by.ID"] = true
	}
	return all(may, guards.conjunction(row.When, f)), f
}

// explained reports whether a decision on (state, event) may be refused for
// want of a guard: no row is taken, or one that rejects.
func (g *generator) explained(s *ir.State, ev *ir.Event) bool {
	rows := g.rowsOf(s, ev)
	rejects := slices.ContainsFunc(rows, func(row *ir.Row) bool { return row.Reject != nil })
	if rejects && slices.ContainsFunc(rows, func(row *ir.Row) bool { return row.Reject == nil && len(row.When) > 0 }) {
		return true
	}
	for _, row := range rows {
		if condition, _ := g.condition(row, sameActors(rows)); condition.known && condition.outcome {
			return false
		}
	}
	return guarded(rows)
}

// guarded reports whether some row has a clause.
func guarded(rows []*ir.Row) bool {
	return slices.ContainsFunc(rows, func(row *ir.Row) bool { return len(row.When) > 0 })
}

// sameActors reports whether the same actors may fire all rows, and not
// everybody may.
func sameActors(rows []*ir.Row) bool {
	return len(rows) > 0 && len(rows[0].By) > 0 &&
		!slices.ContainsFunc(rows, func(row *ir.Row) bool { return !slices.Equal(row.By, rows[0].By) })
}

func allHaveIs(actors []*ir.Actor) bool {
	return !slices.ContainsFunc(actors, func(a *ir.Actor) bool { return a.Is == nil })
}

func rowComment(row *ir.Row) []jen.Code {
	var out []jen.Code
	if doc := strings.TrimSpace(row.Doc); doc != "" {
		for _, line := range strings.Split(doc, "\n") {
			out = append(out, jen.Comment(commentLine(line)))
		}
	}
	return out
}

// mayFire tests the actor of a row. With ids false a role is enough, for
// creation rows, whose record has no fields yet.
func (g *generator) mayFire(row *ir.Row, s *scope, ids bool) test {
	if len(row.By) == 0 {
		return known(true)
	}
	tests := g.actorTests(row, s, ids)
	if len(tests) == 1 {
		return tests[0]
	}
	return either(tests)
}

// actorTests tests for each actor of a row whether the caller is that.
func (g *generator) actorTests(row *ir.Row, s *scope, ids bool) []test {
	var tests []test
	for _, a := range row.By {
		role := equal(func() *jen.Statement { return jen.Id("by").Dot("Role") }, id(naming.GoRole.Of(a.Text)))
		switch {
		case a.Is == nil:
			tests = append(tests, role)
		case ids:
			tests = append(tests, plain(func() *jen.Statement {
				return jen.Id("by").Dot("is" + naming.Exported(a.Text)).Call(jen.Id("r"))
			}))
		case s.assigned == nil:
			tests = append(tests, role)
		case len(row.By) == 1: // the role was asked before
			tests = append(tests, g.sameID("by", s.field(a.Is)))
		default:
			tests = append(tests, all(role, g.sameID("by", s.field(a.Is))))
		}
	}
	return tests
}

// sameID compares the id of the actor in a variable with a field.
func (g *generator) sameID(actor string, v value) test {
	callerID := func() *jen.Statement { return jen.Id(actor).Dot("ID") }
	switch {
	case v.key == "by.ID" && v.present == nil:
		return known(true)
	case v.key == "by.ID":
		return plain(v.present)
	case v.absent:
		return known(false)
	case v.present != nil:
		return all(plain(v.present), equal(callerID, v.whole))
	}
	return equal(callerID, func() *jen.Statement { return g.fsm("Some").Call(v.code()) })
}
