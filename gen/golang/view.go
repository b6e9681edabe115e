package golang

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// view emits the typed view: a type per state, and per event a function that
// accepts only the types of the states that the event may leave.
func (g *generator) view(f *jen.File) {
	declare(f, "View is a record whose state the compiler knows: one of the In types. It wraps the record, it does\nnot copy it.", "",
		jen.Type().Id("View").Interface(
			jen.Comment("// Record returns the record behind the view."),
			jen.Id("Record").Params().Op("*").Id("Record"),
			jen.Id("view").Params(),
		))
	for _, s := range g.m.States {
		in := naming.GoIn.Of(s.Text)
		g.viewType(f, in, fmt.Sprintf("%s is a record in %s.", in, s.Text))
	}
	declare(f, "View returns r as the type of its state, nil if that is no declared state.", "",
		jen.Func().Add(receiver()).Id("View").Params().Id("View").Block(
			jen.Switch(jen.Id("r").Dot("State")).BlockFunc(func(cases *jen.Group) {
				for _, s := range g.m.States {
					cases.Case(jen.Id(naming.Exported(s.Text))).Block(jen.Return(jen.Id(naming.GoIn.Of(s.Text)).Values(jen.Id("r"))))
				}
			}),
			jen.Return(jen.Nil()),
		))
	var alone bool
	for _, ev := range g.m.Events {
		if sources := g.sources(ev); g.public(ev) && len(sources) > 0 {
			g.typedFire(f, ev, sources)
			alone = alone || len(sources) == 1
		}
	}
	if alone {
		g.viewType(f, "nowhere", "nowhere is a view that no record has. It stands in the type sets of one state, because the\ncompiler names the members of a type set in its message only when there are several.")
	}
}

// viewType emits the view of one state.
func (g *generator) viewType(f *jen.File, in, sentence string) {
	declare(f, sentence, "", jen.Type().Id(in).Struct(jen.Id("record").Op("*").Id("Record")))
	declare(f, "Record returns the record behind the view.", "",
		jen.Func().Params(jen.Id("in").Id(in)).Id("Record").Params().Op("*").Id("Record").Block(jen.Return(jen.Id("in").Dot("record"))))
	f.Func().Params(jen.Id(in)).Id("view").Params().Block()
	f.Line()
}

// sources lists the states that have a row of ev that is not a rejection.
func (g *generator) sources(ev *ir.Event) []*ir.State {
	var out []*ir.State
	for _, s := range g.m.States {
		if g.leaves(s, ev) {
			out = append(out, s)
		}
	}
	return out
}

// typedFire emits:
//
//	// AbortUploadFrom are the states in which abort_upload has a transition.
//	type AbortUploadFrom interface {
//		InInitiated | InPartsUploading
//		View
//	}
//
//	func FireAbortUpload[S AbortUploadFrom](in S, e AbortUpload, now time.Time) (View, error) {
//		r := in.Record()
//		if _, err := r.AbortUpload(e, now); err != nil {
//			return nil, err
//		}
//		return r.View(), nil
//	}
func (g *generator) typedFire(f *jen.File, ev *ir.Event, sources []*ir.State) {
	from, fire := naming.GoFrom.Of(ev.Text), naming.GoFire.Of(ev.Text)
	declare(f, fmt.Sprintf("%s are the states in which %s has a transition.", from, ev.Text), "",
		jen.Type().Id(from).Interface(g.typeSet(f, ev, sources), jen.Id("View")))
	in := append([]jen.Code{jen.Id("in").Id("S")}, g.inputs(ev)...)
	args := g.arguments(ev, jen.Id("e"), jen.Id("by"), jen.Id("p"), jen.Id("now"))
	declare(f, fmt.Sprintf("%s applies %s. For a record in any other state it does not compile.", fire, ev.Text), "",
		jen.Func().Id(fire).Types(jen.Id("S").Id(from)).Params(in...).Params(jen.Id("View"), jen.Error()).Block(
			jen.Id("r").Op(":=").Id("in").Dot("Record").Call(),
			jen.If(jen.List(jen.Id("_"), jen.Err()).Op(":=").Id("r").Dot(naming.Exported(ev.Text)).Call(args...), jen.Err().Op("!=").Nil()).
				Block(jen.Return(jen.Nil(), jen.Err())),
			jen.Return(jen.Id("r").Dot("View").Call(), jen.Nil()),
		))
}

// maxUnion is how many types the compiler accepts in a union.
const maxUnion = 100

// typeSet is what makes a view of one of the sources. Where they are too many
// for a union it is a method that only their views have.
func (g *generator) typeSet(f *jen.File, ev *ir.Event, sources []*ir.State) jen.Code {
	if len(sources) > maxUnion {
		mark := "from" + naming.Exported(ev.Text)
		for _, s := range sources {
			f.Func().Params(jen.Id(naming.GoIn.Of(s.Text))).Id(mark).Params().Block()
			f.Line()
		}
		return jen.Id(mark).Params()
	}
	var union []jen.Code
	for _, s := range sources {
		union = append(union, jen.Id(naming.GoIn.Of(s.Text)))
	}
	if len(union) == 1 {
		union = append(union, jen.Id("nowhere"))
	}
	return jen.Union(union...)
}
