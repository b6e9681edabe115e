package golang

import (
	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// client emits the typed client: what the machine adds to package runtime/client.
//
//	type Calls struct {
//		client.Calls[fsm.UUID, Payload, *Record]
//	}
//
//	func Within(tx client.Firer) Calls {
//		return Calls{client.NewCalls[fsm.UUID, Payload, *Record](MachineName, tx)}
//	}
func (g *generator) client(f *jen.File) {
	calls := func(name string) *jen.Statement {
		return g.qualClient(name).Types(g.goType(g.m.ID.Type), jen.Id("Payload"), jen.Op("*").Id("Record"))
	}
	declare(f, "Calls fires the events of "+g.m.Text+": each in a transaction of its own, or all in the one of Within and\n"+
		"Client.Tx. A refused event is a *fsm.Rejection.", "", jen.Type().Id("Calls").Struct(calls("Calls")))
	declare(f, "Within returns the calls in a transaction that the engine commits: see its Transact.", "",
		jen.Func().Id("Within").Params(jen.Id("tx").Add(g.qualClient("Firer"))).Id("Calls").Block(
			jen.Return(jen.Id("Calls").Values(calls("NewCalls").Call(jen.Id("MachineName"), jen.Id("tx"))))))
	g.clientType(f)
	if g.hasActors() {
		declare(f, "Apply makes a the caller of an event: an Actor is an option of Calls and of Client.Legal.", "",
			jen.Func().Params(jen.Id("a").Id("Actor")).Id("Apply").Params(jen.Id("c").Op("*").Add(g.qualClient("Call"))).Block(
				jen.Id("c").Dot("By").Op("=").Id("a").Dot("Caller").Call()))
	}
	for _, ev := range g.m.Events {
		if g.creates(ev) {
			g.clientCall(f, ev, true)
		}
		if g.public(ev) {
			g.clientCall(f, ev, false)
		}
	}
}

// clientType emits:
//
//	type Client[Tx any] struct {
//		Calls
//		client.Client[Tx, fsm.UUID, State, Event, Payload, *Record]
//	}
//
//	func In[Tx any](e client.Engine[Tx]) *Client[Tx] {
//		words := client.Words[State, Event, Payload]{State: ParseState, Event: ParseEvent, Decode: DecodeEvent}
//		return &Client[Tx]{Within(e), client.NewClient[fsm.UUID, *Record](MachineName, e, words)}
//	}
//
//	func (c *Client[Tx]) Tx(tx Tx) Calls {
//		return Within(c.Client.FirerIn(tx))
//	}
func (g *generator) clientType(f *jen.File) {
	typed := func() *jen.Statement { return jen.Id("Client").Index(jen.Id("Tx")) }
	declare(f, "Client fires the events of "+g.m.Text+" and reads its records. It is safe for concurrent use.", "",
		jen.Type().Id("Client").Types(jen.Id("Tx").Any()).Struct(
			jen.Id("Calls"),
			g.qualClient("Client").Types(jen.Id("Tx"), g.goType(g.m.ID.Type), jen.Id("State"), jen.Id("Event"), jen.Id("Payload"), jen.Op("*").Id("Record"))))
	words := g.qualClient("Words").Types(jen.Id("State"), jen.Id("Event"), jen.Id("Payload")).Values(
		jen.Id("State").Op(":").Id("ParseState"), jen.Id("Event").Op(":").Id("ParseEvent"), jen.Id("Decode").Op(":").Id("DecodeEvent"))
	declare(f, "In returns the client of "+g.m.Text+" in an engine.", "",
		jen.Func().Id("In").Types(jen.Id("Tx").Any()).Params(jen.Id("e").Add(g.qualClient("Engine")).Types(jen.Id("Tx"))).Op("*").Add(typed()).Block(
			jen.Id("words").Op(":=").Add(words),
			jen.Return(jen.Op("&").Add(typed()).Values(
				jen.Id("Within").Call(jen.Id("e")),
				g.qualClient("NewClient").Types(g.goType(g.m.ID.Type), jen.Op("*").Id("Record")).Call(jen.Id("MachineName"), jen.Id("e"), jen.Id("words"))))))
	declare(f, "Tx returns the calls in a transaction of the caller. After the commit the caller passes their outcomes to Committed.", "",
		jen.Func().Params(jen.Id("c").Op("*").Add(typed())).Id("Tx").Params(jen.Id("tx").Id("Tx")).Id("Calls").Block(
			jen.Return(jen.Id("Within").Call(jen.Id("c").Dot("Client").Dot("FirerIn").Call(jen.Id("tx"))))))
}

// clientCall emits the method of an event, of a creation or of the others:
//
//	func (c Calls) CommitUpload(ctx context.Context, id fsm.UUID, e CommitUpload, with ...client.Option) (client.Outcome[*Record], error) {
//		return c.Calls.Fire(ctx, id, e, with...)
//	}
func (g *generator) clientCall(f *jen.File, ev *ir.Event, creation bool) {
	name, payload := naming.Exported(ev.Text), naming.Exported(ev.Text)
	does, says := "Fire", " fires "+ev.Text+"."
	if creation {
		does, says = "Create", " makes a record by "+ev.Text+"."
		if g.public(ev) {
			name = naming.GoNew.Of(ev.Text)
		}
	}
	in := []jen.Code{jen.Id("ctx").Qual("context", "Context"), jen.Id("id").Add(g.goType(g.m.ID.Type))}
	event := jen.Id(payload).Values()
	if hasPayload(ev) {
		in, event = append(in, jen.Id("e").Id(payload)), jen.Id("e")
	}
	in = append(in, jen.Id("with").Op("...").Add(g.qualClient("Option")))
	declare(f, name+says, "", jen.Func().Params(jen.Id("c").Id("Calls")).Id(name).Params(in...).
		Params(g.qualClient("Outcome").Types(jen.Op("*").Id("Record")), jen.Error()).Block(
		jen.Return(jen.Id("c").Dot("Calls").Dot(does).Call(jen.Id("ctx"), jen.Id("id"), event, jen.Id("with").Op("..."))),
	))
}

// qualClient names an identifier of runtime/client.
func (g *generator) qualClient(name string) *jen.Statement {
	return jen.Qual(g.o.Module+"/runtime/client", name)
}
