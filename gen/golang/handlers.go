package golang

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// handlers emits what a service writes for the machine, and how an engine calls
// it: the interface Handlers, the closed set of answers of each work, and the
// way from a dispatch to a typed method.
func (g *generator) handlers(f *jen.File) {
	g.handlerInterface(f)
	for _, e := range g.calls(func(e *ir.Effect) bool { return len(e.Returns) > 0 }) {
		g.answer(f, e)
		g.binder(f, e)
	}
	g.handleTx(f)
	g.handle(f)
	g.query(f)
	g.failure(f)
	g.loss(f)
}

// calls lists the effects of kind call that are as asked, in spec order.
func (g *generator) calls(as func(*ir.Effect) bool) []*ir.Effect {
	var out []*ir.Effect
	for _, e := range g.m.Effects {
		if e.Kind.Handled() && as(e) {
			out = append(out, e)
		}
	}
	return out
}

func inTransaction(e *ir.Effect) bool { return e.Delivery.InStep() }

func context() jen.Code { return jen.Id("ctx").Qual("context", "Context") }

// handlerInterface emits:
//
//	type Handlers[Tx any] interface {
//		InsertBlobRow(ctx context.Context, tx Tx, d fsm.Dispatch, e InsertBlobRowEffect) error
//		IssuePartURLs(ctx context.Context, d fsm.Dispatch, e IssuePartURLsEffect) error
//		CreateDevice(ctx context.Context, d fsm.Dispatch, e CreateDeviceEffect) (CreateDeviceAnswer, error)
//		QueryCreateDevice(ctx context.Context, d fsm.Dispatch, e CreateDeviceEffect) (answer CreateDeviceAnswer, done bool, err error)
//	}
func (g *generator) handlerInterface(f *jen.File) {
	declare(f, "Handlers carries out the calls of the machine: a method per effect. Leaving one out does not\ncompile. d.ID is the same for every attempt.", "",
		jen.Type().Id("Handlers").Types(jen.Id("Tx").Any()).InterfaceFunc(func(s *jen.Group) {
			for _, e := range g.calls(func(*ir.Effect) bool { return true }) {
				s.Add(comment(naming.GoHandler.Of(e.Text)+" "+promise(e), e.Doc).Id(naming.GoHandler.Of(e.Text)).
					Params(g.handlerInputs(e)...).Add(g.handlerResults(e)))
				if !e.Delivery.Asked() {
					continue
				}
				s.Add(comment(fmt.Sprintf("%s asks whether %s has happened. Not done: it is carried out.", naming.GoQuery.Of(e.Text), e.Text), "").
					Id(naming.GoQuery.Of(e.Text)).Params(g.handlerInputs(e)...).Add(g.queryResults(e)))
			}
		}))
}

// promise says what the delivery class of an effect means for its handler.
func promise(e *ir.Effect) string {
	does := "carries out " + e.Text + ". "
	switch e.Delivery {
	case ir.InTransaction:
		return does + "It runs inside the transaction of the step: an error refuses the step."
	case ir.Idempotent:
		return does + "It may run again, so twice must be as good as once."
	case ir.Keyed:
		return does + "It may run again, with the same d.ID for the receiver to know it by."
	case ir.Queryable:
		return does + "Before it runs again, its query is asked."
	case ir.AtMostOnce:
		return does + "It never runs again, whatever becomes of it."
	}
	panic(ir.NoForm("golang.promise", e.Delivery))
}

func (g *generator) handlerInputs(e *ir.Effect) []jen.Code {
	in := []jen.Code{context()}
	if inTransaction(e) {
		in = append(in, jen.Id("tx").Id("Tx"))
	}
	return append(in, jen.Id("d").Add(g.fsm("Dispatch")), jen.Id("e").Id(naming.GoEffect.Of(e.Text)))
}

func (g *generator) handlerResults(e *ir.Effect) *jen.Statement {
	if len(e.Returns) == 0 {
		return jen.Error()
	}
	return jen.Params(jen.Id(naming.GoAnswer.Of(e.Text)), jen.Error())
}

func (g *generator) queryResults(e *ir.Effect) *jen.Statement {
	out := []jen.Code{jen.Id("done").Bool(), jen.Err().Error()}
	if len(e.Returns) > 0 {
		out = append([]jen.Code{jen.Id("answer").Id(naming.GoAnswer.Of(e.Text))}, out...)
	}
	return jen.Params(out...)
}

// handlerCall passes the payload of a dispatch to a method of Handlers; with is the function of
// package fsm that does, binder what makes an event of the answer, nil for no answer.
//
//	case "create_device":
//		return fsm.HandleAnswered(d, func(e CreateDeviceEffect) (CreateDeviceAnswer, error) { return m.handlers.CreateDevice(ctx, d, e) }, bindCreateDevice, "pool_name")
func (g *generator) handlerCall(e *ir.Effect, with, name string, out *jen.Statement, binder jen.Code) *jen.Statement {
	payload := jen.Id("e").Id(naming.GoEffect.Of(e.Text))
	args := []jen.Code{
		jen.Id("d"),
		jen.Func().Params(payload).Add(out).Values(jen.Return(g.callHandler(name, e))), // on one line
	}
	if binder != nil {
		args = append(args, binder)
	}
	for _, it := range g.items(e) {
		if requires(it.typ) {
			args = append(args, jen.Lit(it.name))
		}
	}
	return g.fsm(with).Call(args...)
}

// requires reports whether a field of an effect is always in its payload. An empty list
// and an empty JSON value are null there.
func requires(t ir.Type) bool { return !t.Optional && !t.Base.EmptyIsNull() }

// method calls a handler.
func (g *generator) callHandler(name string, e *ir.Effect) *jen.Statement {
	args := []jen.Code{jen.Id("ctx")}
	if inTransaction(e) {
		args = append(args, jen.Id("tx"))
	}
	return jen.Id("m").Dot("handlers").Dot(name).Call(append(args, jen.Id("d"), jen.Id("e"))...)
}

// dispatchMethod emits a method of Definition that switches over d.Effect.
func (g *generator) dispatchMethod(f *jen.File, name, doc string, in []jen.Code, out *jen.Statement, cases, otherwise []jen.Code) {
	var body []jen.Code
	if len(cases) > 0 {
		body = append(body, jen.Switch(jen.Id("d").Dot("Effect")).Block(cases...))
	}
	unknown := g.fsm("UnknownEffect").Call(jen.Id("MachineName"), jen.Id("d").Dot("Effect"))
	in = append(append([]jen.Code{context()}, in...), jen.Id("d").Add(g.fsm("Dispatch")))
	declare(f, name+" "+doc, "", jen.Func().Params(jen.Id("m").Op("*").Id("Definition").Index(jen.Id("Tx"))).Id(name).
		Params(in...).Add(out).Block(append(body, jen.Return(append(otherwise, unknown)...))...))
}

func (g *generator) handleTx(f *jen.File) {
	var cases []jen.Code
	for _, e := range g.calls(inTransaction) {
		call := g.handlerCall(e, "Handle", naming.GoHandler.Of(e.Text), jen.Error(), nil)
		cases = append(cases, jen.Case(jen.Lit(e.Text)).Block(jen.Return(call)))
	}
	g.dispatchMethod(f, "HandleTx", "carries out a call inside the transaction of its step.",
		[]jen.Code{jen.Id("tx").Id("Tx")}, jen.Error(), cases, nil)
}

// handle emits the other calls: the answer of work is bound, a message has none.
func (g *generator) handle(f *jen.File) {
	var cases []jen.Code
	for _, e := range g.calls(func(e *ir.Effect) bool { return !inTransaction(e) }) {
		name := naming.GoHandler.Of(e.Text)
		results := jen.Return(jen.Nil(), g.handlerCall(e, "Handle", name, jen.Error(), nil))
		if len(e.Returns) > 0 {
			results = jen.Return(g.handlerCall(e, "HandleAnswered", name, g.handlerResults(e), g.binderOf(e)))
		}
		cases = append(cases, jen.Case(jen.Lit(e.Text)).Block(results))
	}
	g.dispatchMethod(f, "Handle", "carries out any other call. The event is its answer, nil where it has none to give.",
		nil, jen.Params(jen.Op("*").Add(g.fsm("Event")), jen.Error()), cases, []jen.Code{jen.Nil()})
}

// query emits the question whether a call has happened.
func (g *generator) query(f *jen.File) {
	var cases []jen.Code
	for _, e := range g.calls(func(e *ir.Effect) bool { return e.Delivery.Asked() }) {
		name := naming.GoQuery.Of(e.Text)
		code := []jen.Code{
			jen.List(jen.Id("done"), jen.Err()).Op("=").Add(g.handlerCall(e, "Query", name, jen.Params(jen.Bool(), jen.Error()), nil)),
			jen.Return(jen.Nil(), jen.Id("done"), jen.Err()),
		}
		if len(e.Returns) > 0 {
			out := jen.Params(jen.Id(naming.GoAnswer.Of(e.Text)), jen.Bool(), jen.Error())
			code = []jen.Code{jen.Return(g.handlerCall(e, "QueryAnswered", name, out, g.binderOf(e)))}
		}
		cases = append(cases, jen.Case(jen.Lit(e.Text)).Block(code...))
	}
	g.dispatchMethod(f, "Query", "asks whether a queryable call has happened. done false: it has not.",
		nil, jen.Params(jen.Id("answer").Op("*").Add(g.fsm("Event")), jen.Id("done").Bool(), jen.Err().Error()),
		cases, []jen.Code{jen.Nil(), jen.False()})
}
