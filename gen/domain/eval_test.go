package domain_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func literal(v ir.Value) ir.Operand { return ir.Operand{Literal: v, IsLit: true} }

func list(v ...any) []any { return v }

// name reads as its text in the map that the test gives.
func name(text string) ir.Operand { return ir.Operand{Text: text, Field: &ir.Field{}} }

func from(values map[string]ir.Value) func(*ir.Operand) ir.Value {
	return func(o *ir.Operand) ir.Value { return values[o.Text] }
}

func TestEveryOperator(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	tests := []struct {
		left  ir.Value
		op    ir.Op
		right ir.Value
		want  bool
	}{
		{"a", ir.Eq, "a", true}, {"a", ir.Eq, "b", false},
		{"a", ir.Ne, "b", true}, {"a", ir.Ne, "a", false},
		{int64(2), ir.Lt, int64(3), true}, {int64(3), ir.Lt, int64(3), false},
		{int64(3), ir.Le, int64(3), true}, {int64(4), ir.Le, int64(3), false},
		{int64(4), ir.Gt, int64(3), true}, {int64(3), ir.Gt, int64(3), false},
		{int64(3), ir.Ge, int64(3), true}, {int64(2), ir.Ge, int64(3), false},
		{noon, ir.Lt, noon.Add(time.Microsecond), true}, {noon, ir.Gt, noon, false},
		{noon, ir.Eq, noon.In(berlin), true}, {noon, ir.Ne, noon.In(berlin), false},
		{time.Second, ir.Le, time.Minute, true}, {time.Minute, ir.Lt, time.Second, false},
		{true, ir.Eq, true, true}, {true, ir.Ne, true, false}, {false, ir.Eq, true, false},
		{"a", ir.In, list("a", "b"), true}, {"c", ir.In, list("a", "b"), false},
		{"c", ir.NotIn, list("a", "b"), true}, {"a", ir.NotIn, list("a", "b"), false},
		{int64(1), ir.In, list(int64(1)), true}, {"x", ir.In, list(), false}, {"x", ir.NotIn, list(), true},
		{list("a", "b"), ir.Contains, "b", true}, {list("a"), ir.Contains, "b", false}, {list(), ir.Contains, "b", false},
		{"node-12", ir.Matches, `\d+$`, true}, {"node", ir.Matches, `\d`, false},
		{"", ir.Exists, true, true}, {"", ir.Exists, false, false},
		{"", ir.NotExists, true, false}, {"", ir.NotExists, false, true},
	}
	type outcome struct {
		op   ir.Op
		want bool
	}
	tried := map[outcome]bool{}
	for _, tt := range tests {
		tried[outcome{tt.op, tt.want}] = true
		c := &ir.Clause{Left: name("x"), Op: tt.op, Right: literal(tt.right)}
		if got := domain.Eval(c, from(map[string]ir.Value{"x": tt.left})); got != tt.want {
			t.Errorf("%v %s %v = %v, want %v", tt.left, tt.op, tt.right, got, tt.want)
		}
	}
	for _, op := range ir.Ops() {
		if !tried[outcome{op, true}] || !tried[outcome{op, false}] {
			t.Errorf("no case says when %s holds, or none when it does not", op)
		}
	}
}

func TestAbsentOperandIsFalseExceptForExistence(t *testing.T) {
	rights := map[ir.Op]ir.Value{
		ir.Eq: "a", ir.Ne: "a", ir.Lt: int64(1), ir.Le: int64(1), ir.Gt: int64(1), ir.Ge: int64(1),
		ir.In: list("a"), ir.NotIn: list("a"), ir.Contains: "a", ir.Matches: ".*",
		ir.Exists: true, ir.NotExists: false,
	}
	for op, right := range rights {
		c := &ir.Clause{Left: name("x"), Op: op, Right: literal(right)}
		if domain.Eval(c, from(nil)) {
			t.Errorf("absent %s %v = true", op, right)
		}
	}
	for _, op := range []ir.Op{ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt, ir.Ge} {
		c := &ir.Clause{Left: name("x"), Op: op, Right: name("y")}
		if domain.Eval(c, from(map[string]ir.Value{"x": int64(1)})) || domain.Eval(c, from(nil)) {
			t.Errorf("x %s absent = true", op)
		}
	}
	existence := []struct {
		op    ir.Op
		right bool
		want  bool
	}{{ir.Exists, true, false}, {ir.Exists, false, true}, {ir.NotExists, true, true}, {ir.NotExists, false, false}}
	for _, tt := range existence {
		c := &ir.Clause{Left: name("x"), Op: tt.op, Right: literal(tt.right)}
		if got := domain.Eval(c, from(nil)); got != tt.want {
			t.Errorf("absent %s %v = %v", tt.op, tt.right, got)
		}
	}
}

func TestExpressions(t *testing.T) {
	last := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	tests := []struct {
		kind     ir.ExprKind
		a, b     ir.Value
		want     ir.Value
		overflow bool
	}{
		{ir.Read, "x", nil, "x", false},
		{ir.Read, nil, nil, nil, false},
		{ir.Null, "x", nil, nil, false},
		{ir.Add, int64(2), int64(3), int64(5), false},
		{ir.Sub, int64(2), int64(3), int64(-1), false},
		{ir.Add, nil, int64(3), nil, false},
		{ir.Sub, int64(3), nil, nil, false},
		{ir.Add, int64(math.MaxInt64), int64(1), nil, true},
		{ir.Add, int64(math.MinInt64), int64(-1), nil, true},
		{ir.Sub, int64(math.MinInt64), int64(1), nil, true},
		{ir.Sub, int64(0), int64(math.MinInt64), nil, true},
		{ir.Sub, int64(-1), int64(math.MinInt64), int64(math.MaxInt64), false},
		{ir.Add, noon, time.Hour, noon.Add(time.Hour), false},
		{ir.Add, time.Hour, noon, noon.Add(time.Hour), false},
		{ir.Add, noon, 1500 * time.Nanosecond, noon.Add(time.Microsecond), false},
		{ir.Sub, noon, time.Hour, noon.Add(-time.Hour), false},
		{ir.Sub, noon.Add(time.Hour), noon, time.Hour, false},
		{ir.Sub, last, time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), nil, true},
		{ir.Add, last, time.Hour, nil, true},
		{ir.Sub, noon, time.Duration(math.MinInt64), noon.Add(math.MaxInt64).Add(1).Truncate(time.Microsecond), false},
		{ir.Sub, last, time.Duration(math.MinInt64), nil, true},
		{ir.Add, time.Duration(math.MaxInt64), time.Duration(1), nil, true},
		{ir.Sub, time.Minute, time.Second, 59 * time.Second, false},
	}
	for _, tt := range tests {
		e := &ir.Expr{Kind: tt.kind, A: name("a"), B: name("b")}
		got, err := domain.EvalExpr(e, from(map[string]ir.Value{"a": tt.a, "b": tt.b}))
		if errors.Is(err, domain.ErrOverflow) != tt.overflow || !domain.Equal(got, tt.want) {
			t.Errorf("kind %d: %v, %v = %v, %v, want %v", tt.kind, tt.a, tt.b, got, err, tt.want)
		}
	}
}

func TestCompareIsATotalOrder(t *testing.T) {
	ascending := []ir.Value{
		nil, false, true, int64(-1), int64(2), time.Second, time.Minute, "", "a", "b",
		noon, noon.Add(1), list(), list("a"), list("a", "b"), list("b"),
	}
	for i, a := range ascending {
		for j, b := range ascending {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := domain.Compare(a, b); got != want || (got == 0) != domain.Equal(a, b) {
				t.Errorf("Compare(%v, %v) = %d, want %d", a, b, got, want)
			}
		}
	}
}
