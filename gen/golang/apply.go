package golang

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// apply emits creation, and the entries that take any event as a value: what
// an engine calls, whose events come by name.
func (g *generator) apply(f *jen.File) {
	g.call(f)
	g.fireAny(f)
	if g.stepFunc() == "Step" {
		g.stepAny(f)
		g.raisedPayload(f)
	}
	g.constructors(f)
	g.dispatchNew(f, "FireNew", "creates a record by e and applies what that raises.",
		func(ev *ir.Event) string { return g.creation(ev).whole })
	if g.stepNewFunc() == "StepNew" {
		g.dispatchNew(f, "StepNew", "creates a record by e alone and leaves out what the step raises: see Raised.",
			func(ev *ir.Event) string { return g.creation(ev).step })
	}
}

// stepFunc is the function that takes one step: Fire itself where no row raises an event.
func (g *generator) stepFunc() string {
	if g.longestChain() > 1 {
		return "Step"
	}
	return "Fire"
}

// stepNewFunc is the function that takes the step of a creation.
func (g *generator) stepNewFunc() string {
	for _, row := range g.m.Rows {
		if row.From == nil && row.Raise != nil {
			return "StepNew"
		}
	}
	return "FireNew"
}

// call emits what a decision depends on besides the record and the event.
func (g *generator) call(f *jen.File) {
	declare(f, "Call is what a decision depends on besides the record and the event.", "",
		jen.Type().Id("Call").StructFunc(func(s *jen.Group) {
			if g.hasActors() {
				s.Id("By").Id("Actor")
			}
			if g.hasParams() {
				s.Id("Params").Id("Params")
			}
			s.Id("Now").Qual("time", "Time")
		}))
}

// ofCall is a field of the Call c.
func ofCall(name string) func() *jen.Statement {
	return func() *jen.Statement { return jen.Id("c").Dot(name) }
}

// callArguments are the arguments of a method of ev, out of a Call.
func (g *generator) callArguments(ev *ir.Event) []jen.Code {
	return g.arguments(ev, jen.Id("e"), ofCall("By")(), ofCall("Params")(), ofCall("Now")())
}

// rejectCall begins a rejection where the parameters come in a Call.
func (g *generator) rejectCall(reason string, event jen.Code) *jen.Statement {
	args := []jen.Code{g.fsm(reason), event}
	if g.hasActors() {
		args = append(args, jen.Id("c").Dot("By"))
	}
	return jen.Id("r").Dot("reject").Call(args...)
}

// typeSwitchOver switches over the payload; the variable e is only declared where
// some case reads it.
func typeSwitchOver(events []*ir.Event) *jen.Statement {
	for _, ev := range events {
		if hasPayload(ev) {
			return jen.Switch(jen.Id("e").Op(":=").Id("e").Assert(jen.Type()))
		}
	}
	return jen.Switch(jen.Id("e").Assert(jen.Type()))
}

// fireAny emits:
//
//	func Fire(r *Record, e Payload, c Call) (Steps, error) {
//		if !fsm.IsStruct(e) {
//			return Steps{}, r.reject(fsm.ErrInvalidEvent, 0).WithField("event", "is missing")
//		}
//		return e.fire(r, c)
//	}
//
//	func (e CommitUpload) fire(r *Record, c Call) (Steps, error) { return r.CommitUpload(e, c.Now) }
func (g *generator) fireAny(f *jen.File) {
	g.anyEvent(f, "Fire applies e and what it raises. It changes r only when it returns a step. Internal events\nare events too here: deadlines and the answers of effects come this way.", "Fire")
	f.Comment("// Each event by its own method.")
	for _, ev := range g.m.Events {
		g.payloadMethod(f, ev, "fire", g.method(ev).whole)
	}
	f.Line()
}

// stepAny emits the same for a step alone. It differs for the events that can raise another.
func (g *generator) stepAny(f *jen.File) {
	alone := jen.If(jen.List(jen.Id("e"), jen.Id("ok")).Op(":=").Id("e").Assert(jen.Id("raising")), jen.Id("ok")).Block(
		jen.Return(jen.Id("e").Dot("step").Call(jen.Id("r"), jen.Id("c"))))
	g.anyEvent(f, "Step applies e alone and leaves out what the step raises: see Raised.", "Step", alone)
	declare(f, "raising is an event that can raise another.", "",
		jen.Type().Id("raising").Interface(jen.Id("step").Params(onRecord()...).Add(results())))
	f.Comment("// Their steps alone.")
	for _, ev := range g.m.Events {
		if m := g.method(ev); m.step != m.whole {
			g.payloadMethod(f, ev, "step", m.step)
		}
	}
	f.Line()
}

// anyEvent emits a function that takes any event. A pointer is none: what its effects carry would
// be lost.
func (g *generator) anyEvent(f *jen.File, sentence, name string, special ...jen.Code) {
	missing := refuse(g.rejectCall("ErrInvalidEvent", jen.Lit(0)).Dot("WithField").Call(jen.Lit("event"), jen.Lit("is missing")))
	code := append([]jen.Code{jen.If(jen.Op("!").Add(g.fsm("IsStruct")).Call(jen.Id("e"))).Block(missing)}, special...)
	declare(f, sentence, "",
		jen.Func().Id(name).Params(jen.Id("r").Op("*").Id("Record"), jen.Id("e").Id("Payload"), jen.Id("c").Id("Call")).Add(results()).Block(
			append(code, jen.Return(jen.Id("e").Dot("fire").Call(jen.Id("r"), jen.Id("c"))))...))
}

// payloadMethod emits how ev applies itself to a record.
func (g *generator) payloadMethod(f *jen.File, ev *ir.Event, name, method string) {
	e := jen.Id(naming.Exported(ev.Text))
	if hasPayload(ev) {
		e = jen.Id("e").Add(e)
	}
	f.Func().Params(e).Id(name).Params(onRecord()...).Add(results()).Block(
		jen.Return(jen.Id("r").Dot(method).Call(g.callArguments(ev)...)))
}

func onRecord() []jen.Code {
	return []jen.Code{jen.Id("r").Op("*").Id("Record"), jen.Id("c").Id("Call")}
}

// raisedPayload emits what the two-step execution fires after a step.
func (g *generator) raisedPayload(f *jen.File) {
	declare(f, "Raised returns the event that the step t raises, nil for none. r is the record after t, e and c\nare what made it. The system fires it: in Step's own call, or later as a deadline that is due.", "",
		jen.Func().Id("Raised").Params(jen.Id("t").Id("Transition"), jen.Id("r").Op("*").Id("Record"), jen.Id("e").Id("Payload"), jen.Id("c").Id("Call")).
			Id("Payload").BlockFunc(func(b *jen.Group) {
			var cases sharedCases
			for _, row := range g.taken {
				if row.Raise != nil {
					cases.add(jen.Id(g.transition[row]), g.raisedBy(row))
				}
			}
			b.Switch(jen.Id("t")).Block(cases.code()...)
			b.Return(jen.Nil())
		}))
}

func (g *generator) raisedBy(row *ir.Row) []jen.Code {
	var code []jen.Code
	for _, a := range row.Raise.Args {
		if a.Value.A.Event != nil || a.Value.B.Event != nil {
			code = append(code, assertPayload(row.Event))
			break
		}
	}
	s := g.raised(row, "r", g.instant(ofCall("Now")), ofCall("By"), ofCall("Params"))
	bound, payload := g.bind(row.Raise, s, func(*ir.Field) *jen.Statement { return jen.Return(jen.Nil()) })
	return append(append(code, bound...), jen.Return(payload))
}

// assertPayload narrows e to the payload of ev.
func assertPayload(ev *ir.Event) *jen.Statement {
	return jen.List(jen.Id("e"), jen.Id("_")).Op(":=").Id("e").Assert(jen.Id(naming.Exported(ev.Text)))
}

func (g *generator) creationEvents() []*ir.Event {
	var out []*ir.Event
	for _, ev := range g.m.Events {
		if g.creates(ev) {
			out = append(out, ev)
		}
	}
	return out
}

func newResults() *jen.Statement {
	return jen.Params(jen.Id("Record"), jen.Id("Steps"), jen.Error())
}

// constructors emits NewRecord, or one function per event where several create:
//
//	func NewRecord(id fsm.UUID, e Start, now time.Time) (Record, Steps, error) {
//		r := blank(id)
//		steps, err := r.createStart(e, now)
//		return fsm.Created(r, steps, err)
//	}
func (g *generator) constructors(f *jen.File) {
	events := g.creationEvents()
	for _, ev := range events {
		name := "NewRecord"
		if len(events) > 1 {
			name = naming.GoNew.Of(ev.Text)
		}
		in := append([]jen.Code{jen.Id("id").Add(g.goType(g.m.ID.Type))}, g.inputs(ev)...)
		args := g.arguments(ev, jen.Id("e"), jen.Id("by"), jen.Id("p"), jen.Id("now"))
		declare(f, fmt.Sprintf("%s creates a record by %s.", name, ev.Text), "",
			jen.Func().Id(name).Params(in...).Add(newResults()).Block(
				jen.Id("r").Op(":=").Id("blank").Call(jen.Id("id")),
				jen.List(jen.Id("steps"), jen.Err()).Op(":=").Id("r").Dot(g.creation(ev).whole).Call(args...),
				jen.Return(g.fsm("Created").Call(jen.Id("r"), jen.Id("steps"), jen.Err())),
			))
	}
}

// dispatchNew emits the creation by any event. An event that can't create has
// no transition.
func (g *generator) dispatchNew(f *jen.File, name, doc string, method func(*ir.Event) string) {
	in := []jen.Code{jen.Id("id").Add(g.goType(g.m.ID.Type)), jen.Id("e").Id("Payload"), jen.Id("c").Id("Call")}
	reject := func(x *jen.Statement) *jen.Statement {
		return jen.Return(jen.Id("Record").Values(), jen.Id("Steps").Values(), x)
	}
	declare(f, name+" "+doc, "", jen.Func().Id(name).Params(in...).Add(newResults()).Block(
		jen.Id("r").Op(":=").Id("blank").Call(jen.Id("id")),
		typeSwitchOver(g.creationEvents()).BlockFunc(func(cases *jen.Group) {
			cases.Case(jen.Nil()).Block(
				reject(g.rejectCall("ErrInvalidEvent", jen.Lit(0)).Dot("WithField").Call(jen.Lit("event"), jen.Lit("is missing"))))
			for _, ev := range g.creationEvents() {
				cases.Case(jen.Id(naming.Exported(ev.Text))).Block(
					jen.List(jen.Id("steps"), jen.Err()).Op(":=").Id("r").Dot(method(ev)).Call(g.callArguments(ev)...),
					jen.Return(g.fsm("Created").Call(jen.Id("r"), jen.Id("steps"), jen.Err())))
			}
		}),
		reject(g.rejectCall("ErrInvalidTransition", jen.Id("e").Dot("Event").Call())),
	))
}
