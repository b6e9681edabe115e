package golang

import (
	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// deadline emits the timers of the states:
//
//	func DeadlineOf(r *Record, c Call) (d Deadline, ok bool) {
//		switch r.State {
//		case Initiated:
//			return Deadline{At: r.ExpiresAt, Fire: AbortUpload{Reason: AbortReasonExpired}, Follows: true}, true
//		}
//		return Deadline{}, false
//	}
func (g *generator) deadline(f *jen.File) {
	declare(f, "Deadline is an event that the system fires at a time unless the state is left before.", "",
		jen.Type().Id("Deadline").Struct(
			jen.Id("At").Qual("time", "Time"),
			jen.Id("Fire").Id("Payload"),
			jen.Comment("// Follows: At is a field of the record, so a step that stays in the state moves it. Else the"),
			jen.Comment("// deadline counts from the entry, and such a step leaves it alone."),
			jen.Id("Follows").Bool(),
		))
	declare(f, "DeadlineOf returns the deadline that the state of r arms, if it has one. c.Now is when r entered\nthe state.", "",
		jen.Func().Id("DeadlineOf").Params(jen.Id("r").Op("*").Id("Record"), jen.Id("c").Id("Call")).
			Params(jen.Id("d").Id("Deadline"), jen.Id("ok").Bool()).Block(
			jen.Switch(jen.Id("r").Dot("State")).BlockFunc(func(cases *jen.Group) {
				for _, s := range g.m.States {
					if s.Timeout != nil {
						cases.Case(jen.Id(naming.Exported(s.Text))).Block(g.stateDeadline(s)...)
					}
				}
			}),
			jen.Return(jen.Id("Deadline").Values(), jen.False()),
		))
}

func (g *generator) stateDeadline(st *ir.State) []jen.Code {
	s := &scope{g: g, record: "r", state: st, by: ofCall("By"), params: ofCall("Params"), now: g.instant(ofCall("Now"))}
	none := jen.Return(jen.Id("Deadline").Values(), jen.False())
	code, fire := g.bind(st.Timeout.Fire, s, func(*ir.Field) *jen.Statement { return none.Clone() })
	armed := func(at *jen.Statement) *jen.Statement {
		cells := []jen.Code{jen.Id("At").Op(":").Add(at), jen.Id("Fire").Op(":").Add(fire)}
		if st.Timeout.At != nil {
			cells = append(cells, jen.Id("Follows").Op(":").True())
		}
		return jen.Return(jen.Id("Deadline").Values(cells...), jen.True())
	}
	if st.Timeout.At != nil {
		at := s.field(st.Timeout.At)
		if at.present == nil {
			return append(code, armed(at.code()))
		}
		return append(code, jen.If(at.present()).Block(armed(at.code())))
	}
	after := s.read(st.Timeout.After)
	at := []jen.Code{
		jen.If(jen.List(jen.Id("at"), jen.Id("ok")).Op(":=").Add(g.fsm("AddTime")).Call(s.now(), after.code()), jen.Id("ok")).
			Block(armed(jen.Id("at"))),
	}
	if after.present != nil {
		at = []jen.Code{jen.If(after.present()).Block(at...)}
	}
	return append(code, at...)
}
