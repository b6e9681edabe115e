package golang

import (
	"fmt"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

func results() *jen.Statement { return jen.Params(jen.Id("Steps"), jen.Error()) }

func receiver() *jen.Statement { return jen.Params(jen.Id("r").Op("*").Id("Record")) }

// fire emits one method per event:
//
//	// CommitUpload applies commit_upload. It changes r only when it returns a step.
//	func (r *Record) CommitUpload(e CommitUpload, now time.Time) (Steps, error) {
//		if r.State != PendingCommit {
//			return Steps{}, r.misplaced(EventCommitUpload)
//		}
//		...
//	}
func (g *generator) fire(f *jen.File) {
	g.patterns.declare(f)
	for _, ev := range g.m.Events {
		if g.creates(ev) {
			g.decideCreation(f, ev)
			if g.raises(ev, true) {
				g.chain(f, ev, g.creation(ev), true)
			}
		}
		g.decide(f, ev)
		if g.raises(ev, false) {
			g.chain(f, ev, g.method(ev), false)
		}
	}
}

// decide emits the switch of ev over all states.
func (g *generator) decide(f *jen.File, ev *ir.Event) {
	m := g.method(ev)
	sentence := fmt.Sprintf("%s applies %s. It changes r only when it returns a step.", m.step, ev.Text)
	doc := ev.Doc
	if m.step != m.whole {
		sentence = fmt.Sprintf("%s takes the step of %s and leaves out what it raises.", m.step, ev.Text)
		doc = ""
	}
	prologue := g.prologue(ev, false)
	acting, repeated, states := g.cases(ev)
	var methods []jen.Code
	if body := sizeOfSwitch(slices.Concat(acting.list, repeated.list)); !body.plus(textOf(prologue...).size).readable() {
		acting, methods = g.split(ev, acting, states)
	}
	declare(f, sentence, doc, jen.Func().Add(receiver()).Id(m.step).Params(g.inputs(ev)...).Add(results()).Block(
		append(prologue, g.byState(ev, acting, repeated)...)...))
	for _, method := range methods {
		f.Add(method)
		f.Line()
	}
}

// byState is what ev does in each state. Where one state has rows, all others are refused first.
func (g *generator) byState(ev *ir.Event, acting, repeated sharedCases) []jen.Code {
	misplaced := func() *jen.Statement {
		return refuse(jen.Id("r").Dot("misplaced").Call(g.rejectionArgs(ev, jen.Id("by"))...))
	}
	if len(repeated.list) == 0 {
		switch {
		case len(acting.list) == 0:
			return []jen.Code{misplaced()}
		case len(acting.list) == 1 && len(acting.list[0].values) == 1:
			only := acting.list[0]
			return append([]jen.Code{jen.If(jen.Id("r").Dot("State").Op("!=").Add(only.values[0])).Block(misplaced())}, only.body...)
		}
	}
	return []jen.Code{jen.Switch(jen.Id("r").Dot("State")).Block(slices.Concat(acting.code(), repeated.code())...), misplaced()}
}

// split moves what ev does in each state into a method of its own, and, where that is still too long
// to be read, the long conditions there, and then the long rows:
//
//	case Funded:
//		return r.inFundedDepositConfirmed(e, by, now)
func (g *generator) split(ev *ir.Event, acting sharedCases, states map[*sharedCase]*ir.State) (calls sharedCases, methods []jen.Code) {
	args := g.arguments(ev, jen.Id("e"), jen.Id("by"), jen.Id("p"), jen.Id("now"))
	for _, c := range acting.list {
		state := fmt.Sprintf("%#v", c.values[0])
		name := "in" + state + naming.Exported(ev.Text)
		calls.list = append(calls.list, &sharedCase{values: c.values, body: []jen.Code{jen.Return(jen.Id("r").Dot(name).Call(args...))}})
		body, apart := c.body, &parts{}
		if several := len(c.values) > 1; !c.text.size.readable() {
			body = g.candidates(ev, states[c], several, apart)
			if !textOf(body...).size.readable() {
				apart = &parts{rows: true}
				body = g.candidates(ev, states[c], several, apart)
			}
		}
		methods = append(methods, comment(fmt.Sprintf("%s decides %s in %s.", name, ev.Text, state), "").
			Func().Add(receiver()).Id(name).Params(g.inputs(ev)...).Add(results()).Block(body...))
		methods = append(methods, apart.methods...)
	}
	return calls, methods
}

// decideCreation emits the rows of ev that create records.
func (g *generator) decideCreation(f *jen.File, ev *ir.Event) {
	m := g.creation(ev)
	sentence := fmt.Sprintf("%s fills a blank record by %s. It changes r only when it returns a step.", m.step, ev.Text)
	declare(f, sentence, "", jen.Func().Add(receiver()).Id(m.step).Params(g.inputs(ev)...).Add(results()).Block(
		append(g.prologue(ev, true), g.candidates(ev, nil, false, nil)...)...))
}

// prologue cuts times to what a database holds and checks the payload.
func (g *generator) prologue(ev *ir.Event, creation bool) []jen.Code {
	var code []jen.Code
	if slices.ContainsFunc(g.eventRows[ev], func(row *ir.Row) bool { return (row.From == nil) == creation && needsInstant(row) }) {
		code = append(code, jen.Id("now").Op("=").Add(g.fsm("Instant").Call(jen.Id("now"))))
	}
	for _, p := range payload(ev) {
		x := jen.Id("e").Dot(naming.Exported(p.field.Text))
		switch cut := instantOf(p.typ); {
		case cut == "":
		case cut == instantList && p.typ.Optional:
			code = append(code, jen.If(x.Clone().Dot("IsSet")).Block(x.Clone().Dot("V").Op("=").Add(g.fsm(cut).Call(x.Clone().Dot("V")))))
		default:
			code = append(code, x.Clone().Op("=").Add(g.fsm(cut).Call(x.Clone())))
		}
	}
	return append(code, g.checkPayload(ev)...)
}

func (g *generator) checkPayload(ev *ir.Event) []jen.Code {
	invalid := func(field, problem jen.Code) *jen.Statement {
		return refuse(g.rejection("ErrInvalidEvent", ev).Dot("WithField").Call(field, problem))
	}
	checks := g.payloadChecks(ev)
	if len(checks) > inPlace {
		return []jen.Code{
			jen.If(jen.List(jen.Id("field"), jen.Id("problem")).Op(":=").Id("e").Dot("check").Call(), jen.Id("field").Op("!=").Lit("")).
				Block(invalid(jen.Id("field"), jen.Id("problem"))),
		}
	}
	var code []jen.Code
	for _, c := range checks {
		code = append(code, jen.If(c.violation.code()).Block(invalid(jen.Lit(c.field), jen.Lit(c.problem))))
	}
	return code
}

// needsInstant reports whether row must read the time in whole microseconds.
// `x > $now` and `x <= $now` need not: x is whole, and so is on the same side of
// a time and of the microsecond that it lies in.
func needsInstant(row *ir.Row) bool {
	return slices.ContainsFunc(row.When, func(c *ir.Clause) bool {
		return c.Right.Special == ir.Now && !wholeSide(c.Op)
	}) || slices.ContainsFunc(decided(row), exprReadsNow)
}

// wholeSide reports whether what is whole is on the same side of a time and of its microsecond.
func wholeSide(op ir.Op) bool {
	switch op {
	case ir.Gt, ir.Le:
		return true
	case ir.Eq, ir.Ne, ir.Lt, ir.Ge, ir.Exists, ir.NotExists, ir.In, ir.NotIn, ir.Contains, ir.Matches:
		return false
	}
	panic(ir.NoForm("golang.wholeSide", op))
}

func exprReadsNow(x *ir.Expr) bool { return x.A.Special == ir.Now || x.B.Special == ir.Now }

// instantOf is the function of fsm that normalises a value of type t.
func instantOf(t ir.Type) string {
	switch {
	case t.Base == ir.Time && t.Optional:
		return "OptionalInstant"
	case t.Base == ir.Time:
		return "Instant"
	case t.Base == ir.ListOf && t.Elem.Base == ir.Time:
		return instantList
	}
	return ""
}

const instantList = "InstantList"

// cases are the states with rows of ev, in spec order, and those in which its repetition
// succeeds, together where they answer alike. states has one state of each of the first.
func (g *generator) cases(ev *ir.Event) (acting, repeated sharedCases, states map[*sharedCase]*ir.State) {
	done := g.repeats(ev)
	states = map[*sharedCase]*ir.State{}
	for _, s := range g.m.States {
		name := jen.Id(naming.Exported(s.Text))
		if len(g.rowsOf(s, ev)) > 0 {
			states[acting.add(name, g.candidates(ev, s, true, nil))] = s
		} else if rows := done[s]; len(rows) > 0 {
			repeated.add(name, g.alreadyThere(rows))
		}
	}
	for _, c := range acting.list {
		if s := states[c]; len(c.values) == 1 && slices.ContainsFunc(g.rowsOf(s, ev), g.expands) {
			c.body = g.candidates(ev, s, false, nil)
			c.text = textOf(c.body...)
		}
	}
	return acting, repeated, states
}

// repeats lists, by target, the rows whose repetition succeeds where the
// machine says so.
func (g *generator) repeats(ev *ir.Event) map[*ir.State][]*ir.Row {
	out := map[*ir.State][]*ir.Row{}
	if g.m.RepeatSucceeds && ev.Key == nil {
		for _, row := range g.eventRows[ev] {
			if row.To != nil {
				out[row.To] = append(out[row.To], row)
			}
		}
	}
	return out
}

// alreadyThere is the answer of a state without a row for an event: no steps for who might
// have fired one of rows, which lead there.
func (g *generator) alreadyThere(rows []*ir.Row) []jen.Code {
	done := jen.Return(jen.Id("Steps").Values(), jen.Nil())
	var mayBe []test
	for _, row := range rows {
		t := g.mayFire(row, &scope{g: g, record: "r", by: id("by")}, true)
		if t.known {
			return []jen.Code{done}
		}
		mayBe = append(mayBe, t)
	}
	return []jen.Code{jen.If(either(distinct(mayBe)).code()).Block(done)}
}

// distinct drops tests that read alike.
func distinct(tests []test) []test {
	seen := map[string]bool{}
	var out []test
	for _, t := range tests {
		text := source(t.code())
		if !seen[text] {
			seen[text] = true
			out = append(out, t)
		}
	}
	return out
}
