package domain

import (
	"time"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// builder collects variables into pools. Variables that are compared with or
// assigned to each other share a pool, and so the values that tell them
// apart.
type builder struct {
	machine  *ir.Machine
	now      time.Time
	vars     []Var
	types    []ir.Type
	index    map[Var]int
	hidden   []bool        // only links pools: no clause reads it
	feeds    [][2]int      // assignments, from a source to its target
	parent   []int         // union-find over vars
	literals [][]ir.Value  // what vars[i] is compared with
	patterns [][]string    // what vars[i] is matched with
	shifts   [][]ir.Value  // the constants of sums that vars[i] is assigned
	ordered  []bool        // vars[i] is compared by < and the like
	combined []bool        // vars[i] is part of a sum of two variables
	elements map[int][]int // list variable -> variables that it may contain
}

func newBuilder(m *ir.Machine, now time.Time) *builder {
	return &builder{machine: m, now: now, index: map[Var]int{}, elements: map[int][]int{}}
}

func (b *builder) view(v View) {
	for _, c := range v.Clauses {
		b.clause(c, v.Event)
	}
	for i := range v.Assigns {
		b.assign(&v.Assigns[i], v.Event)
	}
}

func (b *builder) clause(c *ir.Clause, ev *ir.Event) {
	left, right := b.operand(&c.Left, ev), b.operand(&c.Right, ev)
	switch c.Op {
	case ir.Exists, ir.NotExists:
		return
	case ir.In, ir.NotIn:
		if list, ok := c.Right.Literal.([]any); ok && left >= 0 {
			b.literals[left] = append(b.literals[left], list...)
		}
	case ir.Matches:
		if pattern, ok := c.Right.Literal.(string); ok && left >= 0 {
			b.patterns[left] = append(b.patterns[left], pattern)
		}
	case ir.Contains:
		switch {
		case left >= 0 && right >= 0:
			b.elements[left] = append(b.elements[left], right)
		case left >= 0:
			b.literals[left] = append(b.literals[left], b.constant(&c.Right))
		}
	case ir.Eq, ir.Ne:
		b.relate(left, &c.Left, right, &c.Right)
	case ir.Lt, ir.Le, ir.Gt, ir.Ge:
		b.relate(left, &c.Left, right, &c.Right)
		for _, i := range []int{left, right} { // a literal may stand on either side
			if i >= 0 {
				b.ordered[i] = true
			}
		}
	default:
		panic(ir.NoForm("domain.clause", c.Op))
	}
}

// relate records that two operands meet: two variables share a pool, a
// constant joins the pool of the variable.
func (b *builder) relate(left int, l *ir.Operand, right int, r *ir.Operand) {
	switch {
	case left >= 0 && right >= 0:
		b.union(left, right)
	case left >= 0:
		b.literals[left] = append(b.literals[left], b.constant(r))
	case right >= 0:
		b.literals[right] = append(b.literals[right], b.constant(l))
	}
}

// assign links the target with what it is computed from. The old value of
// the target matters only where the field is write-once; what it is computed
// from, only where the target decides something.
func (b *builder) assign(a *ir.Assign, ev *ir.Event) {
	f := a.Target
	target := b.link(Var{Field: f}, f.Type)
	if f.Immutable {
		b.hidden[target] = false
	}
	if a.Value.Kind == ir.Null {
		return
	}
	decides := f.Immutable || f.Min != nil || f.Max != nil || a.Value.Kind.Sum()
	left := b.feed(&a.Value.A, ev, target, decides)
	if !a.Value.Kind.Sum() {
		b.relate(target, nil, left, &a.Value.A)
		return
	}
	b.combine(target, &a.Value, left, b.feed(&a.Value.B, ev, target, decides))
}

// feed makes o known as a source of target; it becomes a variable if the
// target decides something by itself or, see space, through a clause.
func (b *builder) feed(o *ir.Operand, ev *ir.Event, target int, decides bool) int {
	v := VarOf(o, ev)
	if v == (Var{}) {
		return -1
	}
	source := b.link(v, b.typeOf(v, o))
	b.hidden[source] = b.hidden[source] && !decides
	b.feeds = append(b.feeds, [2]int{source, target})
	return source
}

// combine records a sum or a difference. A variable that is moved by a
// constant shares the pool of the target, at a distance; two variables, or a
// negated one, are more than classes can represent.
func (b *builder) combine(target int, e *ir.Expr, left, right int) {
	switch {
	case left < 0 && right < 0:
		if v, err := EvalExpr(e, b.constant); err == nil && v != nil {
			b.literals[target] = append(b.literals[target], v)
		}
	case right < 0:
		b.shift(target, left, b.constant(&e.B))
	case left < 0 && commutes(e.Kind):
		b.shift(target, right, b.constant(&e.A))
	default:
		b.combined[target] = true
		for _, part := range []int{left, right} {
			if part >= 0 {
				b.union(target, part)
				b.combined[part] = true
			}
		}
	}
}

// commutes reports whether a sum of kind k is the same with its parts exchanged.
func commutes(k ir.ExprKind) bool {
	switch k {
	case ir.Add:
		return true
	case ir.Sub:
		return false
	case ir.Read, ir.Null: // have no two parts
	}
	panic(ir.NoForm("domain.commutes", k))
}

func (b *builder) shift(target, source int, by ir.Value) {
	b.join(target, source)
	b.shifts[target] = append(b.shifts[target], by)
}

// constant is the value of an operand that is not a variable.
func (b *builder) constant(o *ir.Operand) ir.Value {
	if o.Special == ir.Now {
		return b.now
	}
	return o.Literal
}

// operand makes o a variable and returns its index, or -1 for a constant.
func (b *builder) operand(o *ir.Operand, ev *ir.Event) int {
	v := VarOf(o, ev)
	if v == (Var{}) {
		return -1
	}
	i := b.link(v, b.typeOf(v, o))
	b.hidden[i] = false
	return i
}

func (b *builder) typeOf(v Var, o *ir.Operand) ir.Type {
	switch {
	case v.Param != nil:
		return v.Param.Type
	case v.Field != nil:
		return b.fieldType(v)
	}
	return o.Type
}

// fieldType is the type of v's values: a required write of an optional field
// cannot be absent, an optional write of a required field can.
func (b *builder) fieldType(v Var) ir.Type {
	t := v.Field.Type
	if v.Event == nil {
		return t
	}
	for _, w := range v.Event.Writes {
		if w.Field == v.Field {
			t.Optional = w.Optional
		}
	}
	return t
}

// link makes v known to the pools.
func (b *builder) link(v Var, t ir.Type) int {
	if i, ok := b.index[v]; ok {
		return i
	}
	i := len(b.vars)
	b.index[v] = i
	b.vars, b.types, b.parent = append(b.vars, v), append(b.types, t), append(b.parent, i)
	b.hidden = append(b.hidden, true)
	b.literals, b.patterns = append(b.literals, nil), append(b.patterns, nil)
	b.shifts, b.ordered, b.combined = append(b.shifts, nil), append(b.ordered, false), append(b.combined, false)
	switch {
	case v.Param != nil:
		b.literals[i] = append(b.literals[i], v.Param.Default)
	case v.Special.NamesState():
		b.literals[i] = b.stateNames()
	}
	return i
}

func (b *builder) root(i int) int {
	for b.parent[i] != i {
		i = b.parent[i]
	}
	return i
}

func (b *builder) union(i, j int) {
	if b.types[i].Base == b.types[j].Base {
		b.join(i, j)
	}
}

func (b *builder) join(i, j int) { b.parent[b.root(j)] = b.root(i) }

func (b *builder) stateNames() []ir.Value {
	var names []ir.Value
	for _, s := range b.machine.States {
		names = append(names, s.Text)
	}
	return names
}

// meet lets the variables that a list is asked for meet each other, and the constants
// that it is asked for: a list that has one of them may have another or not.
func (b *builder) meet() {
	asked := map[int]int{} // by the root of the list, the first variable
	for list := range b.vars {
		for _, e := range b.elements[list] {
			first, there := asked[b.root(list)]
			if !there {
				asked[b.root(list)] = e
				continue
			}
			b.union(first, e)
		}
	}
	for list := range b.vars {
		e, there := asked[b.root(list)]
		if !there {
			continue
		}
		for _, v := range b.literals[list] {
			if _, whole := v.([]any); !whole {
				b.literals[e] = append(b.literals[e], v)
			}
		}
	}
}

func (b *builder) space() *Space {
	b.reveal()
	b.meet()
	s := &Space{Now: b.now, index: map[Var]int{}}
	pools := map[int]*pool{}
	for i, v := range b.vars {
		if b.hidden[i] {
			continue
		}
		if pools[b.root(i)] == nil {
			pools[b.root(i)] = b.pool(i)
		}
		s.index[v] = len(s.Vars)
		s.Vars, s.Classes = append(s.Vars, v), append(s.Classes, b.classes(i, pools[b.root(i)]))
	}
	for _, p := range pools {
		s.Sampled = s.Sampled || p.sampled
	}
	return s
}

// reveal makes variables of the sources of every target that is one.
func (b *builder) reveal() {
	for changed := true; changed; {
		changed = false
		for _, f := range b.feeds {
			source, target := f[0], f[1]
			if b.hidden[source] && !b.hidden[target] {
				b.hidden[source], changed = false, true
			}
		}
	}
}
