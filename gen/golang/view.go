package golang

import (
	"fmt"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// view emits the typed view: a type per state, and per event a function that
// accepts only the types of the states that the event may leave.
func (g *generator) view(f *jen.File) {
	declare(f, "View is a record whose state the compiler knows: one of the In types. It is a value: firing returns\nanother view and leaves this one as it was.", "",
		jen.Type().Id("View").Interface(
			jen.Comment("// Record returns the record in the view."),
			jen.Id("Record").Params().Id("Record"),
			jen.Id("view").Params(),
		))
	declare(f, "in is what the views of all states are made of.", "", jen.Type().Id("in").Struct(jen.Id("record").Id("Record")))
	declare(f, "Record returns the record in the view.", "",
		jen.Func().Params(jen.Id("v").Id("in")).Id("Record").Params().Id("Record").Block(jen.Return(jen.Id("v").Dot("record"))))
	f.Func().Params(jen.Id("in")).Id("view").Params().Block()
	f.Line()
	g.viewTypes(f)
	declare(f, "View returns r as the type of its state, nil if that is no declared state.", "",
		jen.Func().Add(receiver()).Id("View").Params().Id("View").Block(
			jen.If(jen.Op("!").Id("r").Dot("State").Dot("Valid").Call()).Block(jen.Return(jen.Nil())),
			jen.Return(jen.Id("views").Index(jen.Id("r").Dot("State")).Call(jen.Id("in").Values(jen.Op("*").Id("r")))),
		))
	declare(f, "fired returns the view after an event, nil if it was refused.", "",
		jen.Func().Add(receiver()).Id("fired").Params(jen.Id("_").Id("Steps"), jen.Err().Error()).Params(jen.Id("View"), jen.Error()).Block(
			jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Nil(), jen.Err())),
			jen.Return(jen.Id("r").Dot("View").Call(), jen.Nil()),
		))
	var events []*ir.Event
	for _, ev := range g.m.Events {
		if g.public(ev) && len(g.sources(ev)) > 0 {
			events = append(events, ev)
		}
	}
	if len(events) == 0 {
		return
	}
	f.Comment("// The states in which each event has a transition. With a record in any other state its function does\n// not compile.")
	f.Type().DefsFunc(func(defs *jen.Group) {
		for _, ev := range events {
			defs.Id(naming.GoFrom.Of(ev.Text)).Interface(g.typeSet(ev)...)
		}
	})
	f.Line()
	for _, ev := range events {
		g.typedFire(f, ev)
	}
}

// viewTypes emits the view of each state, and nowhere where a type set needs it.
func (g *generator) viewTypes(f *jen.File) {
	f.Comment("// The views: one type for each state.")
	f.Type().DefsFunc(func(defs *jen.Group) {
		for _, s := range g.m.States {
			defs.Id(naming.GoIn.Of(s.Text)).Struct(jen.Id("in"))
		}
	})
	f.Line()
	f.Comment("// views make the view of each state. They are never written.")
	f.Var().Id("views").Op("=").Index(jen.Op("...")).Func().Params(jen.Id("in")).Id("View").ValuesFunc(func(list *jen.Group) {
		for _, s := range g.m.States {
			list.Line().Id(naming.Exported(s.Text)).Op(":").Func().Params(jen.Id("v").Id("in")).Id("View").Values(
				jen.Return(jen.Id(naming.GoIn.Of(s.Text)).Values(jen.Id("v")))) // on one line
		}
		list.Line()
	})
	f.Line()
	if slices.ContainsFunc(g.m.Events, func(ev *ir.Event) bool { return g.public(ev) && len(g.sources(ev)) == 1 }) {
		declare(f, "nowhere is a view that no record has. It stands in the type sets of one state, because the\ncompiler names the members of a type set in its message only when there are several.", "",
			jen.Type().Id("nowhere").Struct(jen.Id("in")))
	}
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
//	// FireAbortUpload applies abort_upload.
//	func FireAbortUpload[S AbortUploadFrom](v S, e AbortUpload, now time.Time) (View, error) {
//		r := struct{ in }(v).record
//		return r.fired(r.AbortUpload(e, now))
//	}
func (g *generator) typedFire(f *jen.File, ev *ir.Event) {
	in := append([]jen.Code{jen.Id("v").Id("S")}, g.inputs(ev)...)
	args := g.arguments(ev, jen.Id("e"), jen.Id("by"), jen.Id("p"), jen.Id("now"))
	record := jen.Struct(jen.Id("in")).Call(jen.Id("v")).Dot("record")
	if g.marked(ev) {
		g.marks(f, ev)
		record = jen.Id("v").Dot("Record").Call()
	}
	declare(f, fmt.Sprintf("%s applies %s.", naming.GoFire.Of(ev.Text), ev.Text), "",
		jen.Func().Id(naming.GoFire.Of(ev.Text)).Types(jen.Id("S").Id(naming.GoFrom.Of(ev.Text))).Params(in...).Params(jen.Id("View"), jen.Error()).Block(
			jen.Id("r").Op(":=").Add(record),
			jen.Return(jen.Id("r").Dot("fired").Call(jen.Id("r").Dot(naming.Exported(ev.Text)).Call(args...))),
		))
}

// maxUnion is how many types the compiler accepts in a union.
const maxUnion = 100

// marked reports whether the states of ev are too many for a union: a method that only their
// views have stands for it.
func (g *generator) marked(ev *ir.Event) bool { return len(g.sources(ev)) > maxUnion }

func mark(ev *ir.Event) string { return "from" + naming.Exported(ev.Text) }

func (g *generator) marks(f *jen.File, ev *ir.Event) {
	for _, s := range g.sources(ev) {
		f.Func().Params(jen.Id(naming.GoIn.Of(s.Text))).Id(mark(ev)).Params().Block()
	}
	f.Line()
}

// typeSet is what makes a view of a state one that ev may leave.
func (g *generator) typeSet(ev *ir.Event) []jen.Code {
	if g.marked(ev) {
		return []jen.Code{jen.Id(mark(ev)).Params(), jen.Id("View")}
	}
	var union []jen.Code
	for _, s := range g.sources(ev) {
		union = append(union, jen.Id(naming.GoIn.Of(s.Text)))
	}
	if len(union) == 1 {
		union = append(union, jen.Id("nowhere"))
	}
	return []jen.Code{jen.Union(union...)}
}
