package golang

import (
	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// transitions emits the Transition constants, their static table and Steps.
func (g *generator) transitions(f *jen.File) {
	declare(f, "Transition is one concrete transition: a row of the spec from one state on one event.", "",
		jen.Type().Id("Transition").Uint16())
	f.Comment("// The transitions, in the order of the spec; the table tells what each is. Zero is none of them.")
	f.Const().DefsFunc(func(defs *jen.Group) {
		defs.Id("_").Id("Transition").Op("=").Iota()
		for _, row := range g.taken {
			defs.Id(g.transition[row])
		}
	})
	f.Line()
	g.table(f)
	g.tableReaders(f)
	g.steps(f)
}

// table emits:
//
//	var table = fsm.Table[Transition, State, Event]{
//		TransitionCommitVerified: {Name: "commit_verified", From: PendingCommit, ...},
//	}
func (g *generator) table(f *jen.File) {
	f.Comment("// table tells what each transition is. It is never written.")
	f.Var().Id("table").Op("=").Add(g.fsm("Table")).Types(jen.Id("Transition"), jen.Id("State"), jen.Id("Event")).ValuesFunc(func(t *jen.Group) {
		for _, row := range g.taken {
			t.Line().Id(g.transition[row]).Op(":").Values(tableRow(row)...)
		}
		t.Line()
	})
	f.Line()
}

func tableRow(row *ir.Row) []jen.Code {
	cell := func(name string, value *jen.Statement) jen.Code { return jen.Id(name).Op(":").Add(value) }
	cells := []jen.Code{cell("Name", jen.Lit(row.Text))}
	if row.From != nil {
		cells = append(cells, cell("From", jen.Id(naming.Exported(row.From.Text))))
	}
	cells = append(cells,
		cell("Event", jen.Id(naming.GoEvent.Of(row.Event.Text))),
		cell("To", jen.Id(naming.Exported(row.Target().Text))))
	if row.To == nil {
		cells = append(cells, cell("Internal", jen.True()))
	}
	if row.Raise != nil {
		cells = append(cells, cell("Raises", jen.Id(naming.GoEvent.Of(row.Raise.Event.Text))))
	}
	if len(row.Actions) > 0 {
		cells = append(cells, cell("Effects", jen.Index().String().ValuesFunc(func(list *jen.Group) {
			for _, a := range row.Actions {
				list.Lit(actionName(a))
			}
		})))
	}
	return cells
}

func actionName(a ir.Action) string {
	if a.Metric != nil {
		return a.Metric.Text
	}
	return a.Effect.Text
}

func (g *generator) tableReaders(f *jen.File) {
	on := func() *jen.Statement { return jen.Func().Params(jen.Id("t").Id("Transition")) }
	f.Comment("// What the table says about t. The caller must not change the list of Effects.")
	for _, cell := range []struct {
		method, field string
		result        *jen.Statement
	}{
		{"String", "Name", jen.String()}, {"From", "From", jen.Id("State")}, {"Event", "Event", jen.Id("Event")},
		{"To", "To", jen.Id("State")}, {"Internal", "Internal", jen.Bool()}, {"Raises", "Raises", jen.Id("Event")},
		{"Effects", "Effects", jen.Index().String()},
	} {
		f.Add(on().Id(cell.method).Params().Add(cell.result).Block(
			jen.Return(jen.Id("table").Dot("Row").Call(jen.Id("t")).Dot(cell.field))))
	}
	f.Line()
	declare(f, "Transitions lists every transition in the order of the spec.", "",
		jen.Func().Id("Transitions").Params().Index().Id("Transition").Block(
			jen.Return(jen.Id("table").Dot("All").Call())))
}

// steps emits the answer of a decision.
func (g *generator) steps(f *jen.File) {
	declare(f, "MaxSteps is the length of the longest chain of raised events.", "",
		jen.Const().Id("MaxSteps").Op("=").Lit(g.longestChain()))
	declare(f, "Steps are the transitions of one accepted call. None means that the record was there already.", "",
		jen.Type().Id("Steps").Struct(jen.Id("list").Index(jen.Id("MaxSteps")).Id("Transition"), jen.Id("n").Uint8()))
	on := func() *jen.Statement { return jen.Func().Params(jen.Id("s").Id("Steps")) }
	list, n := func() *jen.Statement { return jen.Id("s").Dot("list") }, func() *jen.Statement { return jen.Id("s").Dot("n") }
	f.Comment("// Len counts the transitions, At returns transition i, which counts from 0, Last the last one, zero if there was none.")
	f.Add(on().Id("Len").Params().Int().Block(jen.Return(jen.Int().Call(n()))))
	f.Add(on().Id("At").Params(jen.Id("i").Int()).Id("Transition").Block(jen.Return(list().Index(jen.Id("i")))))
	f.Add(on().Id("Last").Params().Id("Transition").Block(jen.Return(g.fsm("Last").Call(list().Index(jen.Empty(), n())))))
	f.Line()
	declare(f, "took is a single step.", "", jen.Func().Id("took").Params(jen.Id("t").Id("Transition")).Id("Steps").Block(
		jen.Return(jen.Id("Steps").Values(
			jen.Id("list").Op(":").Index(jen.Id("MaxSteps")).Id("Transition").Values(jen.Id("t")), jen.Id("n").Op(":").Lit(1)))))
	if g.longestChain() > 1 {
		declare(f, "then appends the steps that were raised.", "",
			on().Id("then").Params(jen.Id("more").Id("Steps")).Id("Steps").Block(
				n().Op("+=").Uint8().Call(jen.Copy(
					list().Index(n(), jen.Empty()),
					jen.Id("more").Dot("list").Index(jen.Empty(), jen.Id("more").Dot("n")))),
				jen.Return(jen.Id("s"))))
	}
}

// longestChain counts the steps of the longest chain of raised events. The
// checker has refused circular ones; the depth bounds this walk all the same.
func (g *generator) longestChain() int {
	var length func(ev *ir.Event, depth int) int
	length = func(ev *ir.Event, depth int) int {
		longest := 1
		for _, row := range g.eventRows[ev] {
			if row.Raise != nil && depth < len(g.m.Events) {
				longest = max(longest, 1+length(row.Raise.Event, depth+1))
			}
		}
		return longest
	}
	longest := 1
	for _, ev := range g.m.Events {
		longest = max(longest, length(ev, 0))
	}
	return longest
}
