package golang

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

func explainName(ev *ir.Event, creation bool) string {
	if creation {
		return "explainCreate" + naming.Exported(ev.Text)
	}
	return "explain" + naming.Exported(ev.Text)
}

// explain emits what is only called on the way to a rejection: the values that
// each clause saw.
func (g *generator) explain(f *jen.File) {
	for _, ev := range g.m.Events {
		if g.explained(nil, ev) {
			g.explainCreation(f, ev)
		}
		if g.acts(ev) {
			g.explainEvent(f, ev)
		}
	}
	explained := map[string]bool{}
	for _, row := range g.taken {
		g.explainHolds(f, row, explained)
	}
}

// explainEvent emits:
//
//	// explainCommitUpload tells why no row accepted commit_upload.
//	func (r *Record) explainCommitUpload(e CommitUpload) *fsm.Rejection {
//		x := r.reject(fsm.ErrNotAllowed, EventCommitUpload)
//		switch r.State {
//		case Initiated:
//			x.Candidate("start", fsm.Check("session_valid == true", e.SessionValid, fsm.Read("session_valid", e.SessionValid)))
//		}
//		return x
//	}
func (g *generator) explainEvent(f *jen.File, ev *ir.Event) {
	var failing sharedCases
	for _, s := range g.m.States {
		if g.explained(s, ev) {
			failing.add(jen.Id(naming.Exported(s.Text)), g.explainRows(s, ev))
		}
	}
	switch len(failing.list) {
	case 0:
	case 1: // no other state asks
		g.explainFunc(f, ev, false, failing.list[0].body...)
	default:
		g.explainFunc(f, ev, false, jen.Switch(jen.Id("r").Dot("State")).Block(failing.code()...))
	}
}

func (g *generator) explainCreation(f *jen.File, ev *ir.Event) {
	g.explainFunc(f, ev, true, g.explainRows(nil, ev)...)
}

func (g *generator) explainFunc(f *jen.File, ev *ir.Event, creation bool, body ...jen.Code) {
	name := explainName(ev, creation)
	block := append([]jen.Code{jen.Id("x").Op(":=").Add(g.rejection("ErrNotAllowed", ev))}, body...)
	declare(f, fmt.Sprintf("%s tells why no row accepted %s.", name, ev.Text), "",
		jen.Func().Add(receiver()).Id(name).Params(g.explainInputs(ev, false)...).Op("*").Add(g.fsm("Rejection")).Block(append(block, jen.Return(jen.Id("x")))...))
}

// explainRows lists the guarded rows of (state, event). A row without guards
// that was not taken is none of this actor's.
func (g *generator) explainRows(s *ir.State, ev *ir.Event) []jen.Code {
	var code []jen.Code
	rows := g.rowsOf(s, ev)
	for _, row := range rows {
		if len(row.When) == 0 {
			continue
		}
		guards := g.guards(row)
		args := []jen.Code{jen.Lit(row.Text)}
		for _, c := range row.When {
			if row.Reject == nil { // that a refusal did not apply is no obstacle
				args = append(args, g.check(guards, c))
			}
		}
		candidate := jen.Id("x").Dot("Candidate").Call(checkLines(args)...)
		if may := g.mayFire(row, guards, s != nil); !may.known && !sameActors(rows) {
			candidate = jen.If(may.code()).Block(candidate)
		}
		code = append(code, candidate)
	}
	return code
}

// checkLines puts the checks of a row on lines of their own.
func checkLines(args []jen.Code) []jen.Code {
	if len(args) < 2 {
		return args
	}
	out := []jen.Code{args[0]}
	for _, a := range args[1:] {
		out = append(out, jen.Line().Add(a))
	}
	return append(out, jen.Line())
}

// check emits a clause with its verdict and the values it read.
func (g *generator) check(s *scope, c *ir.Clause) *jen.Statement {
	t := s.clause(c, facts{})
	verdict := jen.Lit(t.outcome)
	if !t.known {
		verdict = t.code()
	}
	return g.fsm("Check").Call(append([]jen.Code{jen.Lit(c.Text), verdict}, g.seenBy(s, c)...)...)
}

// seenBy lists what a clause read.
func (g *generator) seenBy(s *scope, c *ir.Clause) []jen.Code {
	out := []jen.Code{g.seen(s, &c.Left)}
	if !c.Right.IsLit {
		out = append(out, g.seen(s, &c.Right))
	}
	return out
}

func (g *generator) seen(s *scope, o *ir.Operand) *jen.Statement {
	v := s.read(o)
	code := jen.Nil()
	switch {
	case v.absent:
	case v.whole != nil:
		code = v.whole()
	case v.isLit:
		code = g.typedLiteral(v.literal, v.typ)
	default:
		code = v.code()
	}
	name := o.Text
	if o.Special != "" {
		name = "$" + string(o.Special)
	}
	return g.fsm("Read").Call(jen.Lit(name), code)
}

// explainHolds emits, where the row's target may refuse the new record, and explained has it
// not yet:
//
//	// unmetFunded tells what FUNDED demands and r lacks.
//	func (r *Record) unmetFunded(event Event, by Actor, row string) error { ... }
//
//	// unheldFund tells what FUNDED demands and the record after fund would lack.
//	func (r *Record) unheldFund(e DepositConfirmed, by Actor) error { ... }
func (g *generator) explainHolds(f *jen.File, row *ir.Row, explained map[string]bool) {
	_, known := g.condition(row, false)
	b := &body{g: g, row: row, facts: known, assigned: map[*ir.Field]value{}}
	for _, step := range []func(){b.checkNamed, b.evaluate, b.checkImmutable, b.checkBounds} {
		if step(); b.ends {
			return
		}
	}
	s := g.after(row, b.assigned)
	holds := row.Target().Holds
	if t := s.conjunction(holds, b.facts); t.known && t.outcome {
		return
	}
	state := row.Target().Text
	name := unheldName(g, row)
	says := fmt.Sprintf("%s tells what %s demands and the record after %s would lack.", name, state, row.Text)
	in := g.explainInputs(row.Event, false)
	for _, l := range b.locals {
		in = append(in, jen.Id(l.name).Add(g.goType(l.typ)))
	}
	reject := g.rejection("ErrHoldsFailed", row.Event).Dot("OnRow").Call(jen.Lit(row.Text))
	if b.keepsDemanded() {
		name = unmetName(row.Target())
		says = fmt.Sprintf("%s tells what %s demands and r lacks.", name, state)
		in = []jen.Code{jen.Id("event").Id("Event")}
		args := []jen.Code{g.fsm("ErrHoldsFailed"), jen.Id("event")}
		if g.hasActors() {
			in, args = append(in, jen.Id("by").Id("Actor")), append(args, jen.Id("by"))
		}
		in = append(in, jen.Id("row").String())
		reject = jen.Id("r").Dot("reject").Call(args...).Dot("OnRow").Call(jen.Id("row"))
	}
	if explained[name] {
		return
	}
	explained[name] = true
	checks := []jen.Code{jen.Lit(state)}
	for _, c := range holds {
		checks = append(checks, g.check(s, c))
	}
	declare(f, says, "", jen.Func().Add(receiver()).Id(name).Params(in...).Error().Block(
		jen.Return(reject.Dot("Explain").Call(checkLines(checks)...))))
}
