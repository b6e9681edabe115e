package golang

import (
	"fmt"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// item is one named value of an effect's payload.
type item struct {
	name  string
	value *ir.Expr
	typ   ir.Type // as the payload struct has it
}

// items are the payload of an effect: its `with`, or its table row.
func (g *generator) items(e *ir.Effect) []item {
	var out []item
	for i := range e.With {
		w := &e.With[i]
		out = append(out, item{w.Name, &w.Value, valueType(&w.Value)})
	}
	for i := range e.Row {
		c := &e.Row[i]
		out = append(out, item{c.Column.Text, &c.Value, c.Column.Type})
	}
	return out
}

// valueType is the type of an expression; what is absent on creation or for
// the system is optional.
func valueType(x *ir.Expr) ir.Type {
	t := x.Type
	if x.A.Special.MayBeAbsent() || x.Kind == ir.Null {
		t.Optional = true
	}
	return t
}

// effects emits the payload structs, what the table says about each effect,
// and the effects of a step as data.
func (g *generator) effects(f *jen.File) {
	for _, e := range g.m.Effects {
		if len(g.items(e)) > 0 || e.Kind == ir.Call {
			g.effectStruct(f, e)
		}
	}
	g.effectsOf(f)
	for _, e := range g.m.Effects {
		if g.used[ir.Action{Effect: e}] && len(g.items(e)) > 0 {
			g.effectBuilder(f, e)
		}
	}
	for _, x := range g.m.Metrics {
		if g.used[ir.Action{Metric: x}] {
			g.metricBuilder(f, x)
		}
	}
	if g.needsFrom() {
		g.nameOf(f)
	}
	g.effectInfos(f)
	g.failures(f)
}

// needsFrom reports whether some listed effect or metric reads $from.
func (g *generator) needsFrom() bool {
	for a := range g.used {
		if g.needs(a).from {
			return true
		}
	}
	return false
}

func (g *generator) effectStruct(f *jen.File, e *ir.Effect) {
	name := naming.GoEffect.Of(e.Text)
	declare(f, fmt.Sprintf("%s is the payload of the effect %s.", name, e.Text), e.Doc,
		jen.Type().Id(name).StructFunc(func(s *jen.Group) {
			for _, it := range g.items(e) {
				g.structField(s, it.name, "", it.typ)
			}
		}))
}

// needs tells what an effect's payload reads.
type needs struct {
	record     bool
	call, from bool
	events     []*ir.Field // fields of the event
}

func (g *generator) needs(a ir.Action) needs {
	var n needs
	read := func(o *ir.Operand) {
		switch {
		case o.IsLit:
		case o.Param != nil, o.Special == ir.Now, o.Special == ir.ActorID:
			n.call = true
		case o.Special == ir.FromName:
			n.from = true
		case o.Special == ir.StateName, o.Field != nil && o.Event == nil:
			n.record = true
		case o.Event != nil && !slices.ContainsFunc(n.events, func(f *ir.Field) bool { return f.Text == o.Field.Text }):
			n.events = append(n.events, o.Field)
		}
	}
	for _, x := range actionExprs(g, a) {
		if x.Kind != ir.Null {
			read(&x.A)
		}
		if x.Kind.Sum() {
			read(&x.B)
		}
	}
	return n
}

func actionExprs(g *generator, a ir.Action) []*ir.Expr {
	var out []*ir.Expr
	if a.Metric != nil {
		for i := range a.Metric.Labels {
			out = append(out, &a.Metric.Labels[i].Value)
		}
		if a.Metric.Value != nil {
			out = append(out, a.Metric.Value)
		}
		return out
	}
	for _, it := range g.items(a.Effect) {
		out = append(out, it.value)
	}
	return out
}

func builderName(a ir.Action) string {
	if a.Metric != nil {
		return "measure" + naming.Exported(a.Metric.Text)
	}
	return "ask" + naming.Exported(a.Effect.Text)
}

// element is an effect or metric of a step in a list: what its builder makes, or the name alone.
func (g *generator) element(a ir.Action) *jen.Statement {
	if a.Effect != nil && len(g.items(a.Effect)) == 0 {
		return jen.Values(g.effectName(a.Effect)...)
	}
	return g.build(a)
}

// build is an effect or metric of a step by itself.
func (g *generator) build(a ir.Action) *jen.Statement {
	if a.Effect != nil && len(g.items(a.Effect)) == 0 {
		return g.fsm("Effect").Values(g.effectName(a.Effect)...)
	}
	var args []jen.Code
	n := g.needs(a)
	if n.record {
		args = append(args, jen.Id("r"))
	}
	if n.from {
		args = append(args, jen.Id("t").Dot("From").Call())
	}
	for _, f := range n.events {
		args = append(args, jen.Id("e").Dot(naming.Exported(f.Text)))
	}
	if n.call {
		args = append(args, jen.Id("c"))
	}
	return jen.Id(builderName(a)).Call(args...)
}

func (g *generator) builderInputs(n needs) []jen.Code {
	var in []jen.Code
	if n.record {
		in = append(in, jen.Id("r").Op("*").Id("Record"))
	}
	if n.from {
		in = append(in, jen.Id("from").Id("State"))
	}
	for _, f := range n.events {
		in = append(in, jen.Id(naming.Unexported("event_"+f.Text)).Add(g.goType(f.Type)))
	}
	if n.call {
		in = append(in, jen.Id("c").Id("Call"))
	}
	return in
}

// effectScope is the scope of a builder: the new record and its parameters.
func (g *generator) effectScope(n *needs) *scope {
	s := &scope{g: g, record: "r", by: ofCall("By"), params: ofCall("Params"), now: g.instant(ofCall("Now")),
		stateVar:    func() *jen.Statement { return jen.Id("r").Dot("State") },
		fromVar:     id("from"),
		eventFields: map[string]func() *jen.Statement{}}
	if n != nil {
		for _, f := range n.events {
			s.eventFields[f.Text] = id(naming.Unexported("event_" + f.Text))
		}
	}
	return s
}

// effectBuilder emits:
//
//	func askInsertBlobRow(r *Record) fsm.Effect {
//		return fsm.Effect{Name: "insert_blob_row", Kind: fsm.EffectCall, Payload: InsertBlobRowEffect{BlobDigest: r.BlobDigest}}
//	}
func (g *generator) effectBuilder(f *jen.File, e *ir.Effect) {
	a := ir.Action{Effect: e}
	n := g.needs(a)
	s := g.effectScope(&n)
	var code, values []jen.Code
	for _, it := range g.items(e) {
		sum, v := s.evaluate(it.value, it.name, func() *jen.Statement {
			return jen.Return(g.fsm("Effect").Values()) // the step itself was rejected
		})
		code = append(code, sum...)
		if !v.absent {
			values = append(values, jen.Id(naming.Exported(it.name)).Op(":").Add(g.stored(v, it.typ)))
		}
	}
	payload := jen.Id(naming.GoEffect.Of(e.Text)).Values(values...)
	if len(values) > 2 {
		payload = jen.Id(naming.GoEffect.Of(e.Text)).Values(lines(values))
	}
	fields := append(g.effectName(e), jen.Id("Payload").Op(":").Add(payload))
	f.Func().Id(builderName(a)).Params(g.builderInputs(n)...).Add(g.fsm("Effect")).Block(
		append(code, jen.Return(g.fsm("Effect").Values(fields...)))...)
	f.Line()
}

func (g *generator) effectName(e *ir.Effect) []jen.Code {
	return []jen.Code{jen.Id("Name").Op(":").Lit(e.Text), jen.Id("Kind").Op(":").Add(g.fsm(kindName(e)))}
}

func kindName(e *ir.Effect) string {
	switch e.Kind {
	case ir.Log:
		return "EffectLog"
	case ir.Upsert:
		return "EffectUpsert"
	case ir.Update:
		return "EffectUpdate"
	case ir.Delete:
		return "EffectDelete"
	case ir.Start:
		return "EffectStart"
	case ir.Call:
		return "EffectCall"
	}
	panic(ir.NoForm("golang.kindName", e.Kind))
}
