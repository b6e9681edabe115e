package golang

import (
	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// metricBuilder emits:
//
//	func measureWalAttemptsHistogram(r *Record) fsm.Effect {
//		return fsm.Effect{Name: "wal_attempts_histogram", Kind: fsm.EffectMetric, Payload: fsm.Measurement{
//			Value:  float64(r.Attempts),
//			Labels: []fsm.Label{{Name: "dataset", Value: r.Dataset}},
//		}}
//	}
func (g *generator) metricBuilder(f *jen.File, x *ir.Metric) {
	a := ir.Action{Metric: x}
	n := g.needs(a)
	s := g.effectScope(&n)
	overflow := func() *jen.Statement { return jen.Return(g.fsm("Effect").Values()) }
	var code []jen.Code
	amount := jen.Lit(1)
	if x.Value != nil {
		sum, v := s.evaluate(x.Value, "value", overflow)
		code = append(code, sum...)
		amount = g.number(v)
	}
	fields := []jen.Code{jen.Id("Value").Op(":").Add(amount)}
	var labels []jen.Code
	for i := range x.Labels {
		l := &x.Labels[i]
		sum, v := s.evaluate(&l.Value, "label_"+l.Name, overflow)
		code = append(code, sum...)
		labels = append(labels, jen.Values(jen.Id("Name").Op(":").Lit(l.Name), jen.Id("Value").Op(":").Add(g.label(v))))
	}
	if len(labels) > 0 {
		fields = append(fields, jen.Id("Labels").Op(":").Index().Add(g.fsm("Label")).Values(filled(labels)))
	}
	f.Func().Id(builderName(a)).Params(g.builderInputs(n)...).Add(g.fsm("Effect")).Block(append(code,
		jen.Return(g.fsm("Effect").Values(
			jen.Id("Name").Op(":").Lit(x.Text),
			jen.Id("Kind").Op(":").Add(g.fsm("EffectMetric")),
			jen.Id("Payload").Op(":").Add(g.fsm("Measurement")).Values(fields...),
		)))...)
	f.Line()
}

// number is a whole number as a measurement; an absent one is 0.
func (g *generator) number(v value) *jen.Statement {
	if v.absent {
		return jen.Lit(0)
	}
	return jen.Float64().Call(v.code())
}

// label is a value as text, "" where it is absent.
func (g *generator) label(v value) *jen.Statement {
	switch {
	case v.absent:
		return jen.Lit("")
	case v.present == nil, v.typ.Base.AbsentIsEmpty():
		return g.text(v)
	}
	return g.fsm("Text").Call(v.whole())
}

// nameOf emits what turns the state before a step into a payload.
func (g *generator) nameOf(f *jen.File) {
	declare(f, "nameOf is the name of the state before a step, absent on creation.", "",
		jen.Func().Id("nameOf").Params(jen.Id("from").Id("State")).Add(g.fsm("Optional")).Types(jen.String()).Block(
			jen.If(jen.Id("from").Op("==").Lit(0)).Block(jen.Return(g.fsm("None").Types(jen.String()).Call())),
			jen.Return(g.fsm("Some").Call(jen.Id("from").Dot("String").Call())),
		))
}
