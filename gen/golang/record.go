package golang

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// storedFields lists the record fields that are not derived.
func (g *generator) storedFields() []*ir.Field {
	var out []*ir.Field
	for _, f := range g.m.Fields {
		if f.Derive == nil {
			out = append(out, f)
		}
	}
	return out
}

// record emits Record, its SQL columns, its derived fields and the blank one.
func (g *generator) record(f *jen.File) {
	declare(f, "Record is one record of the machine. Set its State through events only.", g.m.Doc,
		jen.Type().Id("Record").StructFunc(func(s *jen.Group) {
			g.structField(s, g.m.ID.Text, g.m.ID.Doc, g.m.ID.Type)
			s.Id("State").Id("State").Tag(map[string]string{"json": "state"})
			for _, x := range g.storedFields() {
				g.structField(s, x.Text, x.Doc, x.Type)
			}
		}))
	g.columns(f)
	for _, x := range g.m.Fields {
		if x.Derive != nil {
			g.derivedField(f, x)
		}
	}
	g.blank(f)
	g.reject(f)
}

// columns emits the mapping of a record to its SQL row. The bookkeeping
// columns (version, times) are the store's.
func (g *generator) columns(f *jen.File) {
	names := []jen.Code{jen.Lit(naming.Column(g.m.ID.Text)), jen.Lit(naming.Column(g.m.Storage.State))}
	fields := []*jen.Statement{jen.Id("r").Dot(naming.Exported(g.m.ID.Text)), jen.Id("r").Dot("State")}
	for _, x := range g.storedFields() {
		names = append(names, jen.Lit(naming.Column(x.Text)))
		fields = append(fields, jen.Id("r").Dot(naming.Exported(x.Text)))
	}
	var values, pointers []jen.Code
	for _, x := range fields {
		values = append(values, g.fsm("Plain").Call(x.Clone()))
		pointers = append(pointers, g.fsm("Into").Call(jen.Op("&").Add(x.Clone())))
	}
	declare(f, "Columns names the SQL columns of Values and Pointers, in their order.", "",
		jen.Func().Id("Columns").Params().Index().String().Block(jen.Return(jen.Index().String().Values(filled(names)))))
	declare(f, "Values returns what to store in Columns.", "",
		jen.Func().Add(receiver()).Id("Values").Params().Index().Any().Block(jen.Return(jen.Index().Any().Values(filled(values)))))
	declare(f, "Pointers returns where to scan Columns into.", "",
		jen.Func().Add(receiver()).Id("Pointers").Params().Index().Any().Block(jen.Return(jen.Index().Any().Values(filled(pointers)))))
}

// filled puts as many elements on a line as fit.
func filled(codes []jen.Code) *jen.Statement {
	const width = 100
	s, column := &jen.Statement{}, width
	for _, c := range codes {
		size := len(fmt.Sprintf("%#v", jen.Add(c))) + len(", ")
		if column += size; column > width {
			s.Line()
			column = size
		}
		s.Add(c).Op(",")
	}
	return s.Line()
}

// lines puts list elements on lines of their own.
func lines(codes []jen.Code) *jen.Statement {
	s := &jen.Statement{}
	for _, c := range codes {
		s.Line().Add(c).Op(",")
	}
	return s.Line()
}

// derivedField emits:
//
//	func (r *Record) DeviceName() fsm.Optional[string] {
//		if !r.DeviceID.IsSet {
//			return fsm.None[string]()
//		}
//		return fsm.Some("thin-" + r.DeviceID.V)
//	}
func (g *generator) derivedField(f *jen.File, x *ir.Field) {
	name := naming.Exported(x.Text)
	s := &scope{g: g, record: "r"}
	v := s.fill(x)
	var body []jen.Code
	switch {
	case !x.Type.Optional:
		body = append(body, jen.Return(v.code()))
	case v.present == nil:
		body = append(body, jen.Return(g.fsm("Some").Call(v.code())))
	default:
		body = append(body,
			jen.If(v.present()).Block(jen.Return(g.fsm("Some").Call(v.code()))),
			jen.Return(g.fsm("None").Types(jen.String()).Call()))
	}
	declare(f, fmt.Sprintf("%s is %s, derived: %q.", name, x.Text, x.Derive), x.Doc,
		jen.Func().Add(receiver()).Id(name).Params().Add(g.goType(x.Type)).Block(body...))
}

// blank emits the record before creation: its id and the defaults.
func (g *generator) blank(f *jen.File) {
	values := []jen.Code{jen.Id(naming.Exported(g.m.ID.Text)).Op(":").Id("id")}
	for _, x := range g.storedFields() {
		if x.HasDefault && x.Default != nil {
			values = append(values, jen.Id(naming.Exported(x.Text)).Op(":").Add(g.stored(g.literalValue(x.Default, x.Type), x.Type)))
		}
	}
	literal := jen.Id("Record").Values(values...)
	if len(values) > 2 {
		literal = jen.Id("Record").Values(filled(values))
	}
	declare(f, "blank is a record before creation: an id, the defaults, and no state.", "",
		jen.Func().Id("blank").Params(jen.Id("id").Add(g.goType(g.m.ID.Type))).Id("Record").Block(jen.Return(literal)))
}

// reject emits the beginning of every rejection, and the list of legal events.
func (g *generator) reject(f *jen.File) {
	begin := []jen.Code{jen.Id("reason").Add(g.fsm("Reason")), jen.Id("event").Id("Event")}
	if g.hasActors() {
		begin = append(begin, jen.Id("by").Id("Actor"))
	}
	declare(f, "reject begins the rejection of an event; r stays as it is.", "",
		jen.Func().Add(receiver()).Id("reject").Params(begin...).Op("*").Add(g.fsm("Rejection")).BlockFunc(func(b *jen.Group) {
			b.Id("x").Op(":=").Op("&").Add(g.fsm("Rejection")).Values(
				jen.Id("Machine").Op(":").Id("MachineName"), jen.Id("Reason").Op(":").Id("reason"),
				jen.Id("State").Op(":").Add(g.fsm("WordOf")).Call(jen.Id("r").Dot("State")), jen.Id("Event").Op(":").Id("event").Dot("String").Call())
			if g.hasActors() {
				b.If(jen.Id("by").Dot("Role").Dot("Valid").Call()).Block(
					jen.Id("x").Dot("Actor").Op("=").Id("by").Dot("Role").Dot("String").Call())
			}
			b.Id("r").Dot("offer").Call(g.offered(jen.Id("x"))...)
			b.Return(jen.Id("x"))
		}))
	in, args := []jen.Code{jen.Id("event").Id("Event")}, []jen.Code{jen.Id("event")}
	if g.hasActors() {
		in, args = append(in, jen.Id("by").Id("Actor")), append(args, jen.Id("by"))
	}
	with := func(reason string) *jen.Statement {
		return jen.Return(jen.Id("r").Dot("reject").Call(append([]jen.Code{g.fsm(reason)}, args...)...))
	}
	declare(f, "misplaced rejects an event that has no transition in the state of r.", "",
		jen.Func().Add(receiver()).Id("misplaced").Params(in...).Op("*").Add(g.fsm("Rejection")).Block(
			jen.If(jen.Op("!").Id("r").Dot("State").Dot("Valid").Call()).Block(with("ErrCorrupt")),
			with("ErrInvalidTransition")))
	declare(f, "Legal lists the events that have a transition in s, in the order of the spec. Guards and\nactors may still refuse them. The zero State lists the events that create a record.", "",
		jen.Func().Params(jen.Id("s").Id("State")).Id("Legal").Params().Index().Id("Event").Block(
			jen.Return(jen.Id("table").Dot("Events").Call(jen.Id("s")))))
}

// leaves reports whether a row of (s, ev) can be taken.
func (g *generator) leaves(s *ir.State, ev *ir.Event) bool {
	for _, row := range g.rowsOf(s, ev) {
		if row.Reject == nil {
			return true
		}
	}
	return false
}
