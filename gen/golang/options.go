package golang

import (
	"fmt"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// optionsMethods emits the rows of each state:
//
//	func (r *Record) options(by Actor) []fsm.Option {
//		switch r.State {
//		case 0:
//			return []fsm.Option{{Event: "CREATE", ...}}
//		case Draft:
//			return []fsm.Option{...}
//		}
//		return nil
//	}
//
// Where that is too long to be read, each state with several rows has a method of its own.
func (g *generator) optionsMethods(f *jen.File, options sharedCases, in []given) {
	var methods []jen.Code
	if !sizeOfSwitch(options.list).readable() {
		var short sharedCases
		for _, c := range options.list {
			if c.text.size.lines > 1 {
				name := "optionsOfCreation"
				if state := fmt.Sprintf("%#v", c.values[0]); state != "0" {
					name = "optionsIn" + state
				}
				own := read(in, c.text)
				methods = append(methods, g.optionsMethod(name, own, c.body...))
				call := jen.Id("r").Dot(name).Call(arguments(own)...)
				c = &sharedCase{values: c.values, body: []jen.Code{jen.Return(call)}}
			}
			short.list = append(short.list, c)
		}
		options = short
	}
	method := g.optionsMethod("options", in, jen.Switch(jen.Id("r").Dot("State")).Block(options.code()...), jen.Return(jen.Nil()))
	declare(f, "options are the transitions of the state of r, in the order in which they are tried.", "", method)
	for _, m := range methods {
		f.Add(m)
		f.Line()
	}
}

func (g *generator) optionsMethod(name string, in []given, body ...jen.Code) *jen.Statement {
	return jen.Func().Add(receiver()).Id(name).Params(parameters(in)...).Index().Add(g.fsm("Option")).Block(body...)
}

// optionsIn returns the rows of a state as options.
func (g *generator) optionsIn(s *ir.State) []jen.Code {
	var options []jen.Code
	for _, ev := range g.m.Events {
		for _, row := range g.rowsOf(s, ev) {
			options = append(options, g.option(row))
		}
	}
	list := jen.Index().Add(g.fsm("Option"))
	switch len(options) {
	case 0:
		return nil
	case 1:
		return []jen.Code{jen.Return(list.Values(options...))}
	}
	return []jen.Code{jen.Return(list.Values(lines(options)))}
}

// byStateOf are the cases of a switch over the state of r, creation first, without the
// states whose code is empty.
func (g *generator) byStateOf(code func(*ir.State) []jen.Code) sharedCases {
	var acting sharedCases
	for _, s := range append([]*ir.State{nil}, g.m.States...) {
		name := jen.Lit(0)
		if s != nil {
			name = jen.Id(naming.Exported(s.Text))
		}
		if body := code(s); len(body) > 0 {
			acting.add(name, body)
		}
	}
	return acting
}

// option is a row as an actor meets it.
func (g *generator) option(row *ir.Row) *jen.Statement {
	guards := g.guards(row)
	may := g.mayFire(row, guards, row.From != nil)
	cells := []jen.Code{
		jen.Id("Event").Op(":").Lit(row.Event.Text), jen.Id("Row").Op(":").Lit(row.Text), jen.Id("May").Op(":").Add(verdictOf(may)),
	}
	var known, needs []jen.Code
	for _, c := range row.When {
		if fields := fromPayload(c, row.Event); len(fields) > 0 {
			needs = append(needs, jen.Values(jen.Id("Row").Op(":").Lit(row.Text), jen.Id("Clause").Op(":").Lit(c.Text),
				jen.Id("Fields").Op(":").Index().String().Values(fields...)))
			continue
		}
		known = append(known, g.check(guards, c))
	}
	if len(known) > 0 {
		cells = append(cells, jen.Id("Known").Op(":").Index().Add(g.fsm("Clause")).Values(known...))
	}
	if len(needs) > 0 {
		cells = append(cells, jen.Id("Needs").Op(":").Index().Add(g.fsm("Need")).Values(needs...))
	}
	if hasPayload(row.Event) {
		cells = append(cells, jen.Id("Carries").Op(":").True())
	}
	if row.Reject != nil {
		cells = append(cells, jen.Id("Refuses").Op(":").True(), jen.Id("Failure").Op(":").Lit(row.Reject.Text), jen.Id("Status").Op(":").Lit(row.Reject.Status))
	}
	return jen.Values(cells...)
}

// verdictOf is t as a value.
func verdictOf(t test) *jen.Statement {
	if t.known {
		return jen.Lit(t.outcome)
	}
	return t.code()
}

// fromPayload names the fields of ev's payload that c reads.
func fromPayload(c *ir.Clause, ev *ir.Event) []jen.Code {
	var fields []jen.Code
	for _, o := range []*ir.Operand{&c.Left, &c.Right} {
		written := slices.ContainsFunc(ev.Writes, func(w ir.Write) bool { return w.Field == o.Field })
		if o.Field != nil && (o.Event != nil || written) {
			fields = append(fields, jen.Lit(o.Field.Text))
		}
	}
	return fields
}

// offerMethod emits:
//
//	func (r *Record) offer(x *fsm.Rejection, by Actor) {
//		switch r.State {
//		case Draft:
//			x.May(by.isAdvertiser(r), "SUBMIT_OFFER", "CANCEL")
//			...
//		}
//	}
func (g *generator) offerMethod(f *jen.File) {
	in := []jen.Code{jen.Id("x").Op("*").Add(g.fsm("Rejection"))}
	if g.hasActors() {
		in = append(in, jen.Id("by").Id("Actor"))
	}
	offers := g.byStateOf(g.offersIn)
	declare(f, "offer tells x the events that can be fired in the state of r, as far as guards allow.", "",
		jen.Func().Add(receiver()).Id("offer").Params(in...).Block(jen.Switch(jen.Id("r").Dot("State")).Block(offers.code()...)))
}

// offersIn offers the events of a state in the order of the spec. Events in sequence that the same
// actors may fire share a call.
func (g *generator) offersIn(s *ir.State) []jen.Code {
	var code, call []jen.Code
	who := ""
	for _, ev := range g.m.Events {
		if !g.leaves(s, ev) {
			continue
		}
		may := g.whoMay(s, ev)
		if text := source(may); call == nil || text != who {
			if call != nil {
				code = append(code, jen.Id("x").Dot("May").Call(call...))
			}
			who, call = text, []jen.Code{may}
		}
		call = append(call, jen.Lit(ev.Text))
	}
	if call != nil {
		code = append(code, jen.Id("x").Dot("May").Call(call...))
	}
	return code
}

// whoMay tests for the rows of (s, ev) that accept whether the actor may fire one of them.
func (g *generator) whoMay(s *ir.State, ev *ir.Event) *jen.Statement {
	var may []test
	for _, row := range g.rowsOf(s, ev) {
		switch {
		case row.Reject != nil:
		case len(row.By) == 0:
			return jen.True()
		default:
			may = append(may, g.actorTests(row, g.guards(row), s != nil)...)
		}
	}
	may = distinct(may)
	if len(may) == 1 {
		return verdictOf(may[0])
	}
	var each []jen.Code
	for _, t := range may {
		each = append(each, verdictOf(t))
	}
	return g.fsm("AnyOf").Call(each...)
}

// offered are the arguments of offer.
func (g *generator) offered(x jen.Code) []jen.Code {
	if g.hasActors() {
		return []jen.Code{x, jen.Id("by")}
	}
	return []jen.Code{x}
}
