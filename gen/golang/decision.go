package golang

import (
	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// decision emits how an engine decides: events come by name with JSON payloads,
// and each step of a chain has a copy of the record of its own.
func (g *generator) decision(f *jen.File) {
	g.recordFace(f)
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

// decodedEvent are the statements that read the event and the caller; r rejects
// a caller who is none.
//
//	payload, err := DecodeEvent(e.Name, e.Payload)
//	if err != nil {
//		return fsm.Decision{}, err
//	}
//	c := Call{Params: m.params, Now: in.Now}
//	if c.By, err = actorOf(in.By); err != nil {
//		return fsm.Decision{}, r.reject(fsm.ErrNotAllowed, payload.Event(), c.By).WithField("actor", err.Error())
//	}
func (g *generator) decodedEvent(record string) []jen.Code {
	code := []jen.Code{
		jen.List(jen.Id("payload"), jen.Err()).Op(":=").Id("DecodeEvent").Call(jen.Id("e").Dot("Name"), jen.Id("e").Dot("Payload")),
		g.unless(jen.Err()),
		jen.Id("c").Op(":=").Add(g.callLiteral(nil, jen.Id("in").Dot("Now"))),
	}
	if g.hasActors() {
		reject := jen.Id(record).Dot("reject").Call(g.fsm("ErrNotAllowed"), jen.Id("payload").Dot("Event").Call(), jen.Id("c").Dot("By"))
		code = append(code, jen.If(jen.List(jen.Id("c").Dot("By"), jen.Err()).Op("=").Id("actorOf").Call(jen.Id("in").Dot("By")), jen.Err().Op("!=").Nil()).
			Block(g.rejected(reject.Dot("WithField").Call(jen.Lit("actor"), jen.Err().Dot("Error").Call()))))
	}
	return code
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
//		record, steps, err := StepNew(key, payload, c)
//		if err != nil {
//			return fsm.Decision{}, err
//		}
//		return m.chain(&record, steps, payload, c, in)
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
	body = append(body, g.decodedEvent("none")...)
	body = append(body,
		jen.List(jen.Id("record"), jen.Id("steps"), jen.Err()).Op(":=").Id(g.stepNewFunc()).Call(jen.Id("key"), jen.Id("payload"), jen.Id("c")),
		g.unless(jen.Err()),
		jen.Return(jen.Id("m").Dot("chain").Call(jen.Op("&").Id("record"), jen.Id("steps"), jen.Id("payload"), jen.Id("c"), jen.Id("in"))))
	coreMethod(f, "Create", "decides the creation of a record and what that raises. The error is a *fsm.Rejection.",
		g.decisionInputs(jen.Id("id").String()), g.decisionResults(), body...)
}

// engineFire emits:
//
//	func (m core) Fire(r fsm.Record, e fsm.Event, in fsm.Input) (fsm.Decision, error) {
//		record, ok := r.(*Record)
//		...
//		next := *record
//		steps, err := Step(&next, payload, c)
//		if err != nil {
//			return fsm.Decision{}, err
//		}
//		return m.chain(&next, steps, payload, c, in)
//	}
func (g *generator) engineFire(f *jen.File) {
	body := []jen.Code{
		jen.List(jen.Id("record"), jen.Id("ok")).Op(":=").Id("r").Assert(jen.Op("*").Id("Record")),
		jen.If(jen.Op("!").Id("ok").Op("||").Id("record").Op("==").Nil()).Block(
			g.rejected(jen.Qual("fmt", "Errorf").Call(jen.Lit(g.m.Text+": %T is not a record of this machine"), jen.Id("r")))),
		jen.Id("next").Op(":=").Op("*").Id("record"),
	}
	body = append(body, g.decodedEvent("record")...)
	body = append(body,
		jen.List(jen.Id("steps"), jen.Err()).Op(":=").Id(g.stepFunc()).Call(jen.Op("&").Id("next"), jen.Id("payload"), jen.Id("c")),
		g.unless(jen.Err()),
		jen.Return(jen.Id("m").Dot("chain").Call(jen.Op("&").Id("next"), jen.Id("steps"), jen.Id("payload"), jen.Id("c"), jen.Id("in"))))
	coreMethod(f, "Fire", "decides e and what it raises. r is not changed. The error is a *fsm.Rejection unless r is no record of\nthis machine.",
		g.decisionInputs(jen.Id("r").Add(g.fsm("Record"))), g.decisionResults(), body...)
}

// chainOfSteps emits:
//
//	func (m core) chain(r *Record, steps Steps, e Payload, c Call, in fsm.Input) (fsm.Decision, error) {
//		d := fsm.Decision{Record: r}
//		for by := in.By; steps.Len() > 0; by = fsm.System() {
//			t := steps.Last()
//			step, err := stepOf(t, *r, e, c, by)
//			...
//			d.Steps = append(d.Steps, step)
//			raised := Raised(t, r, e, c)
//			if raised == nil {
//				break
//			}
//			if in.Single {
//				d.Raised = fsm.Fired(raised)
//				break
//			}
//			e, c.By = raised, BySystem()
//			if steps, err = Step(r, e, c); err != nil {
//				return fsm.Decision{}, err
//			}
//		}
//		return d, nil
//	}
//
// A machine that raises nothing has one step.
func (g *generator) chainOfSteps(f *jen.File) {
	in := []jen.Code{
		jen.Id("r").Op("*").Id("Record"), jen.Id("steps").Id("Steps"), jen.Id("e").Id("Payload"), jen.Id("c").Id("Call"),
		jen.Id("in").Add(g.fsm("Input")),
	}
	taken := func(by jen.Code) []jen.Code {
		return []jen.Code{
			jen.Id("t").Op(":=").Id("steps").Dot("Last").Call(),
			jen.List(jen.Id("step"), jen.Err()).Op(":=").Id("stepOf").Call(jen.Id("t"), jen.Op("*").Id("r"), jen.Id("e"), jen.Id("c"), by),
			g.unless(jen.Err()),
			jen.Id("d").Dot("Steps").Op("=").Append(jen.Id("d").Dot("Steps"), jen.Id("step")),
		}
	}
	begin := jen.Id("d").Op(":=").Add(g.fsm("Decision")).Values(jen.Id("Record").Op(":").Id("r"))
	end := jen.Return(jen.Id("d"), jen.Nil())
	if g.longestChain() == 1 {
		coreMethod(f, "chain", "tells the step that was taken, if one was.", in, g.decisionResults(), begin,
			jen.If(jen.Id("steps").Dot("Len").Call().Op(">").Lit(0)).Block(taken(jen.Id("in").Dot("By"))...), end)
		return
	}
	loop := append(taken(jen.Id("by")),
		jen.If(jen.Id("t").Dot("Raises").Call().Op("==").Lit(0)).Block(jen.Break()),
		jen.Id("raised").Op(":=").Id("Raised").Call(jen.Id("t"), jen.Id("r"), jen.Id("e"), jen.Id("c")),
		jen.If(jen.Id("raised").Op("==").Nil()).Block(g.rejected(g.overflow())),
		jen.If(jen.Id("in").Dot("Single")).Block(
			jen.Id("d").Dot("Raised").Op("=").Add(g.fsm("Fired")).Call(jen.Id("raised")),
			jen.Break()))
	if g.hasActors() {
		loop = append(loop, jen.List(jen.Id("e"), jen.Id("c").Dot("By")).Op("=").List(jen.Id("raised"), jen.Id("BySystem").Call()))
	} else {
		loop = append(loop, jen.Id("e").Op("=").Id("raised"))
	}
	loop = append(loop, jen.If(jen.List(jen.Id("steps"), jen.Err()).Op("=").Id("Step").Call(jen.Id("r"), jen.Id("e"), jen.Id("c")), jen.Err().Op("!=").Nil()).
		Block(g.rejected(jen.Err())))
	coreMethod(f, "chain", "goes on from a first step with what it raises, step by step: all of them or none.", in, g.decisionResults(), begin,
		jen.For(jen.Id("by").Op(":=").Id("in").Dot("By"), jen.Id("steps").Dot("Len").Call().Op(">").Lit(0), jen.Id("by").Op("=").Add(g.fsm("System")).Call()).
			Block(loop...), end)
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
//	func stepOf(t Transition, r Record, e Payload, c Call, by fsm.Caller) (fsm.Step, error) {
//		carried, err := fsm.EventOf(e)
//		if err != nil {
//			return fsm.Step{}, err
//		}
//		s := fsm.Step{Transition: t.String(), Event: carried.Name, ..., Record: &r, Effects: Effects(t, &r, e, c)}
//		if t.From() != 0 {
//			s.From = t.From().String()
//		}
//		if s.KeepDeadline = t.Internal() && r.State.keepsDeadline(); !s.KeepDeadline {
//			s.Deadline = deadlineData(&r, c)
//		}
//		return s, nil
//	}
func (g *generator) stepData(f *jen.File) {
	cell := func(name string, v *jen.Statement) jen.Code { return jen.Id(name).Op(":").Add(v) }
	t := func(name string) *jen.Statement { return jen.Id("t").Dot(name).Call() }
	step := g.fsm("Step").Values(lines([]jen.Code{
		cell("Transition", t("String")), cell("Event", jen.Id("carried").Dot("Name")), cell("To", t("To").Dot("String").Call()),
		cell("Internal", t("Internal")), cell("Terminal", t("To").Dot("Terminal").Call()), cell("Kind", t("To").Dot("Kind").Call()),
		cell("Payload", jen.Id("carried").Dot("Payload")), cell("By", jen.Id("by")), cell("Record", jen.Op("&").Id("r")),
		cell("Effects", jen.Id("Effects").Call(jen.Id("t"), jen.Op("&").Id("r"), jen.Id("e"), jen.Id("c"))),
	}))
	declare(f, "stepOf is a step as data. r is a copy of the record after t.", "",
		jen.Func().Id("stepOf").Params(jen.Id("t").Id("Transition"), jen.Id("r").Id("Record"), jen.Id("e").Id("Payload"), jen.Id("c").Id("Call"),
			jen.Id("by").Add(g.fsm("Caller"))).Params(g.fsm("Step"), jen.Error()).Block(
			jen.List(jen.Id("carried"), jen.Err()).Op(":=").Add(g.fsm("EventOf")).Call(jen.Id("e")),
			jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(g.fsm("Step").Values(), jen.Err())),
			jen.Id("s").Op(":=").Add(step),
			jen.If(t("From").Op("!=").Lit(0)).Block(jen.Id("s").Dot("From").Op("=").Add(t("From")).Dot("String").Call()),
			jen.If(jen.Id("s").Dot("KeepDeadline").Op("=").Add(t("Internal")).Op("&&").Id("r").Dot("State").Dot("keepsDeadline").Call(),
				jen.Op("!").Id("s").Dot("KeepDeadline")).Block(
				jen.Id("s").Dot("Deadline").Op("=").Id("deadlineData").Call(jen.Op("&").Id("r"), jen.Id("c"))),
			jen.Return(jen.Id("s"), jen.Nil()),
		))
}

// deadlineData emits the deadline of a state as data.
func (g *generator) deadlineData(f *jen.File) {
	g.stateFlag(f, "keepsDeadline", "s has a deadline that counts from the entry, so that a step that stays leaves it alone.",
		func(s *ir.State) bool { return s.Timeout != nil && s.Timeout.After != nil })
	declare(f, "deadlineData is the deadline of r as data, nil for none. c.Now is when r entered its state.", "",
		jen.Func().Id("deadlineData").Params(jen.Id("r").Op("*").Id("Record"), jen.Id("c").Id("Call")).Op("*").Add(g.fsm("Deadline")).Block(
			jen.List(jen.Id("d"), jen.Id("ok")).Op(":=").Id("DeadlineOf").Call(jen.Id("r"), jen.Id("c")),
			jen.If(jen.Op("!").Id("ok")).Block(jen.Return(jen.Nil())),
			jen.Return(jen.Op("&").Add(g.fsm("Deadline")).Values(
				jen.Id("At").Op(":").Id("d").Dot("At"), jen.Id("Fire").Op(":").Op("*").Add(g.fsm("Fired")).Call(jen.Id("d").Dot("Fire"))))))
	coreMethod(f, "DeadlineOf", "returns the deadline that the state of r has if it was entered at the given time, nil for none.",
		[]jen.Code{jen.Id("r").Add(g.fsm("Record")), jen.Id("entered").Qual("time", "Time")}, jen.Op("*").Add(g.fsm("Deadline")),
		jen.List(jen.Id("record"), jen.Id("ok")).Op(":=").Id("r").Assert(jen.Op("*").Id("Record")),
		jen.If(jen.Op("!").Id("ok").Op("||").Id("record").Op("==").Nil()).Block(jen.Return(jen.Nil())),
		jen.Return(jen.Id("deadlineData").Call(jen.Id("record"), g.callLiteral(jen.Id("BySystem").Call(), jen.Id("entered")))))
}
