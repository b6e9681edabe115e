package golang

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// chain emits the method that takes the step of ev on a copy, then what the
// step raises, and stores the copy at the end: all or nothing.
//
//	func (r *Record) PublishNow(by Actor, now time.Time) (Steps, error) {
//		next := *r
//		steps, err := next.stepPublishNow(by, now)
//		if err != nil || steps.Len() == 0 {
//			return Steps{}, err
//		}
//		var more Steps
//		switch steps.Last() {
//		case TransitionPublishNow:
//			more, err = next.fireStartVerification(BySystem(), now)
//		}
//		if err != nil {
//			return Steps{}, err
//		}
//		*r = next
//		return steps.then(more), nil
//	}
func (g *generator) chain(f *jen.File, ev *ir.Event, m method, creation bool) {
	sentence := fmt.Sprintf("%s applies %s and the events that its step raises: all of them or none.", m.whole, ev.Text)
	args := g.arguments(ev, jen.Id("e"), jen.Id("by"), jen.Id("p"), jen.Id("now"))
	failed := func() *jen.Statement { return jen.Return(jen.Id("Steps").Values(), jen.Err()) }
	declare(f, sentence, ev.Doc, jen.Func().Add(receiver()).Id(m.whole).Params(g.inputs(ev)...).Add(results()).Block(
		jen.Id("next").Op(":=").Op("*").Id("r"),
		jen.List(jen.Id("steps"), jen.Err()).Op(":=").Id("next").Dot(m.step).Call(args...),
		jen.If(jen.Err().Op("!=").Nil().Op("||").Id("steps").Dot("Len").Call().Op("==").Lit(0)).Block(failed()),
		jen.Var().Id("more").Id("Steps"),
		jen.Switch(jen.Id("steps").Dot("Last").Call()).BlockFunc(func(cases *jen.Group) {
			for _, row := range g.raising(ev, creation) {
				cases.Case(jen.Id(g.transition[row])).Block(g.raise(row)...)
			}
		}),
		jen.If(jen.Err().Op("!=").Nil()).Block(failed()),
		jen.Op("*").Id("r").Op("=").Id("next"),
		jen.Return(jen.Id("steps").Dot("then").Call(jen.Id("more")), jen.Nil()),
	))
}

// raise fires what row raises, by the system, on the new record.
func (g *generator) raise(row *ir.Row) []jen.Code {
	raised := row.Raise.Event
	s := g.raised(row, "next", g.instant(id("now")), id("by"), id("p"))
	code, payload := g.bind(row.Raise, s, func(f *ir.Field) *jen.Statement {
		rejection := jen.Id("next").Dot("reject").Call(append([]jen.Code{g.fsm("ErrInvalidEvent")}, g.rejectionArgs(raised, jen.Id("BySystem").Call())...)...)
		return refuse(rejection.Dot("WithField").Call(jen.Lit(f.Text), jen.Lit("overflows")))
	})
	args := g.arguments(raised, payload, jen.Id("BySystem").Call(), jen.Id("p"), jen.Id("now"))
	return append(code, jen.List(jen.Id("more"), jen.Err()).Op("=").Id("next").Dot(g.method(raised).whole).Call(args...))
}

// raised is the scope in which a fire form is bound: the new record.
func (g *generator) raised(row *ir.Row, record string, now, by, params func() *jen.Statement) *scope {
	return &scope{g: g, record: record, event: row.Event, state: row.Target(), from: row.From, now: now, by: by, params: params}
}

// instant cuts a time as a decision does.
func (g *generator) instant(now func() *jen.Statement) func() *jen.Statement {
	return func() *jen.Statement { return g.fsm("Instant").Call(now()) }
}

// bind makes the payload of a fire form; a sum that overflows leaves through
// overflow:
//
//	Quarantine{Reason: "permanent_failure"}
func (g *generator) bind(fire *ir.Fire, s *scope, overflow func(*ir.Field) *jen.Statement) ([]jen.Code, *jen.Statement) {
	var code, values []jen.Code
	for _, p := range payload(fire.Event) {
		for _, a := range fire.Args {
			if a.Target.Text != p.field.Text {
				continue
			}
			sum, v := s.evaluate(&a.Value, a.Target.Text, func() *jen.Statement { return overflow(a.Target) })
			code = append(code, sum...)
			if !v.absent {
				values = append(values, jen.Id(naming.Exported(p.field.Text)).Op(":").Add(g.stored(v, p.typ)))
			}
		}
	}
	return code, jen.Id(naming.Exported(fire.Event.Text)).Values(values...)
}
