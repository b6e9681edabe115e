package domain

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// ErrOverflow is the answer of [EvalExpr] when a result does not fit: an int
// or a duration beyond 64 bits, a time outside the years 1 to 9999.
var ErrOverflow = errors.New("result is out of range")

// Eval decides a clause. An absent operand makes every operator false except
// exists and not_exists. read gives the value of an operand that is not a
// literal, nil for absent.
func Eval(c *ir.Clause, read func(*ir.Operand) ir.Value) bool {
	left, right := operand(&c.Left, read), operand(&c.Right, read)
	absent := left == nil || right == nil
	switch c.Op {
	case ir.Exists:
		return (left != nil) == right.(bool)
	case ir.NotExists:
		return (left == nil) == right.(bool)
	case ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt, ir.Ge, ir.In, ir.NotIn, ir.Contains, ir.Matches:
		return !absent && compares(c, left, right)
	}
	panic(ir.NoForm("domain.Eval", c.Op))
}

// compares decides a clause whose operands are both present.
func compares(c *ir.Clause, left, right ir.Value) bool {
	switch c.Op {
	case ir.Eq:
		return Equal(left, right)
	case ir.Ne:
		return !Equal(left, right)
	case ir.Lt:
		return Compare(left, right) < 0
	case ir.Le:
		return Compare(left, right) <= 0
	case ir.Gt:
		return Compare(left, right) > 0
	case ir.Ge:
		return Compare(left, right) >= 0
	case ir.In:
		return contains(right, left)
	case ir.NotIn:
		return !contains(right, left)
	case ir.Contains:
		return contains(left, right)
	case ir.Matches:
		if c.Pattern != nil {
			return c.Pattern.MatchString(left.(string))
		}
		found, err := regexp.MatchString(right.(string), left.(string))
		return err == nil && found
	case ir.Exists, ir.NotExists: // ask about absence
	}
	panic(ir.NoForm("domain.compares", c.Op))
}

// EvalExpr computes a right side. An absent operand makes the result absent;
// times are truncated to microseconds, as they are stored. The only error of
// an expression that the compiler accepted is [ErrOverflow].
func EvalExpr(e *ir.Expr, read func(*ir.Operand) ir.Value) (ir.Value, error) {
	switch e.Kind {
	case ir.Null:
		return nil, nil
	case ir.Read:
		return operand(&e.A, read), nil
	case ir.Add:
		return combine(e, read, add)
	case ir.Sub:
		return combine(e, read, subtract)
	}
	return nil, ir.NoForm("domain.EvalExpr", e.Kind)
}

// combine computes a sum or a difference; it is absent where an operand is.
func combine(e *ir.Expr, read func(*ir.Operand) ir.Value, by func(a, b ir.Value) (ir.Value, error)) (ir.Value, error) {
	a, b := operand(&e.A, read), operand(&e.B, read)
	if a == nil || b == nil {
		return nil, nil
	}
	return by(a, b)
}

func operand(o *ir.Operand, read func(*ir.Operand) ir.Value) ir.Value {
	if o.IsLit {
		return o.Literal
	}
	return read(o)
}

func contains(list, element ir.Value) bool {
	values, _ := list.([]any)
	return slices.ContainsFunc(values, func(v any) bool { return Equal(v, element) })
}

func add(a, b ir.Value) (ir.Value, error) {
	switch a := a.(type) {
	case int64:
		if b, ok := b.(int64); ok {
			return addInt(a, b)
		}
	case time.Duration:
		switch b := b.(type) {
		case time.Duration:
			sum, err := addInt(int64(a), int64(b))
			if err != nil {
				return nil, err
			}
			return time.Duration(sum.(int64)), nil
		case time.Time:
			return addTime(b, a)
		}
	case time.Time:
		if b, ok := b.(time.Duration); ok {
			return addTime(a, b)
		}
	}
	return nil, fmt.Errorf("cannot add %T and %T", a, b)
}

func subtract(a, b ir.Value) (ir.Value, error) {
	switch b := b.(type) {
	case int64:
		if a, ok := a.(int64); ok {
			return subInt(a, b)
		}
	case time.Duration:
		switch a := a.(type) {
		case time.Duration:
			diff, err := subInt(int64(a), int64(b))
			if err != nil {
				return nil, err
			}
			return time.Duration(diff.(int64)), nil
		case time.Time:
			half := b / 2 // the smallest duration has no negative
			return addTime(a.Add(-half), half-b)
		}
	case time.Time:
		if a, ok := a.(time.Time); ok {
			return subTime(a, b)
		}
	}
	return nil, fmt.Errorf("cannot subtract %T from %T", b, a)
}

func addInt(a, b int64) (ir.Value, error) {
	if (b > 0 && a > math.MaxInt64-b) || (b < 0 && a < math.MinInt64-b) {
		return nil, ErrOverflow
	}
	return a + b, nil
}

func subInt(a, b int64) (ir.Value, error) {
	if (b < 0 && a > math.MaxInt64+b) || (b > 0 && a < math.MinInt64+b) {
		return nil, ErrOverflow
	}
	return a - b, nil
}

func addTime(t time.Time, d time.Duration) (ir.Value, error) {
	sum := t.Add(d).UTC().Truncate(time.Microsecond)
	if !ValidTime(sum) {
		return nil, ErrOverflow
	}
	return sum, nil
}

// subTime refuses a difference that time.Sub would saturate.
func subTime(a, b time.Time) (ir.Value, error) {
	diff := a.Sub(b)
	if !b.Add(diff).Equal(a) {
		return nil, ErrOverflow
	}
	return diff, nil
}

// ValidTime reports whether t lies in the years 1 to 9999, which Go,
// PostgreSQL, SQLite and RFC 3339 can all write.
func ValidTime(t time.Time) bool {
	year := t.UTC().Year()
	return 1 <= year && year <= 9999
}
