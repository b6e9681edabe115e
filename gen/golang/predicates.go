package golang

import (
	"fmt"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// predicates are the conditions of rows that have a method of their own.
type predicates struct{ methods []jen.Code }

// longCondition is the complexity from which a condition gets a name: three clauses.
const longCondition = 3

// name returns condition, under which row is taken, or a call of the method that it becomes:
//
//	// meetsHandoff is the condition of handoff.
//	func (r *Record) meetsHandoff(e Checked) bool {
//		return e.RowVerified && e.RowChecksum.IsSet && e.RowChecksum.V == r.Checksum && e.DeviceExists
//	}
func (p *predicates) name(g *generator, row *ir.Row, condition *jen.Statement) *jen.Statement {
	if p == nil {
		return condition
	}
	body := jen.Return(condition)
	text := textOf(body)
	if 1+text.size.forks < longCondition {
		return condition
	}
	name, in := g.predicateName(row), read(g.givens(row.Event), text)
	method := jen.Func().Add(receiver()).Id(name).Params(parameters(in)...).Bool().Block(body)
	p.methods = append(p.methods, comment(fmt.Sprintf("%s is the condition of %s.", name, row.Text), "").Add(method))
	return jen.Id("r").Dot(name).Call(arguments(in)...)
}

// predicateName has the state and the event behind the row of the spec where that expands to several.
func (g *generator) predicateName(row *ir.Row) string {
	name := "meets" + naming.Exported(row.Text)
	if slices.ContainsFunc(g.m.Rows, func(other *ir.Row) bool { return other != row && other.Group == row.Group }) {
		name += naming.Exported(row.From.Text) + naming.Exported(row.Event.Text)
	}
	return name
}
