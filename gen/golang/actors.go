package golang

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// actorIDType is the type of the callers' ids: that of the field that `is`
// names, else string.
func (g *generator) actorIDType() ir.Type {
	for _, a := range g.m.Actors {
		if a.Is != nil {
			t := a.Is.Type
			t.Optional, t.Unit = false, ""
			return t
		}
	}
	return ir.Type{Base: ir.String}
}

// actors emits Role, Actor and a constructor per role, where the machine
// knows actors.
func (g *generator) actors(f *jen.File) {
	if !g.hasActors() {
		return
	}
	w := &wordType{name: "Role", noun: "role", recv: "r", list: "Roles"}
	for _, a := range g.roles() {
		w.words = append(w.words, word{constant: naming.GoRole.Of(a.Text), text: a.Text, doc: a.Doc})
	}
	g.words(f, w, "Role is what an actor may be.", "")
	idType := g.actorIDType()
	idType.Optional = true
	declare(f, "Actor is who fires an event. The system has no id.", "", jen.Type().Id("Actor").Struct(
		jen.Id("Role").Id("Role").Tag(map[string]string{"json": "role"}),
		jen.Id("ID").Add(g.goType(idType)).Tag(map[string]string{"json": "id,omitzero"}),
	))
	for _, a := range g.roles() {
		g.actor(f, a)
	}
}

// actor emits:
//
//	func ByAdvertiser(id int64) Actor { ... }
//
//	func (a Actor) isAdvertiser(r *Record) bool { ... }
func (g *generator) actor(f *jen.File, a *ir.Actor) {
	by, role := naming.GoBy.Of(a.Text), naming.GoRole.Of(a.Text)
	if a.System {
		declare(f, by+" is the engine or a trusted service.", "", jen.Func().Id(by).Params().Id("Actor").Block(
			jen.Return(jen.Id("Actor").Values(jen.Id("Role").Op(":").Id(role)))))
		return
	}
	declare(f, fmt.Sprintf("%s is the %s with the given id.", by, a.Text), a.Doc,
		jen.Func().Id(by).Params(jen.Id("id").Add(g.plainType(g.actorIDType()))).Id("Actor").Block(
			jen.Return(jen.Id("Actor").Values(jen.Id("Role").Op(":").Id(role), jen.Id("ID").Op(":").Add(g.fsm("Some").Call(jen.Id("id")))))))
	if a.Is == nil || !g.asksWhetherIs(a) {
		return
	}
	is := "is" + naming.Exported(a.Text)
	s := &scope{g: g, record: "r"}
	same := all(equal(func() *jen.Statement { return jen.Id("a").Dot("Role") }, id(role)), g.sameID("a", s.field(a.Is)))
	declare(f, fmt.Sprintf("%s reports whether a is the %s of r: its id is %s.", is, a.Text, a.Is.Text), "",
		jen.Func().Params(jen.Id("a").Id("Actor")).Id(is).Params(jen.Id("r").Op("*").Id("Record")).Bool().Block(jen.Return(same.code())))
}

// asksWhetherIs reports whether some decision on a record needs to know.
func (g *generator) asksWhetherIs(a *ir.Actor) bool {
	for _, row := range g.m.Rows {
		if row.From == nil && !g.m.RepeatSucceeds {
			continue
		}
		for _, by := range row.By {
			if by == a {
				return true
			}
		}
	}
	return false
}

// params emits Params and DefaultParams, where the machine has params.
func (g *generator) params(f *jen.File) {
	if !g.hasParams() {
		return
	}
	declare(f, "Params are the configurable values of the machine. What reads one takes a Params.", "",
		jen.Type().Id("Params").StructFunc(func(s *jen.Group) {
			for _, p := range g.m.Params {
				g.structField(s, p.Text, p.Doc, p.Type)
			}
		}))
	declare(f, "DefaultParams returns the defaults of the spec.", "",
		jen.Func().Id("DefaultParams").Params().Id("Params").Block(jen.Return(jen.Id("Params").Values(jen.Do(func(s *jen.Statement) {
			for _, p := range g.m.Params {
				if p.Default != nil {
					s.Line().Id(naming.Exported(p.Text)).Op(":").Add(g.stored(g.literalValue(p.Default, p.Type), p.Type)).Op(",")
				}
			}
			s.Line()
		})))))
}
