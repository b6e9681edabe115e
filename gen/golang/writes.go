package golang

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// tableWrite emits effects on tables as data:
//
//	func (m core) TableWrite(e fsm.Effect) (fsm.TableWrite, error) {
//		switch row := e.Payload.(type) {
//		case UnpackedRowEffect:
//			return fsm.TableWrite{
//				Table: "unpacked_images",
//				Op:    fsm.EffectUpsert,
//				Key:   []fsm.Column{{Name: "image_id", Value: fsm.Plain(row.ImageID)}},
//				Columns: []fsm.Column{ ... },
//			}, nil
//		}
//		return fsm.TableWrite{}, fsm.UnknownEffect(MachineName, e.Name)
//	}
func (g *generator) tableWrite(f *jen.File) {
	var cases []jen.Code
	for _, e := range g.m.Effects {
		if e.Table == nil || len(g.items(e)) == 0 {
			continue
		}
		var key, columns []jen.Code
		for _, c := range e.Row {
			column := jen.Values(
				jen.Id("Name").Op(":").Lit(naming.Column(c.Column.Text)),
				jen.Id("Value").Op(":").Add(g.fsm("Plain")).Call(jen.Id("row").Dot(naming.Exported(c.Column.Text))))
			if slices.Contains(e.Table.Key, c.Column) {
				key = append(key, column)
			} else {
				columns = append(columns, column)
			}
		}
		cells := []jen.Code{
			jen.Id("Table").Op(":").Lit(naming.Column(e.Table.Text)),
			jen.Id("Op").Op(":").Add(g.fsm(kindName(e))),
			jen.Id("Key").Op(":").Index().Add(g.fsm("Column")).Values(key...),
		}
		if len(columns) > 0 {
			cells = append(cells, jen.Id("Columns").Op(":").Index().Add(g.fsm("Column")).Values(lines(columns)))
		}
		cases = append(cases, jen.Case(jen.Id(naming.GoEffect.Of(e.Text))).Block(jen.Return(g.fsm("TableWrite").Values(lines(cells)), jen.Nil())))
	}
	if len(cases) == 0 {
		return
	}
	coreMethod(f, "TableWrite", "returns an effect on a table as data.", []jen.Code{jen.Id("e").Add(g.fsm("Effect"))},
		jen.Params(g.fsm("TableWrite"), jen.Error()),
		jen.Switch(jen.Id("row").Op(":=").Id("e").Dot("Payload").Assert(jen.Type())).Block(cases...), g.unknownEffect("TableWrite"))
}

// unknownEffect returns a zero result and the error for an effect that is not
// of the kind.
func (g *generator) unknownEffect(result string) *jen.Statement {
	return jen.Return(g.fsm(result).Values(), g.fsm("UnknownEffect").Call(jen.Id("MachineName"), jen.Id("e").Dot("Name")))
}

// startOf emits what starts other machines:
//
//	func (m core) StartOf(e fsm.Effect) (fsm.Start, error) {
//		switch e.Name {
//		case "start_activate":
//			return fsm.StartOf("activate", "START", e.Payload)
//		}
//		return fsm.Start{}, fsm.UnknownEffect(MachineName, e.Name)
//	}
func (g *generator) startOf(f *jen.File) {
	var cases []jen.Code
	for _, e := range g.m.Effects {
		if e.Kind != ir.Start || e.Machine == nil {
			continue
		}
		if creation := ir.Creation(e.Machine); creation != nil {
			cases = append(cases, jen.Case(jen.Lit(e.Text)).Block(jen.Return(
				g.fsm("StartOf").Call(jen.Lit(e.Machine.Text), jen.Lit(creation.Event.Text), jen.Id("e").Dot("Payload")))))
		}
	}
	if len(cases) == 0 {
		return
	}
	coreMethod(f, "StartOf", "returns the creation of another machine's record that an effect asks for.", []jen.Code{jen.Id("e").Add(g.fsm("Effect"))},
		jen.Params(g.fsm("Start"), jen.Error()),
		jen.Switch(jen.Id("e").Dot("Name")).Block(cases...), g.unknownEffect("Start"))
}

// cleanups emits the effect that runs before a repeat, with its payload from the
// record as it is by then:
//
//	func (m core) CleanupOf(effect string, r fsm.Record, now time.Time) (fsm.Effect, bool) {
//		record, ok := r.(*Record)
//		if !ok || record == nil {
//			return fsm.Effect{}, false
//		}
//		switch effect {
//		case "create_device":
//			return askDestroyDevice(record), true
//		}
//		return fsm.Effect{}, false
//	}
func (g *generator) cleanups(f *jen.File) {
	none := func() *jen.Statement { return jen.Return(g.fsm("Effect").Values(), jen.False()) }
	var cases []jen.Code
	var reads, calls bool
	for _, e := range g.calls(func(e *ir.Effect) bool { return e.Cleanup != nil }) {
		n := g.needs(ir.Action{Effect: e.Cleanup})
		reads, calls = reads || n.record, calls || n.call
		cases = append(cases, jen.Case(jen.Lit(e.Text)).Block(jen.Return(g.buildCleanup(e.Cleanup, n), jen.True())))
	}
	if len(cases) == 0 {
		return
	}
	var body []jen.Code
	if reads {
		body = append(body, jen.List(jen.Id("r"), jen.Id("ok")).Op(":=").Id("record").Assert(jen.Op("*").Id("Record")),
			jen.If(jen.Op("!").Id("ok").Op("||").Id("r").Op("==").Nil()).Block(none()))
	}
	if calls {
		body = append(body, jen.Id("c").Op(":=").Add(g.callLiteral(jen.Id("BySystem").Call(), jen.Id("now"))))
	}
	body = append(body, jen.Switch(jen.Id("effect")).Block(cases...))
	coreMethod(f, "CleanupOf", "returns the effect that runs before effect is repeated and before it fails, with its payload from the\nrecord as it is; false for none.",
		[]jen.Code{jen.Id("effect").String(), jen.Id("record").Add(g.fsm("Record")), jen.Id("now").Qual("time", "Time")},
		jen.Params(g.fsm("Effect"), jen.Bool()), append(body, none())...)
}

// buildCleanup calls the builder of an effect outside of a step: there is no
// state that was left, and no event to read.
func (g *generator) buildCleanup(e *ir.Effect, n needs) *jen.Statement {
	if len(g.items(e)) == 0 {
		return g.build(ir.Action{Effect: e})
	}
	var args []jen.Code
	if n.record {
		args = append(args, jen.Id("r"))
	}
	if n.from {
		args = append(args, jen.Lit(0))
	}
	for _, f := range n.events {
		args = append(args, jen.Op("*").New(g.goType(f.Type)))
	}
	if n.call {
		args = append(args, jen.Id("c"))
	}
	return jen.Id(builderName(ir.Action{Effect: e})).Call(args...)
}
