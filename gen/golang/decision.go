package golang

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// decision emits how an engine decides: events come by name, and each step of a chain has a
// copy of the record of its own.
func (g *generator) decision(f *jen.File) {
	g.recordFace(f)
	g.readEvent(f)
	g.engineCreate(f)
	g.engineFire(f)
	g.chainOfSteps(f)
	g.stepData(f)
	g.deadlineData(f)
}

// recordFace emits what makes *Record an fsm.Record beside Values and Pointers.
func (g *generator) recordFace(f *jen.File) {
	declare(f, "StateName returns the state as the spec spells it, empty before creation.", "",
		jen.Func().Add(receiver()).Id("StateName").Params().String().Block(
			jen.Return(g.fsm("WordOf").Call(jen.Id("r").Dot("State")))))
	declare(f, "Columns names the SQL columns of Values and Pointers, in their order.", "",
		jen.Func().Add(receiver()).Id("Columns").Params().Index().String().Block(jen.Return(jen.Id("Columns").Call())))
}

// rejected leaves a decision.
func (g *generator) rejected(err jen.Code) *jen.Statement {
	return jen.Return(g.fsm("Decision").Values(), err)
}

func (g *generator) unless(err jen.Code) *jen.Statement {
	return jen.If(jen.Err().Op("!=").Nil()).Block(g.rejected(err))
}

// readEvent emits how an event comes in:
//
//	func (m core) read(r *Record, e fsm.Event, in fsm.Input) (fired, error) {
//		payload, err := payloadOf(e)
//		if err != nil {
//			return fired{}, err
//		}
//		if e, err = fsm.EventOf(payload); err != nil {
//			return fired{}, err
//		}
//		c := Call{Params: m.params, Now: in.Now}
//		if c.By, err = actorOf(in.By); err != nil {
//			return fired{}, r.reject(fsm.ErrNotAllowed, payload.Event(), c.By).WithField("actor", err.Error())
//		}
//		return fired{payload, e, c}, nil
//	}
func (g *generator) readEvent(f *jen.File) {
	declare(f, "fired is an event on its way through a decision: its payload, the same as data, and its call.", "",
		jen.Type().Id("fired").Struct(jen.Id("payload").Id("Payload"), jen.Id("event").Add(g.fsm("Event")), jen.Id("call").Id("Call")))
	none := func(err jen.Code) *jen.Statement { return jen.Return(jen.Id("fired").Values(), err) }
	failed := func() *jen.Statement { return none(jen.Err()) }
	code := []jen.Code{
		jen.List(jen.Id("payload"), jen.Err()).Op(":=").Id("payloadOf").Call(jen.Id("e")),
		jen.If(jen.Err().Op("!=").Nil()).Block(failed()),
		jen.If(jen.Id("e").Dot("Value").Call().Op("==").Nil()).Block(
			jen.If(jen.List(jen.Id("e"), jen.Err()).Op("=").Add(g.fsm("EventOf")).Call(jen.Id("payload")), jen.Err().Op("!=").Nil()).Block(failed())),
		jen.Id("c").Op(":=").Add(g.callLiteral(nil, jen.Id("in").Dot("Now"))),
	}
	if g.hasActors() {
		reject := jen.Id("r").Dot("reject").Call(g.fsm("ErrNotAllowed"), jen.Id("payload").Dot("Event").Call(), jen.Id("c").Dot("By"))
		code = append(code, jen.If(jen.List(jen.Id("c").Dot("By"), jen.Err()).Op("=").Id("actorOf").Call(jen.Id("in").Dot("By")), jen.Err().Op("!=").Nil()).
			Block(none(reject.Dot("WithField").Call(jen.Lit("actor"), jen.Err().Dot("Error").Call()))))
	}
	in := []jen.Code{jen.Id("e").Add(g.fsm("Event")), jen.Id("in").Add(g.fsm("Input"))}
	doc := "read reads an event."
	if g.hasActors() {
		in = append([]jen.Code{jen.Id("r").Op("*").Id("Record")}, in...)
		doc = "read reads an event and its caller. r rejects a caller who is none."
	}
	declare(f, doc, "", jen.Func().Params(jen.Id("m").Id("core")).Id("read").Params(in...).Params(jen.Id("fired"), jen.Error()).
		Block(append(code, jen.Return(jen.Id("fired").Values(jen.Id("payload"), jen.Id("e"), jen.Id("c")), jen.Nil()))...))
}

// read calls what readEvent emits.
func (g *generator) read(record *jen.Statement) []jen.Code {
	args := []jen.Code{jen.Id("e"), jen.Id("in")}
	if g.hasActors() {
		args = append([]jen.Code{record}, args...)
	}
	return []jen.Code{
		jen.List(jen.Id("x"), jen.Err()).Op(":=").Id("m").Dot("read").Call(args...),
		g.unless(jen.Err()),
	}
}

// callLiteral is a Call with the machine's params.
func (g *generator) callLiteral(by, now jen.Code) *jen.Statement {
	var cells []jen.Code
	if g.hasActors() && by != nil {
		cells = append(cells, jen.Id("By").Op(":").Add(by))
	}
	if g.hasParams() {
		cells = append(cells, jen.Id("Params").Op(":").Id("m").Dot("params"))
	}
	return jen.Id("Call").Values(append(cells, jen.Id("Now").Op(":").Add(now))...)
}

func (g *generator) decisionInputs(first jen.Code) []jen.Code {
	return []jen.Code{first, jen.Id("e").Add(g.fsm("Event")), jen.Id("in").Add(g.fsm("Input"))}
}

func (g *generator) decisionResults() *jen.Statement {
	return jen.Params(g.fsm("Decision"), jen.Error())
}

// engineCreate emits:
//
//	func (m core) Create(id string, e fsm.Event, in fsm.Input) (fsm.Decision, error) {
//		key, err := parseID(id)
//		...
//		record, steps, err := StepNew(key, x.payload, x.call)
//		if err != nil {
//			return fsm.Decision{}, err
//		}
//		return chain(&record, steps, x, in)
//	}
func (g *generator) engineCreate(f *jen.File) {
	malformed := jen.Op("&").Add(g.fsm("Rejection")).Values(
		jen.Id("Machine").Op(":").Id("MachineName"), jen.Id("Reason").Op(":").Add(g.fsm("ErrInvalidEvent")),
		jen.Id("Event").Op(":").Id("e").Dot("Name"), jen.Id("Field").Op(":").Lit(g.m.ID.Text), jen.Id("Problem").Op(":").Err().Dot("Error").Call())
	body := []jen.Code{
		jen.List(jen.Id("key"), jen.Err()).Op(":=").Id("parseID").Call(jen.Id("id")),
		g.unless(malformed),
	}
	if g.hasActors() {
		body = append(body, jen.Id("none").Op(":=").Id("blank").Call(jen.Id("key")))
	}
	body = append(body, g.read(jen.Op("&").Id("none"))...)
	body = append(body,
		jen.List(jen.Id("record"), jen.Id("steps"), jen.Err()).Op(":=").Id(g.stepNewFunc()).Call(jen.Id("key"), jen.Id("x").Dot("payload"), jen.Id("x").Dot("call")),
		g.unless(jen.Err()),
		jen.Return(jen.Id("chain").Call(jen.Op("&").Id("record"), jen.Id("steps"), jen.Id("x"), jen.Id("in"))))
	coreMethod(f, "Create", "decides the creation of a record and what that raises. The error is a *fsm.Rejection.",
		g.decisionInputs(jen.Id("id").String()), g.decisionResults(), body...)
}

// engineFire emits:
//
//	func (m core) Fire(r fsm.Record, e fsm.Event, in fsm.Input) (fsm.Decision, error) {
//		record, err := recordOf(r)
//		...
//		next := *record
//		steps, err := Step(&next, x.payload, x.call)
//		if err != nil {
//			return fsm.Decision{}, err
//		}
//		return chain(&next, steps, x, in)
//	}
func (g *generator) engineFire(f *jen.File) {
	body := append([]jen.Code{
		jen.List(jen.Id("record"), jen.Err()).Op(":=").Id("recordOf").Call(jen.Id("r")),
		g.unless(jen.Err()),
	}, g.read(jen.Id("record"))...)
	body = append(body,
		jen.Id("next").Op(":=").Op("*").Id("record"),
		jen.List(jen.Id("steps"), jen.Err()).Op(":=").Id(g.stepFunc()).Call(jen.Op("&").Id("next"), jen.Id("x").Dot("payload"), jen.Id("x").Dot("call")),
		g.unless(jen.Err()),
		jen.Return(jen.Id("chain").Call(jen.Op("&").Id("next"), jen.Id("steps"), jen.Id("x"), jen.Id("in"))))
	coreMethod(f, "Fire", "decides e and what it raises. r is not changed. The error is a *fsm.Rejection unless r is no record of\nthis machine.",
		g.decisionInputs(jen.Id("r").Add(g.fsm("Record"))), g.decisionResults(), body...)
	declare(f, "recordOf is r as a record of this machine.", "",
		jen.Func().Id("recordOf").Params(jen.Id("r").Add(g.fsm("Record"))).Params(jen.Op("*").Id("Record"), jen.Error()).Block(
			jen.If(jen.List(jen.Id("record"), jen.Id("ok")).Op(":=").Id("r").Assert(jen.Op("*").Id("Record")), jen.Id("ok").Op("&&").Id("record").Op("!=").Nil()).
				Block(jen.Return(jen.Id("record"), jen.Nil())),
			jen.Return(jen.Nil(), jen.Qual("fmt", "Errorf").Call(jen.Lit(g.m.Text+": %T is not a record of this machine"), jen.Id("r")))))
}

// chainOfSteps emits:
//
//	func chain(r *Record, steps Steps, x fired, in fsm.Input) (d fsm.Decision, err error) {
//		for d.Record = r; steps.Len() > 0; in.By = fsm.System() {
//			t := steps.Last()
//			d.Steps = append(d.Steps, stepOf(t, *r, x, in.By))
//			if t.Raises() == 0 {
//				break
//			}
//			raised := Raised(t, r, x.payload, x.call)
//			if raised == nil {
//				return fsm.Decision{}, r.reject(...)
//			}
//			if in.Single {
//				d.Raised = fsm.Fired(raised)
//				break
//			}
//			x.payload, x.event, x.call.By = raised, *fsm.Fired(raised), BySystem()
//			if steps, err = Step(r, x.payload, x.call); err != nil {
//				return fsm.Decision{}, err
//			}
//		}
//		return d, nil
//	}
//
// A machine that raises nothing has one step.
func (g *generator) chainOfSteps(f *jen.File) {
	in := []jen.Code{jen.Id("r").Op("*").Id("Record"), jen.Id("steps").Id("Steps"), jen.Id("x").Id("fired"), jen.Id("in").Add(g.fsm("Input"))}
	x := func(field string) *jen.Statement { return jen.Id("x").Dot(field) }
	chain := func(doc string, results *jen.Statement, body ...jen.Code) {
		declare(f, doc, "", jen.Func().Id("chain").Params(in...).Add(results).Block(body...))
	}
	by := jen.Id("in").Dot("By")
	taken := jen.Id("d").Dot("Steps").Op("=").Append(jen.Id("d").Dot("Steps"), jen.Id("stepOf").Call(jen.Id("t"), jen.Op("*").Id("r"), jen.Id("x"), by))
	last := jen.Id("t").Op(":=").Id("steps").Dot("Last").Call()
	if g.longestChain() == 1 {
		chain("chain tells the step that was taken, if one was.", g.decisionResults(),
			jen.Id("d").Op(":=").Add(g.fsm("Decision")).Values(jen.Id("Record").Op(":").Id("r")),
			jen.If(last, jen.Id("t").Op("!=").Lit(0)).Block(taken),
			jen.Return(jen.Id("d"), jen.Nil()))
		return
	}
	loop := []jen.Code{
		last, taken,
		jen.If(jen.Id("t").Dot("Raises").Call().Op("==").Lit(0)).Block(jen.Break()),
		jen.Id("raised").Op(":=").Id("Raised").Call(jen.Id("t"), jen.Id("r"), x("payload"), x("call")),
		jen.If(jen.Id("raised").Op("==").Nil()).Block(g.rejected(g.overflow())),
		jen.If(jen.Id("in").Dot("Single")).Block(
			jen.Id("d").Dot("Raised").Op("=").Add(g.fsm("Fired")).Call(jen.Id("raised")),
			jen.Break()),
		jen.If(jen.List(x("event"), jen.Err()).Op("=").Add(g.fsm("EventOf")).Call(jen.Id("raised")), jen.Err().Op("!=").Nil()).Block(g.rejected(jen.Err())),
	}
	if g.hasActors() {
		loop = append(loop, jen.List(x("payload"), x("call").Dot("By")).Op("=").List(jen.Id("raised"), jen.Id("BySystem").Call()))
	} else {
		loop = append(loop, x("payload").Op("=").Id("raised"))
	}
	loop = append(loop, jen.If(jen.List(jen.Id("steps"), jen.Err()).Op("=").Id("Step").Call(jen.Id("r"), x("payload"), x("call")), jen.Err().Op("!=").Nil()).
		Block(g.rejected(jen.Err())))
	chain("chain goes on from a first step with what it raises, step by step: all of them or none.",
		jen.Params(jen.Id("d").Add(g.fsm("Decision")), jen.Err().Error()),
		jen.For(jen.Id("d").Dot("Record").Op("=").Id("r"), jen.Id("steps").Dot("Len").Call().Op(">").Lit(0), jen.Id("in").Dot("By").Op("=").Add(g.fsm("System")).Call()).
			Block(loop...),
		jen.Return(jen.Id("d"), jen.Nil()))
}

// overflow rejects a step whose raised event can't be bound.
func (g *generator) overflow() *jen.Statement {
	args := []jen.Code{g.fsm("ErrInvalidEvent"), jen.Id("t").Dot("Raises").Call()}
	if g.hasActors() {
		args = append(args, jen.Id("BySystem").Call())
	}
	return jen.Id("r").Dot("reject").Call(args...).Dot("WithField").Call(jen.Lit("payload"), jen.Lit("overflows"))
}

// stepData emits:
//
//	func stepOf(t Transition, r Record, x fired, by fsm.Caller) fsm.Step {
//		s := table.Step(t, x.event, by, &r)
//		s.Terminal, s.Kind, s.Effects = t.To().Terminal(), t.To().Kind(), Effects(t, &r, x.payload, x.call)
//		if s.KeepDeadline = t.Internal() && r.State.keepsDeadline(); !s.KeepDeadline {
//			s.Deadline = deadlineData(&r, x.call)
//		}
//		return s
//	}
func (g *generator) stepData(f *jen.File) {
	t := func(name string) *jen.Statement { return jen.Id("t").Dot(name).Call() }
	s := func(name string) *jen.Statement { return jen.Id("s").Dot(name) }
	r := func() *jen.Statement { return jen.Op("&").Id("r") }
	body := []jen.Code{
		jen.Id("s").Op(":=").Id("table").Dot("Step").Call(jen.Id("t"), jen.Id("x").Dot("event"), jen.Id("by"), r()),
		jen.List(s("Terminal"), s("Kind")).Op("=").List(t("To").Dot("Terminal").Call(), t("To").Dot("Kind").Call()),
		s("Effects").Op("=").Id("Effects").Call(jen.Id("t"), r(), jen.Id("x").Dot("payload"), jen.Id("x").Dot("call")),
	}
	deadline := s("Deadline").Op("=").Id("deadlineData").Call(r(), jen.Id("x").Dot("call"))
	if g.keepsDeadlines() {
		body = append(body, jen.If(s("KeepDeadline").Op("=").Add(t("Internal")).Op("&&").Id("r").Dot("State").Dot("keepsDeadline").Call(),
			jen.Op("!").Add(s("KeepDeadline"))).Block(deadline))
	} else {
		body = append(body, deadline)
	}
	declare(f, "stepOf is a step as data. r is a copy of the record after t.", "",
		jen.Func().Id("stepOf").Params(jen.Id("t").Id("Transition"), jen.Id("r").Id("Record"), jen.Id("x").Id("fired"), jen.Id("by").Add(g.fsm("Caller"))).
			Add(g.fsm("Step")).Block(append(body, jen.Return(jen.Id("s")))...))
}

func keepsDeadline(s *ir.State) bool { return s.Timeout != nil && s.Timeout.After != nil }

// keepsDeadlines reports whether some state keeps its deadline when a step stays there.
func (g *generator) keepsDeadlines() bool { return slices.ContainsFunc(g.m.States, keepsDeadline) }

// deadlineData emits the deadline of a state as data.
func (g *generator) deadlineData(f *jen.File) {
	if g.keepsDeadlines() {
		g.stateFlag(f, "keepsDeadline", "s has a deadline that counts from the entry, so that a step that stays leaves it alone.", keepsDeadline)
	}
	declare(f, "deadlineData is the deadline of r as data, nil for none. c.Now is when r entered its state.", "",
		jen.Func().Id("deadlineData").Params(jen.Id("r").Op("*").Id("Record"), jen.Id("c").Id("Call")).Op("*").Add(g.fsm("Deadline")).Block(
			jen.List(jen.Id("d"), jen.Id("ok")).Op(":=").Id("DeadlineOf").Call(jen.Id("r"), jen.Id("c")),
			jen.Return(g.fsm("Due").Call(jen.Id("d").Dot("At"), jen.Id("d").Dot("Fire"), jen.Id("ok")))))
	coreMethod(f, "DeadlineOf", "returns the deadline that the state of r has if it was entered at the given time, nil for none.",
		[]jen.Code{jen.Id("r").Add(g.fsm("Record")), jen.Id("entered").Qual("time", "Time")}, jen.Op("*").Add(g.fsm("Deadline")),
		jen.List(jen.Id("record"), jen.Err()).Op(":=").Id("recordOf").Call(jen.Id("r")),
		jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Nil())),
		jen.Return(jen.Id("deadlineData").Call(jen.Id("record"), g.callLiteral(jen.Id("BySystem").Call(), jen.Id("entered")))))
}
