package golang

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// transitions emits the Transition constants, their static table and Steps.
func (g *generator) transitions(f *jen.File) {
	declare(f, "Transition is one concrete transition: a row of the spec from one state on one event.", "",
		jen.Type().Id("Transition").Uint16())
	f.Comment("// The transitions, in the order of the spec. Zero is none of them.")
	f.Const().DefsFunc(func(defs *jen.Group) {
		defs.Id("_").Id("Transition").Op("=").Iota()
		group := -1
		for _, row := range g.taken {
			doc := row.Doc
			if row.Group == group { // said at the first
				doc = ""
			}
			group = row.Group
			defs.Add(comment(fmt.Sprintf("%s is %s: %s.", g.transition[row], row.Text, arrow(row)), doc).Id(g.transition[row]))
		}
	})
	f.Line()
	g.table(f)
	g.tableReaders(f)
	g.steps(f)
}

// arrow renders a row as: from --event--> to.
func arrow(row *ir.Row) string {
	from := "none"
	if row.From != nil {
		from = row.From.Text
	}
	if row.To == nil {
		return fmt.Sprintf("%s stays in %s", row.Event.Text, from)
	}
	return fmt.Sprintf("%s leads from %s to %s", row.Event.Text, from, row.To.Text)
}

// table emits:
//
//	var table = [...]row{
//		TransitionCommitVerified: {name: "commit_verified", from: PendingCommit, ...},
//	}
func (g *generator) table(f *jen.File) {
	declare(f, "row is what the spec says about a transition.", "", jen.Type().Id("row").Struct(
		jen.Id("name").String(),
		jen.Id("from").Id("State").Comment("// zero: creation"),
		jen.Id("event").Id("Event"),
		jen.Id("to").Id("State"),
		jen.Id("internal").Bool().Comment("// stays in from: no exit, no entry, timer kept"),
		jen.Id("raises").Id("Event").Comment("// zero: nothing"),
		jen.Id("effects").Index().String(),
	))
	f.Comment("// table is never written.")
	f.Var().Id("table").Op("=").Index(jen.Op("...")).Id("row").ValuesFunc(func(t *jen.Group) {
		for _, row := range g.taken {
			t.Line().Id(g.transition[row]).Op(":").Values(tableRow(row)...)
		}
		t.Line()
	})
	f.Line()
}

func tableRow(row *ir.Row) []jen.Code {
	cells := []jen.Code{jen.Id("name").Op(":").Lit(row.Text)}
	if row.From != nil {
		cells = append(cells, jen.Id("from").Op(":").Id(naming.Exported(row.From.Text)))
	}
	cells = append(cells,
		jen.Id("event").Op(":").Id(naming.GoEvent.Of(row.Event.Text)),
		jen.Id("to").Op(":").Id(naming.Exported(row.Target().Text)))
	if row.To == nil {
		cells = append(cells, jen.Id("internal").Op(":").True())
	}
	if row.Raise != nil {
		cells = append(cells, jen.Id("raises").Op(":").Id(naming.GoEvent.Of(row.Raise.Event.Text)))
	}
	if len(row.Actions) > 0 {
		cells = append(cells, jen.Id("effects").Op(":").Index().String().ValuesFunc(func(list *jen.Group) {
			for _, a := range row.Actions {
				list.Lit(actionName(a))
			}
		}))
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
	method := func(name, doc string, result *jen.Statement, body ...jen.Code) {
		declare(f, doc, "", jen.Func().Params(jen.Id("t").Id("Transition")).Id(name).Params().Add(result).Block(body...))
	}
	cell := func(name string) *jen.Statement {
		return jen.Return(jen.Id("t").Dot("row").Call().Dot(name))
	}
	method("row", "row looks t up; an undeclared transition has an empty row.", jen.Op("*").Id("row"),
		jen.If(jen.Int().Call(jen.Id("t")).Op(">=").Len(jen.Id("table"))).Block(jen.Return(jen.Op("&").Id("table").Index(jen.Lit(0)))),
		jen.Return(jen.Op("&").Id("table").Index(jen.Id("t"))))
	method("String", "String returns the name of the row in the spec.", jen.String(), cell("name"))
	method("From", "From is the state that t leaves, zero for a creation.", jen.Id("State"), cell("from"))
	method("Event", "Event is the event that t answers.", jen.Id("Event"), cell("event"))
	method("To", "To is the state in which t ends.", jen.Id("State"), cell("to"))
	method("Internal", "Internal reports whether t stays in its state: no exit, no entry, timer kept.", jen.Bool(), cell("internal"))
	method("Raises", "Raises is the event that follows t in the same call, zero for none.", jen.Id("Event"), cell("raises"))
	method("Effects", "Effects names the effects and metrics of t in their order. The caller must not change the list.",
		jen.Index().String(), cell("effects"))
	declare(f, "Transitions lists every transition in the order of the spec.", "",
		jen.Func().Id("Transitions").Params().Index().Id("Transition").Block(
			jen.Id("all").Op(":=").Make(jen.Index().Id("Transition"), jen.Len(jen.Id("table")).Op("-").Lit(1)),
			jen.For(jen.Id("i").Op(":=").Range().Id("all")).Block(
				jen.Id("all").Index(jen.Id("i")).Op("=").Id("Transition").Call(jen.Id("i").Op("+").Lit(1))),
			jen.Return(jen.Id("all"))))
}

// steps emits the answer of a decision.
func (g *generator) steps(f *jen.File) {
	declare(f, "MaxSteps is the length of the longest chain of raised events.", "",
		jen.Const().Id("MaxSteps").Op("=").Lit(g.longestChain()))
	declare(f, "Steps are the transitions of one accepted call. None means that the record was there already.", "",
		jen.Type().Id("Steps").Struct(jen.Id("list").Index(jen.Id("MaxSteps")).Id("Transition"), jen.Id("n").Uint8()))
	recv := func() *jen.Statement { return jen.Params(jen.Id("s").Id("Steps")) }
	declare(f, "took is a single step.", "", jen.Func().Id("took").Params(jen.Id("t").Id("Transition")).Id("Steps").Block(
		jen.Return(jen.Id("Steps").Values(
			jen.Id("list").Op(":").Index(jen.Id("MaxSteps")).Id("Transition").Values(jen.Id("t")), jen.Id("n").Op(":").Lit(1)))))
	declare(f, "Len returns how many transitions were taken.", "",
		jen.Func().Add(recv()).Id("Len").Params().Int().Block(jen.Return(jen.Int().Call(jen.Id("s").Dot("n")))))
	declare(f, "At returns transition i, which counts from 0.", "",
		jen.Func().Add(recv()).Id("At").Params(jen.Id("i").Int()).Id("Transition").Block(jen.Return(jen.Id("s").Dot("list").Index(jen.Id("i")))))
	declare(f, "Last returns the last transition, zero if there was none.", "",
		jen.Func().Add(recv()).Id("Last").Params().Id("Transition").Block(
			jen.If(jen.Id("s").Dot("n").Op("==").Lit(0)).Block(jen.Return(jen.Lit(0))),
			jen.Return(jen.Id("s").Dot("list").Index(jen.Id("s").Dot("n").Op("-").Lit(1)))))
	if g.longestChain() > 1 {
		declare(f, "then appends the steps that were raised.", "",
			jen.Func().Add(recv()).Id("then").Params(jen.Id("more").Id("Steps")).Id("Steps").Block(
				jen.Id("s").Dot("n").Op("+=").Uint8().Call(jen.Copy(
					jen.Id("s").Dot("list").Index(jen.Id("s").Dot("n"), jen.Empty()),
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
