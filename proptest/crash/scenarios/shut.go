package scenarios

import (
	"slices"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// shut reports whether no firing of an internal event of m can take a row: each brings a constant with
// which a clause of the row is false. So it is with a timeout that brings a param.
func shut(m *ir.Machine, r *ir.Row) bool {
	return r.Event.Internal && !slices.ContainsFunc(fires(m), func(f *ir.Fire) bool {
		return f.Event == r.Event && !slices.ContainsFunc(r.When, func(c *ir.Clause) bool { return refuses(f, c) })
	})
}

// refuses reports whether a clause is false with the constant that a firing brings.
func refuses(f *ir.Fire, c *ir.Clause) bool {
	i := slices.IndexFunc(f.Args, func(a ir.Assign) bool { return a.Target == c.Left.Field })
	if i < 0 || f.Args[i].Value.Kind != ir.Read || !constant(&f.Args[i].Value.A) || !constant(&c.Right) {
		return false
	}
	return !domain.Eval(c, func(o *ir.Operand) ir.Value {
		if o == &c.Left {
			o = &f.Args[i].Value.A
		}
		if o.IsLit {
			return o.Literal
		}
		return o.Param.Default
	})
}

func constant(o *ir.Operand) bool { return o.IsLit || o.Param != nil }
