package golang

import (
	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// deadline emits the timers of the states:
//
//	func DeadlineOf(r *Record, c Call) (d Deadline, ok bool) {
//		var after time.Duration
//		switch r.State {
//		case Initiated:
//			return Deadline{At: r.ExpiresAt, Fire: AbortUpload{Reason: AbortReasonExpired}, Follows: true}, true
//		case Finalizing:
//			d.Fire, after = FinalizeTimedOut{}, c.Params.FinalizeTimeout
//		default:
//			return Deadline{}, false
//		}
//		d.At, ok = fsm.AddTime(fsm.Instant(c.Now), after)
//		return d, ok
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
			Params(jen.Id("d").Id("Deadline"), jen.Id("ok").Bool()).Block(g.deadlines()...))
}

// deadlines are the cases of DeadlineOf. All times that count from an entry are added in one place.
func (g *generator) deadlines() []jen.Code {
	var cases sharedCases
	counts := false
	for _, s := range g.m.States {
		if s.Timeout != nil {
			cases.add(jen.Id(naming.Exported(s.Text)), g.stateDeadline(s))
			counts = counts || s.Timeout.At == nil
		}
	}
	if !counts {
		return []jen.Code{jen.Switch(jen.Id("r").Dot("State")).Block(cases.code()...), noDeadline()}
	}
	return []jen.Code{
		jen.Var().Id("after").Qual("time", "Duration"),
		jen.Switch(jen.Id("r").Dot("State")).Block(append(cases.code(), jen.Default().Block(noDeadline()))...),
		jen.List(jen.Id("d").Dot("At"), jen.Id("ok")).Op("=").Add(g.fsm("AddTime")).Call(g.instant(ofCall("Now"))(), jen.Id("after")),
		jen.Return(jen.Id("d"), jen.Id("ok")),
	}
}

func noDeadline() *jen.Statement { return jen.Return(jen.Id("Deadline").Values(), jen.False()) }

func (g *generator) stateDeadline(st *ir.State) []jen.Code {
	s := &scope{g: g, record: "r", state: st, by: ofCall("By"), params: ofCall("Params"), now: g.instant(ofCall("Now"))}
	code, fire := g.bind(st.Timeout.Fire, s, func(*ir.Field) *jen.Statement { return noDeadline() })
	there := func(x value) {
		if x.present != nil {
			code = append(code, jen.If(jen.Op("!").Add(x.present())).Block(noDeadline()))
		}
	}
	if st.Timeout.At == nil {
		after := s.read(st.Timeout.After)
		there(after)
		return append(code, jen.List(jen.Id("d").Dot("Fire"), jen.Id("after")).Op("=").List(fire, after.code()))
	}
	at := s.field(st.Timeout.At)
	there(at)
	return append(code, jen.Return(jen.Id("Deadline").Values(
		jen.Id("At").Op(":").Add(at.code()), jen.Id("Fire").Op(":").Add(fire), jen.Id("Follows").Op(":").True()), jen.True()))
}
