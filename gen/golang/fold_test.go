package golang

import (
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// TestFoldsAsTheInterpreterDecides: a clause between two literals is decided by the
// generator, as the interpreter decides it.
func TestFoldsAsTheInterpreterDecides(t *testing.T) {
	for _, op := range ir.Ops() {
		outcomes := map[bool]bool{}
		lefts, rights := literalsOf(op)
		for _, l := range lefts {
			for _, r := range rights {
				c := &ir.Clause{Left: ir.Operand{IsLit: true, Literal: l}, Op: op, Right: ir.Operand{IsLit: true, Literal: r}}
				want := domain.Eval(c, nil)
				outcomes[want] = true
				if got := foldClause(op, l, r); got != want {
					t.Errorf("%v %s %v is folded to %v", l, op, r, got)
				}
			}
		}
		if len(lefts) > 0 && len(outcomes) < 2 {
			t.Errorf("the literals of %s have one outcome only", op)
		}
	}
}

// literalsOf lists left and right sides of an operator that stands between literals.
func literalsOf(op ir.Op) (lefts, rights []ir.Value) {
	numbers := []ir.Value{int64(-1), int64(0), int64(2)}
	texts := []ir.Value{"", "a", "ab", "ba", "A"}
	switch op {
	case ir.Eq, ir.Ne:
		return append(texts, true, int64(1), time.Second), append(texts, true, int64(1), time.Second)
	case ir.Lt, ir.Le, ir.Gt, ir.Ge:
		return numbers, numbers
	case ir.In, ir.NotIn:
		return texts, []ir.Value{[]any{}, []any{"a"}, []any{"ab", "ba"}}
	case ir.Matches:
		return texts, []ir.Value{"^a", "b$", "a", "(?i)A"}
	case ir.Exists, ir.NotExists, ir.Contains: // have no two literals
		return nil, nil
	}
	panic(ir.NoForm("golang.literalsOf", op))
}
