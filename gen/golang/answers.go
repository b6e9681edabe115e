package golang

import (
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// answered lists the events that e may answer with, each with its fire forms.
func answered(e *ir.Effect) (events []*ir.Event, forms map[*ir.Event][]*ir.Fire) {
	forms = map[*ir.Event][]*ir.Fire{}
	for _, fire := range e.Returns {
		if forms[fire.Event] == nil {
			events = append(events, fire.Event)
		}
		forms[fire.Event] = append(forms[fire.Event], fire)
	}
	return events, forms
}

// answer emits the closed set of answers of e:
//
//	type CreateDeviceAnswer interface {
//		Payload
//		answersCreateDevice()
//	}
//
//	func (DeviceReady) answersCreateDevice() {}
func (g *generator) answer(f *jen.File, e *ir.Effect) {
	name, seal := naming.GoAnswer.Of(e.Text), "answers"+naming.Exported(e.Text)
	events, _ := answered(e)
	var names []string
	for _, ev := range events {
		names = append(names, ev.Text)
	}
	declare(f, fmt.Sprintf("%s is what %s may answer: %s.", name, e.Text, strings.Join(names, ", ")), "",
		jen.Type().Id(name).Interface(jen.Id("Payload"), jen.Id(seal).Params()))
	for _, ev := range events {
		f.Func().Params(jen.Id(exportedEvent(ev))).Id(seal).Params().Block()
	}
	f.Line()
}

// binder emits the way from an answer to its event. What the spec binds is set,
// whatever the handler put there; where it lists one event in several forms,
// what they agree on.
//
//	func bindValidatePayload(answer ValidatePayloadAnswer) (*fsm.Event, error) {
//		switch e := answer.(type) {
//		case ValidationPassed:
//			e.ValidationResult = fsm.Some(ValidationPassed)
//			return fsm.AnswerOf(e)
//		}
//		return nil, fsm.NoAnswer(MachineName, "validate_payload", answer)
//	}
func (g *generator) binder(f *jen.File, e *ir.Effect) {
	events, forms := answered(e)
	in := []jen.Code{jen.Id("answer").Id(naming.GoAnswer.Of(e.Text))}
	if g.answerReadsParams(e) {
		in = append(in, jen.Id("p").Id("Params"))
	}
	unbound := func() *jen.Statement {
		return jen.Return(jen.Nil(), g.fsm("NoAnswer").Call(jen.Id("MachineName"), jen.Lit(e.Text), jen.Id("answer")))
	}
	declare(f, fmt.Sprintf("%s is an answer of %s with what the spec binds.", binderName(e), e.Text), "",
		jen.Func().Id(binderName(e)).Params(in...).Params(jen.Op("*").Add(g.fsm("Event")), jen.Error()).Block(
			jen.Switch(jen.Id("e").Op(":=").Id("answer").Assert(jen.Type())).BlockFunc(func(cases *jen.Group) {
				for _, ev := range events {
					code := g.assignBound(forms[ev], unbound)
					cases.Case(jen.Id(exportedEvent(ev))).Block(append(code, jen.Return(g.fsm("AnswerOf").Call(jen.Id("e"))))...)
				}
			}),
			unbound()))
}

func binderName(e *ir.Effect) string { return "bind" + naming.Exported(e.Text) }

func (g *generator) binderOf(e *ir.Effect) *jen.Statement {
	if !g.answerReadsParams(e) {
		return jen.Id(binderName(e))
	}
	call := jen.Id(binderName(e)).Call(jen.Id("answer"), jen.Id("m").Dot("params"))
	return jen.Func().Params(jen.Id("answer").Id(naming.GoAnswer.Of(e.Text))).
		Params(jen.Op("*").Add(g.fsm("Event")), jen.Error()).Values(jen.Return(call))
}

// answerReadsParams reports whether the bindings of e's answers read a param.
func (g *generator) answerReadsParams(e *ir.Effect) bool {
	for _, fire := range e.Returns {
		for _, a := range fire.Args {
			if a.Value.A.Param != nil || a.Value.B.Param != nil {
				return true
			}
		}
	}
	return false
}

// assignBound sets in e the fields that all forms of one event bind alike.
func (g *generator) assignBound(forms []*ir.Fire, overflow func() *jen.Statement) []jen.Code {
	var code []jen.Code
	s := g.answerScope(id("p"))
	for _, p := range payload(forms[0].Event) {
		a := boundBy(forms, p.field)
		if a == nil {
			continue
		}
		sum, v := s.evaluate(&a.Value, a.Target.Text, overflow)
		if v.absent && !p.typ.Optional {
			continue // the checker refuses it
		}
		code = append(code, sum...)
		set := jen.Id("e").Dot(naming.Exported(p.field.Text)).Op("=")
		code = append(code, set.Add(g.stored(v, p.typ)))
	}
	return code
}

// boundBy returns the binding of f that all forms have, nil where they differ.
func boundBy(forms []*ir.Fire, f *ir.Field) *ir.Assign {
	var found *ir.Assign
	for _, fire := range forms {
		var own *ir.Assign
		for i := range fire.Args {
			if fire.Args[i].Target.Text == f.Text {
				own = &fire.Args[i]
			}
		}
		if own == nil || found != nil && found.Value.Text != own.Value.Text {
			return nil
		}
		found = own
	}
	return found
}

// answerScope knows literals, params and the message of a failure: an answer
// does not read the record.
func (g *generator) answerScope(params func() *jen.Statement) *scope {
	return &scope{g: g, params: params}
}

// failure emits what is fired when a call has failed for good:
//
//	func (m core) FailEvent(effect, message string) *fsm.Event {
//		switch effect {
//		case "create_device":
//			return fsm.Fired(DeviceFailed{Cause: fsm.Some(fsm.Message(message, 200))})
//		}
//		return nil
//	}
func (g *generator) failure(f *jen.File) {
	g.firedBy(f, "FailEvent", "returns what is fired when the effect has failed for good, nil for nothing. message tells why.",
		[]jen.Code{jen.List(jen.Id("effect"), jen.Id("message")).String()}, func(e *ir.Effect) *ir.Fire { return e.Fails })
}

// loss emits what is fired when it is unknown whether a call happened.
func (g *generator) loss(f *jen.File) {
	g.firedBy(f, "LostEvent", "returns what is fired when an attempt has an unknown outcome and must not be repeated, nil for\nnothing.",
		[]jen.Code{jen.Id("effect").String()}, func(e *ir.Effect) *ir.Fire { return e.Lost })
}

func (g *generator) firedBy(f *jen.File, name, doc string, in []jen.Code, of func(*ir.Effect) *ir.Fire) {
	var cases []jen.Code
	for _, e := range g.calls(func(e *ir.Effect) bool { return of(e) != nil }) {
		s := g.answerScope(func() *jen.Statement { return jen.Id("m").Dot("params") })
		s.message = g.message(of(e))
		code, payload := g.bind(of(e), s, func(*ir.Field) *jen.Statement { return jen.Return(jen.Nil()) })
		cases = append(cases, jen.Case(jen.Lit(e.Text)).Block(append(code, jen.Return(g.fsm("Fired").Call(payload)))...))
	}
	if len(cases) == 0 {
		return
	}
	coreMethod(f, name, doc, in, jen.Op("*").Add(g.fsm("Event")), jen.Switch(jen.Id("effect")).Block(cases...), jen.Return(jen.Nil()))
}

// message is $error, cut to what the fields that it is bound to can hold.
func (g *generator) message(fire *ir.Fire) func() *jen.Statement {
	limit := 0
	for _, a := range fire.Args {
		if a.Value.A.Special == ir.ErrorText && a.Target.Max != nil && (limit == 0 || int(*a.Target.Max) < limit) {
			limit = int(*a.Target.Max)
		}
	}
	return func() *jen.Statement { return g.fsm("Message").Call(jen.Id("message"), jen.Lit(limit)) }
}

// exportedEvent is the payload struct of ev.
func exportedEvent(ev *ir.Event) string { return naming.Exported(ev.Text) }
