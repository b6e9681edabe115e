package golang

import (
	"fmt"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// payloadField is one field of an event's payload.
type payloadField struct {
	field *ir.Field
	typ   ir.Type // of a write: as the event carries it
}

// payload lists the fields of an event, then its writes.
func payload(ev *ir.Event) []payloadField {
	var out []payloadField
	for _, f := range ev.Fields {
		out = append(out, payloadField{f, f.Type})
	}
	for _, w := range ev.Writes {
		t := w.Field.Type
		t.Optional = w.Optional
		out = append(out, payloadField{w.Field, t})
	}
	return out
}

// events emits Event, the payload structs and how they are decoded.
func (g *generator) events(f *jen.File) {
	w := &wordType{name: "Event", noun: "event", recv: "e", list: "Events"}
	for _, ev := range g.m.Events {
		w.words = append(w.words, word{constant: naming.GoEvent.Of(ev.Text), text: ev.Text})
	}
	g.words(f, w, "Event names an event of the machine.", "")
	g.internalEvents(f)
	declare(f, "Payload is an event with what it carries: one of the structs below, as a value.", "",
		jen.Type().Id("Payload").InterfaceFunc(func(p *jen.Group) {
			p.Comment("// Event names the event.")
			p.Id("Event").Params().Id("Event")
			p.Comment("// EventName is the event's name in the spec.")
			p.Id("EventName").Params().String()
			p.Id("fire").Params(onRecord()...).Add(results())
		}))
	for _, ev := range g.m.Events {
		g.payloadStruct(f, ev)
		g.payloadCheck(f, ev)
	}
	g.payloadNames(f)
	g.decode(f)
}

func (g *generator) internalEvents(f *jen.File) {
	var internal []jen.Code
	for _, ev := range g.m.Events {
		if ev.Internal {
			internal = append(internal, jen.Id("e").Op("==").Id(naming.GoEvent.Of(ev.Text)))
		}
	}
	answer := jen.False()
	if len(internal) > 0 {
		answer = join(fixed(internal), "||")
	}
	declare(f, "Internal reports whether only the machine itself fires e.", "",
		jen.Func().Params(jen.Id("e").Id("Event")).Id("Internal").Params().Bool().Block(jen.Return(answer)))
}

func fixed(codes []jen.Code) []func() *jen.Statement {
	out := make([]func() *jen.Statement, len(codes))
	for i, c := range codes {
		out[i] = func() *jen.Statement { return jen.Add(c) }
	}
	return out
}

// payloadStruct emits:
//
//	// CommitUpload is the payload of commit_upload.
//	type CommitUpload struct {
//		Digest string `json:"digest"`
//	}
func (g *generator) payloadStruct(f *jen.File, ev *ir.Event) {
	name := naming.Exported(ev.Text)
	declare(f, fmt.Sprintf("%s is the payload of %s.", name, ev.Text), ev.Doc,
		jen.Type().Id(name).StructFunc(func(s *jen.Group) {
			for _, p := range payload(ev) {
				g.structField(s, p.field.Text, p.field.Doc, p.typ)
			}
		}))
}

// payloadNames emits what each payload says of itself.
func (g *generator) payloadNames(f *jen.File) {
	f.Comment("// The event of each payload.")
	for _, ev := range g.m.Events {
		f.Func().Params(jen.Id(naming.Exported(ev.Text))).Id("Event").Params().Id("Event").Block(jen.Return(jen.Id(naming.GoEvent.Of(ev.Text))))
	}
	f.Line()
	f.Comment("// The event's name in the spec.")
	for _, ev := range g.m.Events {
		f.Func().Params(jen.Id(naming.Exported(ev.Text))).Id("EventName").Params().String().Block(jen.Return(jen.Lit(ev.Text)))
	}
	f.Line()
}

// structField emits a field whose JSON name is the spec's.
func (g *generator) structField(s *jen.Group, name, doc string, t ir.Type) {
	tag := name
	if t.Optional {
		tag += ",omitzero"
	}
	field := &jen.Statement{}
	if doc != "" {
		field = comment(doc, "")
	}
	s.Add(field.Id(naming.Exported(name)).Add(g.goType(t)).Tag(map[string]string{"json": tag}))
}

// inPlace is how many checks of a payload stand in the methods themselves; more
// than that are a method of the payload.
const inPlace = 2

// payloadCheck emits the check of what the types do not promise.
func (g *generator) payloadCheck(f *jen.File, ev *ir.Event) {
	checks := g.payloadChecks(ev)
	if len(checks) <= inPlace {
		return
	}
	declare(f, "check returns the first field that is not valid and what is wrong with it.", "",
		jen.Func().Params(jen.Id("e").Op("*").Id(naming.Exported(ev.Text))).Id("check").Params().
			Params(jen.List(jen.Id("field"), jen.Id("problem")).String()).BlockFunc(func(b *jen.Group) {
			for _, c := range checks {
				b.If(c.violation.code()).Block(jen.Return(jen.Lit(c.field), jen.Lit(c.problem)))
			}
			b.Return(jen.Lit(""), jen.Lit(""))
		}))
}

type payloadViolation struct {
	field, problem string
	violation      test
}

func (g *generator) payloadChecks(ev *ir.Event) []payloadViolation {
	var out []payloadViolation
	for _, p := range payload(ev) {
		v := variable(p.typ, "e."+p.field.Text, func() *jen.Statement { return jen.Id("e").Dot(naming.Exported(p.field.Text)) })
		add := func(problem string, t test) {
			out = append(out, payloadViolation{p.field.Text, problem, all(newFacts().presence(v), t)})
		}
		if t, ok := g.invalid(p.typ, v); ok {
			add(invalidity(p.typ), t)
		}
		for _, t := range outOfBounds(p.field, v) {
			add(bounds(p.field), t)
		}
	}
	return out
}

// invalid tests for a value that its type does not exclude in Go.
func (g *generator) invalid(t ir.Type, v value) (test, bool) {
	switch t.Base {
	case ir.Time:
		return plain(func() *jen.Statement { return jen.Op("!").Add(g.fsm("InRange").Call(v.code())) }), true
	case ir.EnumOf:
		return plain(func() *jen.Statement { return jen.Op("!").Add(v.code()).Dot("Valid").Call() }), true
	case ir.JSON:
		return plain(func() *jen.Statement { return v.code().Op("==").Lit("") }), true
	case ir.ListOf:
		element := variable(*t.Elem, "", id("v"))
		inner, ok := g.invalid(*t.Elem, element)
		return plain(func() *jen.Statement {
			return jen.Qual("slices", "ContainsFunc").Call(v.code(),
				jen.Func().Params(jen.Id("v").Add(g.goType(*t.Elem))).Bool().Block(jen.Return(inner.code())))
		}), ok
	case ir.String, ir.Int, ir.Bool, ir.Duration, ir.UUID:
		return test{}, false
	}
	panic(ir.NoForm("golang.invalid", t.Base))
}

// decode emits:
//
//	var decoders = fsm.Decoders[Payload]{
//		"commit_upload": {Into: CommitUpload{}, Required: []string{"digest", "length"}},
//	}
//
//	func DecodeEvent(name string, data []byte) (Payload, error) { return decoders.Decode(MachineName, name, data) }
func (g *generator) decode(f *jen.File) {
	f.Comment("// decoders are by event, with the fields that must be there. They are never written.")
	f.Var().Id("decoders").Op("=").Add(g.fsm("Decoders")).Types(jen.Id("Payload")).ValuesFunc(func(list *jen.Group) {
		for _, ev := range g.m.Events {
			var required []jen.Code
			for _, p := range payload(ev) {
				if !p.typ.Optional {
					required = append(required, jen.Lit(p.field.Text))
				}
			}
			cells := []jen.Code{jen.Id("Into").Op(":").Id(naming.Exported(ev.Text)).Values()}
			if len(required) > 0 {
				cells = append(cells, jen.Id("Required").Op(":").Index().String().Values(required...))
			}
			list.Line().Lit(ev.Text).Op(":").Values(cells...)
		}
		list.Line()
	})
	f.Line()
	declare(f, "DecodeEvent reads the JSON payload of the event that the spec calls name. Required fields\nmust be there, others than declared must not.", "",
		jen.Func().Id("DecodeEvent").Params(jen.Id("name").String(), jen.Id("data").Index().Byte()).Params(jen.Id("Payload"), jen.Error()).Block(
			jen.Return(jen.Id("decoders").Dot("Decode").Call(jen.Id("MachineName"), jen.Id("name"), jen.Id("data")))))
	declare(f, "payloadOf is the payload of e. What came as a struct is decoded only where that changes it.", "",
		jen.Func().Id("payloadOf").Params(jen.Id("e").Add(g.fsm("Event"))).Params(jen.Id("Payload"), jen.Error()).Block(g.payloadOf()...))
}

// payloadOf takes the struct of an event, unless it has JSON, which is stored in its compact form.
func (g *generator) payloadOf() []jen.Code {
	var decoded []jen.Code
	for _, ev := range g.m.Events {
		if slices.ContainsFunc(payload(ev), func(p payloadField) bool { return p.typ.Base == ir.JSON }) {
			decoded = append(decoded, jen.Id(naming.Exported(ev.Text)))
		}
	}
	decode := jen.Return(jen.Id("DecodeEvent").Call(jen.Id("e").Dot("Name"), jen.Id("e").Dot("Payload")))
	if len(decoded) == 0 {
		return []jen.Code{
			jen.If(jen.List(jen.Id("p"), jen.Id("ok")).Op(":=").Id("e").Dot("Value").Call().Assert(jen.Id("Payload")), jen.Id("ok")).Block(
				jen.Return(jen.Id("p"), jen.Nil())),
			decode,
		}
	}
	return []jen.Code{
		jen.Switch(jen.Id("p").Op(":=").Id("e").Dot("Value").Call().Assert(jen.Type())).Block(
			jen.Case(decoded...),
			jen.Case(jen.Id("Payload")).Block(jen.Return(jen.Id("p"), jen.Nil()))),
		decode,
	}
}
