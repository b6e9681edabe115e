package golang

import (
	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// definition emits the machine as an engine runs it, in terms of package fsm
// alone. What knows the transaction's type is in handlers.go; the rest is in the
// unexported core, which is not generic, so that no name of the spec can be
// hidden by the type parameter.
//
//	type Definition[Tx any] struct {
//		core
//		handlers Handlers[Tx]
//	}
//
//	func Define[Tx any](h Handlers[Tx], p Params) *Definition[Tx] {
//		return &Definition[Tx]{core: core{Facts: facts(), params: p}, handlers: h}
//	}
func (g *generator) definition(f *jen.File) {
	generic := func() *jen.Statement { return jen.Id("Definition").Index(jen.Id("Tx")) }
	in := []jen.Code{jen.Id("h").Id("Handlers").Index(jen.Id("Tx"))}
	core := []jen.Code{jen.Id("Facts").Op(":").Id("facts").Call()}
	if g.hasParams() {
		in = append(in, jen.Id("p").Id("Params"))
		core = append(core, jen.Id("params").Op(":").Id("p"))
	}
	values := []jen.Code{jen.Id("core").Op(":").Id("core").Values(core...), jen.Id("handlers").Op(":").Id("h")}
	declare(f, "Definition is the machine as an engine runs it: every method speaks package fsm.", "",
		jen.Type().Id("Definition").Types(jen.Id("Tx").Any()).Struct(jen.Id("core"), jen.Id("handlers").Id("Handlers").Index(jen.Id("Tx"))))
	declare(f, "Define makes the machine ready for an engine over transactions of type Tx.", "",
		jen.Func().Id("Define").Types(jen.Id("Tx").Any()).Params(in...).Op("*").Add(generic()).Block(
			jen.Return(jen.Op("&").Add(generic()).Values(values...))))
	declare(f, "core is what of a Definition does not depend on the transaction.", "",
		jen.Type().Id("core").StructFunc(func(s *jen.Group) {
			s.Op("*").Add(g.fsm("Facts"))
			if g.hasParams() {
				s.Id("params").Id("Params")
			}
		}))
	g.facts(f)
	g.identity(f)
	g.keyOf(f)
	g.fatalEvent(f)
	g.tableWrite(f)
	g.startOf(f)
	g.cleanups(f)
}

// coreMethod emits a method of core.
func coreMethod(f *jen.File, name, doc string, in []jen.Code, out *jen.Statement, body ...jen.Code) {
	declare(f, name+" "+doc, "", jen.Func().Params(jen.Id("m").Id("core")).Id(name).Params(in...).Add(out).Block(body...))
}

// facts emits what the table says whatever the record:
//
//	func facts() *fsm.Facts {
//		return fsm.NewFacts(fsm.Spec{Name: MachineName, Version: MachineVersion, States: stateWords.List, ...})
//	}
func (g *generator) facts(f *jen.File) {
	cell := func(name string, value *jen.Statement) jen.Code { return jen.Id(name).Op(":").Add(value) }
	cells := []jen.Code{
		cell("Name", jen.Id("MachineName")), cell("Version", jen.Id("MachineVersion")),
		cell("States", jen.Id("stateWords").Dot("List")), cell("Terminal", g.terminalStates()),
		cell("Transitions", jen.Id("table").Dot("Infos").Call()),
	}
	if timeouts, some := g.timeouts(); some {
		cells = append(cells, cell("Timeouts", timeouts))
	}
	if len(g.m.Effects)+len(g.m.Metrics) > 0 {
		cells = append(cells, cell("Effects", g.allEffectInfos()))
	}
	cells = append(cells, cell("Tables", g.tables()),
		cell("Schemas", jen.Map(jen.String()).String().Values(
			jen.Lit("postgres").Op(":").Id("postgresSchema"), jen.Lit("sqlite").Op(":").Id("sqliteSchema"))))
	declare(f, "facts is what the table says whatever the record.", "",
		jen.Func().Id("facts").Params().Op("*").Add(g.fsm("Facts")).Block(
			jen.Return(g.fsm("NewFacts").Call(g.fsm("Spec").Values(lines(cells))))))
}

func (g *generator) terminalStates() *jen.Statement {
	return jen.Index().String().ValuesFunc(func(list *jen.Group) {
		for _, s := range g.m.States {
			if s.Terminal {
				list.Lit(s.Text)
			}
		}
	})
}

// timeouts maps states to the events that they fire.
func (g *generator) timeouts() (timeouts *jen.Statement, some bool) {
	events := jen.Dict{}
	for _, s := range g.m.States {
		if s.Timeout != nil {
			events[jen.Lit(s.Text)] = jen.Lit(s.Timeout.Fire.Event.Text)
		}
	}
	return jen.Map(jen.String()).String().Values(events), len(events) > 0
}

func (g *generator) tables() *jen.Statement {
	column := func(field, name string) jen.Code { return jen.Id(field).Op(":").Lit(naming.Column(name)) }
	cells := []jen.Code{
		column("Record", g.m.Storage.Table), column("History", g.m.Storage.History),
		column("ID", g.m.ID.Text), column("State", g.m.Storage.State),
		column("From", "from_"+g.m.Storage.State), column("To", "to_"+g.m.Storage.State),
		jen.Id("Columns").Op(":").Id("Columns").Call(),
	}
	if len(g.m.Tables) > 0 {
		cells = append(cells, jen.Id("Others").Op(":").Index().String().ValuesFunc(func(list *jen.Group) {
			for _, t := range g.m.Tables {
				list.Lit(naming.Column(t.Text))
			}
		}))
	}
	if g.m.Storage.Partition {
		cells = append(cells, jen.Id("Partitioned").Op(":").True())
	}
	return g.fsm("Tables").Values(lines(cells))
}

// identity emits how records, ids and callers come in.
func (g *generator) identity(f *jen.File) {
	idType := func() *jen.Statement { return g.goType(g.m.ID.Type) }
	coreMethod(f, "Blank", "returns a record to scan into.", nil, g.fsm("Record"), jen.Return(jen.Op("&").Id("Record").Values()))
	coreMethod(f, "ParseID", "reads the text form of an id. The result is as fsm.Plain gives it.", []jen.Code{jen.Id("text").String()},
		jen.Params(jen.Any(), jen.Error()), jen.Return(g.fsm("PlainOf").Call(jen.Id("parseID").Call(jen.Id("text")))))
	declare(f, "parseID reads the text form of an id.", "",
		jen.Func().Id("parseID").Params(jen.Id("text").String()).Params(idType(), jen.Error()).Block(
			jen.Return(g.fsm("ParseID").Types(idType()).Call(jen.Id("MachineName"), jen.Id("text")))))
	coreMethod(f, "Owns", "reports whether p is a payload of this machine.", []jen.Code{jen.Id("p").Add(g.fsm("Payload"))}, jen.Bool(),
		jen.List(jen.Id("_"), jen.Id("ok")).Op(":=").Id("p").Assert(jen.Id("Payload")), jen.Return(jen.Id("ok")))
	if g.hasActors() {
		g.callers(f)
	}
}

// callers emits both ways between Actor and fsm.Caller:
//
//	func (a Actor) Caller() fsm.Caller {
//		return fsm.Caller{Role: a.Role.String(), ID: fsm.Text(a.ID)}
//	}
//
//	func actorOf(c fsm.Caller) (a Actor, err error) { ... }
func (g *generator) callers(f *jen.File) {
	declare(f, "Caller returns a as an engine takes it.", "",
		jen.Func().Params(jen.Id("a").Id("Actor")).Id("Caller").Params().Add(g.fsm("Caller")).Block(
			jen.Return(g.fsm("Caller").Values(
				jen.Id("Role").Op(":").Id("a").Dot("Role").Dot("String").Call(),
				jen.Id("ID").Op(":").Add(g.fsm("Text")).Call(jen.Id("a").Dot("ID"))))))
	declare(f, "actorOf reads a caller.", "",
		jen.Func().Id("actorOf").Params(jen.Id("c").Add(g.fsm("Caller"))).Params(jen.Id("a").Id("Actor"), jen.Err().Error()).Block(
			jen.If(jen.List(jen.Id("a").Dot("Role"), jen.Err()).Op("=").Id("ParseRole").Call(jen.Id("c").Dot("Role")), jen.Err().Op("!=").Nil()).
				Block(jen.Return(jen.Id("Actor").Values(), jen.Err())),
			jen.If(jen.Id("c").Dot("ID").Op("!=").Lit("")).Block(
				jen.Err().Op("=").Id("a").Dot("ID").Dot("Scan").Call(jen.Id("c").Dot("ID"))),
			jen.Return(jen.Id("a"), jen.Err())))
}

// keyOf emits the keys that events have of themselves:
//
//	func (m core) KeyOf(e fsm.Event, r fsm.Record) (string, bool) {
//		if e.Name != EventDepositConfirmed.String() {
//			return "", false
//		}
//		payload, err := payloadOf(e)
//		if err != nil {
//			return "", false
//		}
//		switch e := payload.(type) {
//		case DepositConfirmed:
//			return "deposit:" + e.TxHash, true
//		}
//		return "", false
//	}
func (g *generator) keyOf(f *jen.File) {
	none := func() *jen.Statement { return jen.Return(jen.Lit(""), jen.False()) }
	var cases []jen.Code
	var keyless *jen.Statement // e is none of the events that have a key
	var carries, reads bool
	for _, ev := range g.m.Events {
		if ev.Key == nil {
			continue
		}
		key, present := g.fillKey(ev)
		code := []jen.Code{jen.Return(key.code(), jen.True())}
		if key.fromRecord {
			code = append([]jen.Code{jen.If(jen.Id("record").Op("==").Nil()).Block(none())}, code...)
		}
		if !present.known {
			code = append(code[:len(code)-1], jen.If(present.code()).Block(code[len(code)-1]), none())
		}
		other := jen.Id("e").Dot("Name").Op("!=").Id(naming.GoEvent.Of(ev.Text)).Dot("String").Call()
		if keyless != nil {
			other = keyless.Op("&&").Add(other)
		}
		keyless = other
		carries, reads = carries || key.fromEvent, reads || key.fromRecord
		cases = append(cases, jen.Case(jen.Id(naming.Exported(ev.Text))).Block(code...))
	}
	in := []jen.Code{jen.Id("e").Add(g.fsm("Event")), jen.Id("r").Add(g.fsm("Record"))}
	out := jen.Params(jen.String(), jen.Bool())
	if len(cases) == 0 {
		return
	}
	doc := "returns the idempotency key that e has by its own template, false for none. r is nil for a\ncreation."
	body := []jen.Code{
		jen.If(keyless).Block(none()),
		jen.List(jen.Id("payload"), jen.Err()).Op(":=").Id("payloadOf").Call(jen.Id("e")),
		jen.If(jen.Err().Op("!=").Nil()).Block(none()),
	}
	if reads {
		body = append(body, jen.List(jen.Id("record"), jen.Id("_")).Op(":=").Id("r").Assert(jen.Op("*").Id("Record")))
	}
	over := jen.Id("payload").Assert(jen.Type())
	if carries {
		over = jen.Id("e").Op(":=").Add(over)
	}
	coreMethod(f, "KeyOf", doc, in, out, append(body, jen.Switch(over).Block(cases...), none())...)
}

// keyText is the text of a key and where it comes from.
type keyText struct {
	code                  func() *jen.Statement
	fromEvent, fromRecord bool
}

// fillKey builds the key of ev; the test is for the presence of its parts.
func (g *generator) fillKey(ev *ir.Event) (keyText, test) {
	s := &scope{g: g, record: "record", event: ev, overlay: true}
	k := keyText{}
	var parts []func() *jen.Statement
	var tests []test
	fields := 0
	for _, p := range ev.Key.Parts {
		if p.Field != nil {
			fields++
		}
	}
	for _, p := range ev.Key.Parts {
		if p.Field == nil {
			parts = append(parts, func() *jen.Statement { return jen.Lit(p.Text) })
			continue
		}
		v := s.keyPart(p.Field)
		if carries(ev, p.Field) {
			k.fromEvent = true
		} else {
			k.fromRecord = true
		}
		tests = append(tests, newFacts().presence(v))
		parts = append(parts, func() *jen.Statement {
			if fields > 1 { // else the text of one part could go over into the next
				return g.fsm("KeyPart").Call(g.keyPartText(v))
			}
			return g.keyPartText(v)
		})
	}
	k.code = func() *jen.Statement { return join(parts, "+") }
	return k, all(tests...)
}

// keyPartText is a present value as a part of a key: equal values read alike,
// whatever the time zone.
func (g *generator) keyPartText(v value) *jen.Statement {
	switch v.typ.Base {
	case ir.Time, ir.ListOf:
		return g.fsm("Text").Call(v.code())
	case ir.String, ir.Int, ir.Bool, ir.Duration, ir.UUID, ir.JSON, ir.EnumOf:
		return g.text(v)
	}
	panic(ir.NoForm("golang.keyPartText", v.typ.Base))
}

// keyPart is a field of the event, or else of the record.
func (s *scope) keyPart(f *ir.Field) value {
	for _, own := range s.event.Fields {
		if own == f {
			return s.payload(f)
		}
	}
	return s.field(f)
}

// carries reports whether f comes with ev.
func carries(ev *ir.Event, f *ir.Field) bool {
	for _, p := range payload(ev) {
		if p.field == f {
			return true
		}
	}
	return false
}

// fatalEvent emits the event of last resort. Its payload requires nothing.
func (g *generator) fatalEvent(f *jen.File) {
	if g.m.Fatal == nil {
		return
	}
	coreMethod(f, "FatalEvent", "returns the event that is fired when an accepted step could not be recorded.", nil,
		jen.Params(g.fsm("Event"), jen.Bool()),
		jen.Return(g.fsm("Event").Values(
			jen.Id("Name").Op(":").Lit(g.m.Fatal.Text),
			jen.Id("Payload").Op(":").Qual("encoding/json", "RawMessage").Call(jen.Lit("{}"))), jen.True()))
}
