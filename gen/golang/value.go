package golang

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// value is an operand in Go. The functions build a fresh expression at each
// call, because jennifer's are mutable.
type value struct {
	typ ir.Type
	// key is equal for two operands exactly when they read the same thing.
	key string
	// code is the plain value, meaningful only where present holds.
	code func() *jen.Statement
	// present is the test for presence; nil: always present.
	present func() *jen.Statement
	// whole is the fsm.Optional itself; nil where there is none.
	whole func() *jen.Statement
	// absent: known to be absent.
	absent bool
	// literal is set with isLit.
	literal ir.Value
	isLit   bool
}

func id(name string) func() *jen.Statement {
	return func() *jen.Statement { return jen.Id(name) }
}

// variable is a Go variable, field or method call of type t.
func variable(t ir.Type, key string, code func() *jen.Statement) value {
	v := value{typ: t, key: key, code: code}
	if t.Optional {
		v.whole = code
		v.code = func() *jen.Statement { return code().Dot("V") }
		v.present = func() *jen.Statement { return code().Dot("IsSet") }
	}
	return v
}

// stored is v as a target of the given optionality takes it. The caller has
// made sure that a required target gets a present value.
func (g *generator) stored(v value, t ir.Type) *jen.Statement {
	switch {
	case !t.Optional:
		return v.code()
	case v.absent:
		return g.fsm("None").Types(g.plainType(t)).Call()
	case v.whole != nil:
		return v.whole()
	case v.present != nil: // a derived field over incoming parts
		return v.code()
	case v.isLit:
		return g.fsm("Some").Call(g.typedLiteral(v.literal, t))
	}
	return g.fsm("Some").Call(v.code())
}

// scope says what names mean in a piece of generated code.
type scope struct {
	g      *generator
	record string    // the variable that holds the record
	event  *ir.Event // whose payload is the variable e; nil: there is none
	// overlay: record fields that the event writes read the incoming value.
	overlay bool
	// blank: the record is being created and has its defaults only.
	blank bool
	// assigned: fields that read what the row is about to store.
	assigned map[*ir.Field]value
	// state and from are known when code is generated; nil: absent.
	state, from *ir.State
	// variables, when set, reads $state and $from at run time instead.
	stateVar, fromVar func() *jen.Statement
	now, by, params   func() *jen.Statement
	message           func() *jen.Statement            // $error; nil: not known here
	eventFields       map[string]func() *jen.Statement // instead of e
}

// guards is the scope of a row's clauses and right sides.
func (g *generator) guards(row *ir.Row) *scope {
	return &scope{g: g, record: "r", event: row.Event, overlay: true, blank: row.From == nil, state: row.From, from: row.From,
		now: id("now"), by: id("by"), params: id("p")}
}

// after is the scope of the new record before it is stored.
func (g *generator) after(row *ir.Row, assigned map[*ir.Field]value) *scope {
	s := g.guards(row)
	s.overlay, s.assigned, s.state = false, assigned, row.Target()
	return s
}

// read resolves an operand.
func (s *scope) read(o *ir.Operand) value {
	switch {
	case o.IsLit:
		return s.g.literalValue(o.Literal, o.Type)
	case o.Param != nil:
		return variable(o.Param.Type, "p."+o.Param.Text, func() *jen.Statement {
			return s.params().Dot(naming.Exported(o.Param.Text))
		})
	case o.Special != "":
		return s.special(o)
	case o.Event != nil:
		return s.payload(o.Field)
	}
	return s.field(o.Field)
}

func (g *generator) literalValue(v ir.Value, t ir.Type) value {
	t.Optional = false
	if v == nil {
		return value{typ: t, key: "null", absent: true}
	}
	return value{typ: t, key: fmt.Sprintf("%s(%v)", t, v), isLit: true, literal: v,
		code: func() *jen.Statement { return g.literal(v, t) }}
}

func (s *scope) special(o *ir.Operand) value {
	switch o.Special {
	case ir.Now:
		return variable(ir.Type{Base: ir.Time}, "now", s.now)
	case ir.ActorID:
		t := s.g.actorIDType()
		t.Optional = true
		return variable(t, "by.ID", func() *jen.Statement { return s.by().Dot("ID") })
	case ir.StateName:
		return s.stateValue(s.state, s.stateVar, "state")
	case ir.FromName:
		return s.stateValue(s.from, s.fromVar, "from")
	case ir.ErrorText:
		if s.message != nil {
			return value{typ: ir.Type{Base: ir.String}, key: "error", code: s.message}
		}
	}
	return value{typ: o.Type, key: "none", absent: true}
}

// stateValue is a state's name: a literal where the state is known.
func (s *scope) stateValue(known *ir.State, at func() *jen.Statement, key string) value {
	t := ir.Type{Base: ir.String}
	switch {
	case at != nil && key == "from":
		t.Optional = true
		return variable(t, key, func() *jen.Statement { return jen.Id("nameOf").Call(at()) })
	case at != nil:
		return value{typ: t, key: key, code: func() *jen.Statement { return at().Dot("String").Call() }}
	case known != nil:
		return s.g.literalValue(known.Text, t)
	}
	return value{typ: t, key: key, absent: true}
}

// payload is a field of the event, found by name: effects of several rows may
// name a field that each of their events has.
func (s *scope) payload(f *ir.Field) value {
	t := f.Type
	if s.event != nil {
		for _, own := range s.event.Fields {
			if own.Text == f.Text {
				t = own.Type
			}
		}
	}
	return variable(t, "e."+f.Text, func() *jen.Statement {
		if code, ok := s.eventFields[f.Text]; ok {
			return code()
		}
		return jen.Id("e").Dot(naming.Exported(f.Text))
	})
}

// field is a field of the record, or its id.
func (s *scope) field(f *ir.Field) value {
	if v, ok := s.assigned[f]; ok {
		return v
	}
	if s.overlay && s.event != nil {
		for _, w := range s.event.Writes {
			if w.Field == f {
				return s.incoming(w)
			}
		}
	}
	switch {
	case f.Derive != nil:
		return s.derived(f)
	case s.blank && f.Default != nil:
		return s.g.literalValue(f.Default, f.Type)
	case s.blank && f.Type.Optional:
		return value{typ: f.Type, key: "null", absent: true}
	}
	return variable(f.Type, "r."+f.Text, func() *jen.Statement {
		return jen.Id(s.record).Dot(naming.Exported(f.Text))
	})
}

// incoming is a record field as the event carries it.
func (s *scope) incoming(w ir.Write) value {
	t := w.Field.Type
	t.Optional = w.Optional
	return variable(t, "e."+w.Field.Text, func() *jen.Statement {
		return jen.Id("e").Dot(naming.Exported(w.Field.Text))
	})
}

// derived reads a derived field through its method, or from its parts where
// the row is about to store one of them.
func (s *scope) derived(f *ir.Field) value {
	var changed bool
	for _, p := range f.Derive.Parts {
		if p.Field != nil {
			_, ok := s.assigned[p.Field]
			changed = changed || ok
		}
	}
	if !changed {
		return variable(f.Type, "r."+f.Text, func() *jen.Statement {
			return jen.Id(s.record).Dot(naming.Exported(f.Text)).Call()
		})
	}
	return s.fill(f)
}

// fill builds a derived text from its parts.
func (s *scope) fill(f *ir.Field) value {
	v := value{typ: ir.Type{Base: ir.String}, key: "derived." + f.Text}
	var tests []func() *jen.Statement
	parts := make([]func() *jen.Statement, len(f.Derive.Parts))
	for i, p := range f.Derive.Parts {
		if p.Field == nil {
			parts[i] = func() *jen.Statement { return jen.Lit(p.Text) }
			continue
		}
		part := s.field(p.Field)
		v.absent = v.absent || part.absent
		if part.present != nil {
			tests = append(tests, part.present)
		}
		parts[i] = func() *jen.Statement { return s.g.text(part) }
	}
	v.code = func() *jen.Statement { return join(parts, "+") }
	if len(tests) > 0 {
		v.present = func() *jen.Statement { return join(tests, "&&") }
	}
	return v
}

// text is a present value as a part of a text.
func (g *generator) text(v value) *jen.Statement {
	switch v.typ.Base {
	case ir.Int:
		return jen.Qual("strconv", "FormatInt").Call(v.code(), jen.Lit(10))
	case ir.Duration:
		return jen.Qual("strconv", "FormatInt").Call(jen.Int64().Call(v.code()), jen.Lit(10))
	case ir.Bool:
		return jen.Qual("strconv", "FormatBool").Call(v.code())
	case ir.Time, ir.ListOf:
		return g.fsm("Text").Call(v.code())
	case ir.UUID:
		return v.code().Dot("String").Call()
	case ir.EnumOf:
		if g.owns(v.typ.Enum) {
			return v.code().Dot("String").Call()
		}
		return v.code()
	case ir.JSON:
		return jen.String().Call(v.code())
	case ir.String:
		return v.code()
	}
	panic(ir.NoForm("golang.text", v.typ.Base))
}

func join(parts []func() *jen.Statement, op string) *jen.Statement {
	out := parts[0]()
	for _, p := range parts[1:] {
		out.Op(op).Add(p())
	}
	return out
}
