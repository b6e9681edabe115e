package check

import (
	"math"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// interval is a range of ints. An end at unbounded or beyond is not known.
type interval struct{ lo, hi int64 }

const unbounded = math.MaxInt64 / 4

// provenBySum reports whether c, a comparison with a literal, holds wherever r
// stores a sum or a difference that is present: what the bounds of its parts
// and the clauses about them allow is enough. False proves nothing.
func provenBySum(r *ir.Row, c *ir.Clause) bool {
	limit, isInt := c.Right.Literal.(int64)
	if c.Left.Field == nil || !isInt || limit <= -unbounded || limit >= unbounded {
		return false
	}
	a := setOf(r, c.Left.Field)
	if a == nil || !a.Value.Kind.Sum() {
		return false
	}
	left, right := intervalOf(r, &a.Value.A), summed(a.Value.Kind, intervalOf(r, &a.Value.B))
	lo, hi := left.lo+right.lo, left.hi+right.hi
	lowest, highest := min(left.lo, right.lo) > -unbounded, max(left.hi, right.hi) < unbounded
	switch c.Op {
	case ir.Gt:
		return lowest && lo > limit
	case ir.Ge:
		return lowest && lo >= limit
	case ir.Lt:
		return highest && hi < limit
	case ir.Le:
		return highest && hi <= limit
	case ir.Eq, ir.Ne, ir.Exists, ir.NotExists, ir.In, ir.NotIn, ir.Contains, ir.Matches: // an interval does not prove it
		return false
	}
	panic(ir.NoForm("check.provenBySum", c.Op))
}

// summed is what the second part x of a sum adds to the first one.
func summed(kind ir.ExprKind, x interval) interval {
	switch kind {
	case ir.Add:
		return x
	case ir.Sub:
		return interval{-x.hi, -x.lo}
	case ir.Read, ir.Null: // have no second part
	}
	panic(ir.NoForm("check.summed", kind))
}

// intervalOf is what o can be where r is chosen.
func intervalOf(r *ir.Row, o *ir.Operand) interval {
	if v, ok := o.Literal.(int64); ok && o.IsLit {
		return interval{max(v, -unbounded), min(v, unbounded)}
	}
	out := interval{-unbounded, unbounded}
	if o.Field == nil {
		return out
	}
	if o.Field.Min != nil {
		out.lo = max(out.lo, *o.Field.Min)
	}
	if o.Field.Max != nil {
		out.hi = min(out.hi, *o.Field.Max)
	}
	clauses := r.When
	if r.From != nil && o.Event == nil && writeOf(r.Event, o.Field) == nil {
		clauses = append(clauses[:len(clauses):len(clauses)], r.From.Holds...)
	}
	for _, c := range clauses {
		if v, ok := c.Right.Literal.(int64); ok && sameOperand(&c.Left, o) && v > -unbounded && v < unbounded {
			out = out.narrow(c.Op, v)
		}
	}
	return out
}

func (x interval) narrow(op ir.Op, v int64) interval {
	switch op {
	case ir.Eq:
		return interval{max(x.lo, v), min(x.hi, v)}
	case ir.Gt:
		x.lo = max(x.lo, v+1)
	case ir.Ge:
		x.lo = max(x.lo, v)
	case ir.Lt:
		x.hi = min(x.hi, v-1)
	case ir.Le:
		x.hi = min(x.hi, v)
	case ir.Ne, ir.Exists, ir.NotExists, ir.In, ir.NotIn, ir.Contains, ir.Matches: // moves no end
	default:
		panic(ir.NoForm("check.narrow", op))
	}
	return x
}
