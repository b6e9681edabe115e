package golang

import (
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// goType is the Go type of t: the plain one wrapped in fsm.Optional where t is
// optional.
func (g *generator) goType(t ir.Type) *jen.Statement {
	if t.Optional {
		return g.fsm("Optional").Types(g.plainType(t))
	}
	return g.plainType(t)
}

// plainType is the Go type of a present value of t. An enum of another machine
// is a string: generated packages do not import each other.
func (g *generator) plainType(t ir.Type) *jen.Statement {
	switch t.Base {
	case ir.Int:
		return jen.Int64()
	case ir.Bool:
		return jen.Bool()
	case ir.Time:
		return jen.Qual("time", "Time")
	case ir.Duration:
		return jen.Qual("time", "Duration")
	case ir.UUID:
		return g.fsm("UUID")
	case ir.JSON:
		return g.fsm("JSON")
	case ir.ListOf:
		return jen.Index().Add(g.goType(*t.Elem))
	case ir.EnumOf:
		if g.owns(t.Enum) {
			return jen.Id(naming.Exported(t.Enum.Text))
		}
		return jen.String()
	case ir.String:
		return jen.String()
	}
	panic(ir.NoForm("golang.plainType", t.Base))
}

// owns reports whether e is an enum of this machine.
func (g *generator) owns(e *ir.Enum) bool { return slices.Contains(g.m.Enums, e) }

// literal is the Go expression of a present literal.
func (g *generator) literal(v ir.Value, t ir.Type) *jen.Statement {
	switch t.Base {
	case ir.Int:
		return jen.Lit(int(v.(int64)))
	case ir.Bool:
		return jen.Lit(v.(bool))
	case ir.Duration:
		return durationLiteral(v.(time.Duration))
	case ir.Time:
		return jen.Qual("time", "UnixMicro").Call(jen.Lit(int(v.(time.Time).UnixMicro()))).Dot("UTC").Call()
	case ir.UUID:
		return g.uuidLiteral(v.(string))
	case ir.JSON:
		return g.fsm("JSON").Call(jen.Lit(v.(string)))
	case ir.ListOf:
		return g.plainType(t).ValuesFunc(func(list *jen.Group) {
			for _, e := range v.([]any) {
				list.Add(g.literal(e, *t.Elem))
			}
		})
	case ir.EnumOf:
		if g.owns(t.Enum) {
			return jen.Id(enumConstant(t.Enum, v.(string)))
		}
		return jen.Lit(v.(string))
	case ir.String:
		return jen.Lit(v.(string))
	}
	panic(ir.NoForm("golang.literal", t.Base))
}

// typedLiteral is literal where Go infers the type from the expression.
func (g *generator) typedLiteral(v ir.Value, t ir.Type) *jen.Statement {
	if t.Base == ir.Int {
		return jen.Int64().Call(g.literal(v, t))
	}
	return g.literal(v, t)
}

func enumConstant(e *ir.Enum, value string) string {
	return naming.Exported(e.Text) + naming.Exported(value)
}

// durationLiteral writes d as people do: 48 * time.Hour.
func durationLiteral(d time.Duration) *jen.Statement {
	if d == 0 {
		return jen.Qual("time", "Duration").Call(jen.Lit(0))
	}
	for _, unit := range []struct {
		d    time.Duration
		name string
	}{
		{time.Hour, "Hour"}, {time.Minute, "Minute"}, {time.Second, "Second"},
		{time.Millisecond, "Millisecond"}, {time.Microsecond, "Microsecond"},
	} {
		if d%unit.d == 0 {
			return jen.Lit(int(d/unit.d)).Op("*").Qual("time", unit.name)
		}
	}
	return jen.Qual("time", "Duration").Call(jen.Lit(int(d)))
}

func (g *generator) uuidLiteral(text string) *jen.Statement {
	raw, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	if err != nil {
		raw = nil // the lowering accepts only valid ones
	}
	return g.fsm("UUID").ValuesFunc(func(list *jen.Group) {
		for _, b := range raw {
			list.Op("0x" + hex.EncodeToString([]byte{b}))
		}
	})
}
