package golang

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// legality emits what an actor may do with a record now, and why not the rest. The
// rows of a state are data there; what follows from them is decided by fsm.Verdicts.
func (g *generator) legality(f *jen.File) {
	g.legalMethod(f)
	g.optionsMethod(f)
	g.offerMethod(f)
	g.engineLegal(f)
}

// legalMethod emits:
//
//	func (r *Record) Legal(c Call) []fsm.Verdict {
//		options := r.options(c.By, c.Params, fsm.Instant(c.Now))
//		return fsm.Verdicts(r.reject(fsm.ErrInvalidTransition, 0, c.By), eventWords.List, options, func(event string) error {
//			payload, err := DecodeEvent(event, []byte("{}"))
//			if err != nil {
//				return err
//			}
//			if r.State == 0 {
//				_, _, err = FireNew(r.DealID, payload, c)
//				return err
//			}
//			next := *r
//			_, err = Fire(&next, payload, c)
//			return err
//		})
//	}
func (g *generator) legalMethod(f *jen.File) {
	args, reject := []jen.Code{}, []jen.Code{g.fsm("ErrInvalidTransition"), jen.Lit(0)}
	if g.hasActors() {
		args, reject = append(args, jen.Id("c").Dot("By")), append(reject, jen.Id("c").Dot("By"))
	}
	if g.hasParams() {
		args = append(args, jen.Id("c").Dot("Params"))
	}
	args = append(args, g.fsm("Instant").Call(jen.Id("c").Dot("Now")))
	try := jen.Func().Params(jen.Id("event").String()).Error().Block(
		jen.List(jen.Id("payload"), jen.Err()).Op(":=").Id("DecodeEvent").Call(jen.Id("event"), jen.Index().Byte().Call(jen.Lit("{}"))),
		jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Err())),
		jen.If(jen.Id("r").Dot("State").Op("==").Lit(0)).Block(
			jen.List(jen.Id("_"), jen.Id("_"), jen.Err()).Op("=").Id("FireNew").Call(jen.Id("r").Dot(naming.Exported(g.m.ID.Text)), jen.Id("payload"), jen.Id("c")),
			jen.Return(jen.Err())),
		jen.Id("next").Op(":=").Op("*").Id("r"),
		jen.List(jen.Id("_"), jen.Err()).Op("=").Id("Fire").Call(jen.Op("&").Id("next"), jen.Id("payload"), jen.Id("c")),
		jen.Return(jen.Err()))
	declare(f, "Legal judges every event for the caller of c, in the order of the spec: what it may fire at r at that\n"+
		"time, and why not the rest. A record without a state is one before its creation.", "",
		jen.Func().Add(receiver()).Id("Legal").Params(jen.Id("c").Id("Call")).Index().Add(g.fsm("Verdict")).Block(
			jen.Id("options").Op(":=").Id("r").Dot("options").Call(args...),
			jen.Return(g.fsm("Verdicts").Call(jen.Id("r").Dot("reject").Call(reject...), jen.Id("eventWords").Dot("List"), jen.Id("options"), try))))
}

// optionsMethod emits:
//
//	func (r *Record) options(by Actor, p Params, now time.Time) []fsm.Option {
//		switch r.State {
//		case 0:
//			return []fsm.Option{{Event: "CREATE", ...}}
//		case Draft:
//			return []fsm.Option{...}
//		}
//		return nil
//	}
func (g *generator) optionsMethod(f *jen.File) {
	var in []jen.Code
	if g.hasActors() {
		in = append(in, jen.Id("by").Id("Actor"))
	}
	if g.hasParams() {
		in = append(in, jen.Id("p").Id("Params"))
	}
	in = append(in, jen.Id("now").Qual("time", "Time"))
	declare(f, "options are the transitions of the state of r, in the order in which they are tried.", "",
		jen.Func().Add(receiver()).Id("options").Params(in...).Index().Add(g.fsm("Option")).Block(
			g.optionsByState(func(s *ir.State) []jen.Code {
				var options []jen.Code
				for _, ev := range g.m.Events {
					for _, row := range g.rowsOf(s, ev) {
						options = append(options, g.option(row))
					}
				}
				if len(options) == 0 {
					return nil
				}
				return []jen.Code{jen.Return(jen.Index().Add(g.fsm("Option")).Values(lines(options)))}
			}),
			jen.Return(jen.Nil())))
}

// optionsByState emits a switch over the state of r, creation first, without the states whose
// code is empty.
func (g *generator) optionsByState(code func(*ir.State) []jen.Code) *jen.Statement {
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
	return jen.Switch(jen.Id("r").Dot("State")).Block(acting.code()...)
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
//			x.May("SUBMIT_OFFER", by.isAdvertiser(r))
//			...
//		}
//	}
func (g *generator) offerMethod(f *jen.File) {
	in := []jen.Code{jen.Id("x").Op("*").Add(g.fsm("Rejection"))}
	if g.hasActors() {
		in = append(in, jen.Id("by").Id("Actor"))
	}
	declare(f, "offer tells x the events that can be fired in the state of r, as far as guards allow.", "",
		jen.Func().Add(receiver()).Id("offer").Params(in...).Block(g.optionsByState(func(s *ir.State) []jen.Code {
			var code []jen.Code
			for _, ev := range g.m.Events {
				if !g.leaves(s, ev) {
					continue
				}
				code = append(code, jen.Id("x").Dot("May").Call(jen.Lit(ev.Text), verdictOf(g.someMay(s, ev))))
			}
			return code
		})))
}

// someMay tests whether the actor may fire a row of (s, ev) that accepts.
func (g *generator) someMay(s *ir.State, ev *ir.Event) test {
	var may []test
	for _, row := range g.rowsOf(s, ev) {
		if row.Reject != nil {
			continue
		}
		t := g.mayFire(row, g.guards(row), s != nil)
		if t.known {
			return t
		}
		may = append(may, t)
	}
	return either(distinct(may))
}

// offered are the arguments of offer.
func (g *generator) offered(x jen.Code) []jen.Code {
	if g.hasActors() {
		return []jen.Code{x, jen.Id("by")}
	}
	return []jen.Code{x}
}

// engineLegal emits:
//
//	func (m core) Legal(r fsm.Record, by fsm.Caller, now time.Time) ([]fsm.Verdict, error) {
//		record, err := recordOf(r)
//		if err != nil {
//			return nil, err
//		}
//		c := Call{Params: m.params, Now: now}
//		if c.By, err = actorOf(by); err != nil {
//			return nil, err
//		}
//		return record.Legal(c), nil
//	}
func (g *generator) engineLegal(f *jen.File) {
	body := []jen.Code{
		jen.List(jen.Id("record"), jen.Err()).Op(":=").Id("recordOf").Call(jen.Id("r")),
		jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Nil(), jen.Err())),
		jen.Id("c").Op(":=").Add(g.callLiteral(nil, jen.Id("now"))),
	}
	if g.hasActors() {
		body = append(body,
			jen.If(jen.List(jen.Id("c").Dot("By"), jen.Err()).Op("=").Id("actorOf").Call(jen.Id("by")), jen.Err().Op("!=").Nil()).Block(
				jen.Return(jen.Nil(), jen.Err())))
	}
	coreMethod(f, "Legal", "judges every event for a caller, in the order of the spec: what it may fire at r now, and why not the rest.",
		[]jen.Code{jen.Id("r").Add(g.fsm("Record")), jen.Id("by").Add(g.fsm("Caller")), jen.Id("now").Qual("time", "Time")},
		jen.Params(jen.Index().Add(g.fsm("Verdict")), jen.Error()),
		append(body, jen.Return(jen.Id("record").Dot("Legal").Call(jen.Id("c")), jen.Nil()))...)
}
