package check

import (
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// widen gives ordered variables that are compared with each other more values
// around those that they have. The classes of package domain tell a variable
// from constants; `a > 0` with `a < $b` also needs two values above 0.
func widen(d *domain.Space, views []domain.View) {
	related := map[domain.Var]bool{}
	for _, v := range views {
		for _, c := range v.Clauses {
			left, right := domain.VarOf(&c.Left, v.Event), domain.VarOf(&c.Right, v.Event)
			if ordered(c.Op) && left != (domain.Var{}) && right != (domain.Var{}) {
				related[left], related[right] = true, true
			}
		}
	}
	reach := min(len(related)-1, 2)
	for i, v := range d.Vars {
		if !related[v] {
			continue
		}
		for _, x := range slices.Clone(d.Classes[i]) {
			for n := 1; n <= reach; n++ {
				d.Classes[i] = addValue(d.Classes[i], v.Field, shifted(x, n))
				d.Classes[i] = addValue(d.Classes[i], v.Field, shifted(x, -n))
			}
		}
	}
}

func ordered(op ir.Op) bool {
	return op == ir.Lt || op == ir.Le || op == ir.Gt || op == ir.Ge
}

// shifted is x moved by n small steps, nil for what has no order. A step of a
// time is smaller than the hour around constants, so that it fits between.
func shifted(x ir.Value, n int) ir.Value {
	switch x := x.(type) {
	case int64:
		return x + int64(n)
	case time.Duration:
		return x + time.Duration(n)
	case time.Time:
		return x.Add(time.Duration(n) * 20 * time.Minute)
	}
	return nil
}

func addValue(class []ir.Value, f *ir.Field, v ir.Value) []ir.Value {
	known := func(x ir.Value) bool { return domain.Equal(x, v) }
	if v == nil || slices.ContainsFunc(class, known) || f != nil && !domain.WithinBounds(f, v) {
		return class
	}
	return append(class, v)
}

// inconclusive reports whether a row tests what values can only sample: a pattern, or
// the elements of a list. That no case was found proves nothing there.
func inconclusive(rows []*ir.Row) bool {
	return slices.ContainsFunc(clausesOf(rows), func(c *ir.Clause) bool { return c.Op == ir.Matches || c.Op == ir.Contains })
}
