package golang

import (
	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// payloadSum is an expression in a payload, value or label that may overflow.
type payloadSum struct {
	*ir.Expr
	when []*ir.Clause // gates it
}

// sums lists the expressions of a row's effects and metrics that may overflow.
func sums(row *ir.Row) []payloadSum {
	var out []payloadSum
	add := func(x *ir.Expr, when []*ir.Clause) {
		if x.Kind.Sum() {
			out = append(out, payloadSum{x, when})
		}
	}
	for _, a := range row.Actions {
		if a.Metric != nil {
			for i := range a.Metric.Labels {
				add(&a.Metric.Labels[i].Value, a.Metric.When)
			}
			if a.Metric.Value != nil {
				add(a.Metric.Value, a.Metric.When)
			}
			continue
		}
		for i := range a.Effect.With {
			add(&a.Effect.With[i].Value, nil)
		}
		for i := range a.Effect.Row {
			add(&a.Effect.Row[i].Value, nil)
		}
	}
	return out
}

// decided lists the expressions that a decision on row evaluates.
func decided(row *ir.Row) []*ir.Expr {
	var out []*ir.Expr
	for _, x := range sums(row) {
		out = append(out, x.Expr)
	}
	for i := range row.Set {
		out = append(out, &row.Set[i].Value)
	}
	return out
}

// evaluate computes x. A sum is computed by statements before the value: into
// a variable named after name, leaving through overflow when it does not fit.
//
//	newAttempts, ok := fsm.AddInt(r.Attempts, 1)
//	if !ok {
//		return Steps{}, ...
//	}
func (s *scope) evaluate(x *ir.Expr, name string, overflow func() *jen.Statement) ([]jen.Code, value) {
	switch x.Kind {
	case ir.Null:
		return nil, value{typ: x.Type, key: "null", absent: true}
	case ir.Read:
		return nil, s.read(&x.A)
	case ir.Add, ir.Sub:
		return s.evaluateSum(x, name, overflow)
	}
	panic(ir.NoForm("golang.evaluate", x.Kind))
}

func (s *scope) evaluateSum(x *ir.Expr, name string, overflow func() *jen.Statement) ([]jen.Code, value) {
	a, b := s.read(&x.A), s.read(&x.B)
	if a.absent || b.absent {
		return nil, value{typ: x.Type, key: "null", absent: true}
	}
	local := "new" + naming.Exported(name)
	t := x.Type
	t.Optional = a.present != nil || b.present != nil
	result := variable(t, "local."+local, id(local))
	if !t.Optional {
		return []jen.Code{
			jen.List(jen.Id(local), jen.Id("ok")).Op(":=").Add(s.g.sum(x.Kind, a, b)),
			jen.If(jen.Op("!").Id("ok")).Block(overflow()),
		}, result
	}
	present := all(newFacts().presence(a), newFacts().presence(b))
	return []jen.Code{
		jen.Var().Id(local).Add(s.g.goType(t)),
		jen.If(present.code()).Block(
			jen.List(jen.Id("sum"), jen.Id("ok")).Op(":=").Add(s.g.sum(x.Kind, a, b)),
			jen.If(jen.Op("!").Id("ok")).Block(overflow()),
			jen.Id(local).Op("=").Add(s.g.fsm("Some").Call(jen.Id("sum"))),
		),
	}, result
}

// sum is the checked addition or subtraction of two present operands.
func (g *generator) sum(kind ir.ExprKind, a, b value) *jen.Statement {
	first := a.code()
	if a.isLit {
		first = g.typedLiteral(a.literal, a.typ)
	}
	return g.fsm(sumName(kind, a.typ.Base, b.typ.Base)).Call(first, b.code())
}

// sumName names the function of package fsm that adds or subtracts.
func sumName(kind ir.ExprKind, a, b ir.Base) string {
	switch kind {
	case ir.Add:
		if a == ir.Time {
			return "AddTime"
		}
		return "AddInt"
	case ir.Sub:
		switch {
		case b == ir.Time:
			return "Between"
		case a == ir.Time:
			return "SubTime"
		}
		return "SubInt"
	case ir.Read, ir.Null: // are no sums
	}
	panic(ir.NoForm("golang.sumName", kind))
}
