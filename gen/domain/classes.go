package domain

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// classes lists representatives of the values of variable i.
func (b *builder) classes(i int, p *pool) []ir.Value {
	v, t := b.vars[i], b.types[i]
	switch v.Special {
	case ir.StateName, ir.FromName:
		return b.stateNames()
	case ir.ActorID:
		t.Optional = true // `system` has no id
	case "", ir.Now, ir.ErrorText:
	default:
		panic(ir.NoForm("domain.classes", v.Special))
	}
	values := b.representatives(i, t, p, p.place(i))
	if v.Field != nil {
		values = slices.DeleteFunc(values, func(x ir.Value) bool { return !WithinBounds(v.Field, x) })
	}
	if t.Optional {
		values = append(values, nil)
	}
	if len(values) == 0 { // bounds that no value satisfies
		values = []ir.Value{nil}
	}
	return values
}

func (b *builder) representatives(i int, t ir.Type, p *pool, place int) []ir.Value {
	switch t.Base {
	case ir.Bool:
		return []ir.Value{false, true}
	case ir.EnumOf:
		return enumValues(t.Enum)
	case ir.Int, ir.Duration, ir.Time:
		return p.line.values(t.Base, place)
	case ir.UUID:
		return uuids(p.literals, place+1)
	case ir.JSON:
		return []ir.Value{`{}`} // clauses ask only whether it exists
	case ir.ListOf:
		return p.lists(t)
	case ir.String:
		return p.words.values(place, b.vars[i].Field)
	}
	panic(ir.NoForm("domain.representatives", t.Base))
}

func enumValues(e *ir.Enum) []ir.Value {
	var out []ir.Value
	for _, v := range e.Values {
		out = append(out, v.Text)
	}
	return out
}

// UUID is the n-th of a fixed list of different uuids.
func UUID(n int) ir.Value { return fmt.Sprintf("00000000-0000-4000-8000-%012x", n+1) }

// uuids lists the constants and so many others; see [line.draw] on equality.
func uuids(known []ir.Value, count int) []ir.Value {
	out := slices.Clone(known)
	for n := 0; count > 0; n++ {
		if v := UUID(n); !contains(known, v) {
			out = append(out, v)
			count--
		}
	}
	return out
}

// WithinBounds reports whether v is absent or obeys the Min and Max of f: an
// int by its value, a string by its length in characters.
func WithinBounds(f *ir.Field, v ir.Value) bool {
	var size int64
	switch v := v.(type) {
	case int64:
		size = v
	case string:
		if !f.Type.Base.ByLength() {
			return true
		}
		size = int64(utf8.RuneCountInString(v))
	default:
		return true
	}
	return (f.Min == nil || size >= *f.Min) && (f.Max == nil || size <= *f.Max)
}
