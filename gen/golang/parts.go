package golang

import (
	"fmt"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// parts are what a decision that is too long has in methods of their own: conditions of rows, and
// the rows themselves where that is not enough.
type parts struct {
	rows    bool
	methods []jen.Code
}

// longCondition is the complexity from which a condition has a method of its own: three clauses. A row
// has one from the same complexity on, or from longRow lines on.
const (
	longCondition = 3
	longRow       = 10
)

// condition returns condition, under which row is taken, or a call of the method that it becomes:
//
//	// meetsHandoff is the condition of handoff.
//	func (r *Record) meetsHandoff(e Checked) bool {
//		return e.RowVerified && e.RowChecksum.IsSet && e.RowChecksum.V == r.Checksum && e.DeviceExists
//	}
func (p *parts) condition(g *generator, row *ir.Row, condition *jen.Statement) *jen.Statement {
	if p == nil {
		return condition
	}
	body := jen.Return(condition)
	text := textOf(body)
	if 1+text.size.forks < longCondition {
		return condition
	}
	name, in := g.partName("meets", row), read(g.givens(row.Event), text)
	method := jen.Func().Add(receiver()).Id(name).Params(parameters(in)...).Bool().Block(body)
	p.methods = append(p.methods, comment(fmt.Sprintf("%s is the condition of %s.", name, row.Text), "").Add(method))
	return jen.Id("r").Dot(name).Call(arguments(in)...)
}

// row returns what is done if row is taken, or a call of the method that it becomes:
//
//	// takeFund is what fund does where its condition holds.
//	func (r *Record) takeFund(e DepositConfirmed, by Actor) (Steps, error) {
func (p *parts) row(g *generator, row *ir.Row, body []jen.Code) []jen.Code {
	if p == nil || !p.rows {
		return body
	}
	text := textOf(body...)
	if text.size.lines < longRow && 1+text.size.forks < longCondition {
		return body
	}
	name, in := g.partName("take", row), read(g.givens(row.Event), text)
	method := jen.Func().Add(receiver()).Id(name).Params(parameters(in)...).Add(results()).Block(body...)
	p.methods = append(p.methods, comment(fmt.Sprintf("%s is what %s does where its condition holds.", name, row.Text), "").Add(method))
	return []jen.Code{jen.Return(jen.Id("r").Dot(name).Call(arguments(in)...))}
}

// partName has the state and the event behind the row of the spec where that expands to several.
func (g *generator) partName(verb string, row *ir.Row) string {
	name := verb + naming.Exported(row.Text)
	if slices.ContainsFunc(g.m.Rows, func(other *ir.Row) bool { return other != row && other.Group == row.Group }) {
		name += naming.Exported(row.From.Text) + naming.Exported(row.Event.Text)
	}
	return name
}
