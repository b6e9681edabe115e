package domain

import (
	"slices"
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
	default:
		b.relate(left, &c.Left, right, &c.Right)
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
	decides := f.Immutable || f.Min != nil || f.Max != nil || a.Value.Kind != ir.Read
	left := b.feed(&a.Value.A, ev, target, decides)
	if a.Value.Kind == ir.Read {
		b.relate(target, nil, left, &a.Value.A)
		return
	}
	right := b.feed(&a.Value.B, ev, target, decides)
	for _, part := range []int{left, right} {
		if part >= 0 && b.types[part].Base == b.types[target].Base {
			b.union(target, part)
		}
	}
	b.shift(target, &a.Value, left, right)
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

// shift adds what the pool's constants become through a sum or difference
// with a constant, so that the edges of the result are met as well.
func (b *builder) shift(target int, e *ir.Expr, left, right int) {
	read := func(o *ir.Operand) ir.Value { return b.constant(o) }
	switch {
	case left < 0 && right < 0:
		if v, err := EvalExpr(e, read); err == nil && v != nil {
			b.literals[target] = append(b.literals[target], v)
		}
	case left < 0 || right < 0:
		delta := b.constant(&e.A)
		if right < 0 {
			delta = b.constant(&e.B)
		}
		for _, k := range slices.Clone(b.known(target)) {
			for _, v := range []func(a, b ir.Value) (ir.Value, error){add, subtract} {
				if moved, err := v(k, delta); err == nil {
					b.literals[target] = append(b.literals[target], moved)
				}
			}
		}
	}
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
	if v.Param != nil {
		b.literals[i] = append(b.literals[i], v.Param.Default)
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
		b.parent[b.root(j)] = b.root(i)
	}
}

// known lists the constants of i's pool, the bounds of its fields among them.
func (b *builder) known(i int) []ir.Value {
	var out []ir.Value
	for j := range b.vars {
		if b.root(j) != b.root(i) {
			continue
		}
		out = append(out, b.literals[j]...)
		if f := b.vars[j].Field; f != nil && f.Type.Base == ir.Int {
			for _, bound := range []*int64{f.Min, f.Max} {
				if bound != nil {
					out = append(out, *bound)
				}
			}
		}
	}
	// A name without a value, such as a param without a default, tells nothing.
	return slices.DeleteFunc(distinct(out), func(v ir.Value) bool { return v == nil || !fits(v, b.types[i].Base) })
}

// fits reports whether v can be a value of the base type; a list's constants
// are elements or lists.
func fits(v ir.Value, base ir.Base) bool {
	switch v.(type) {
	case int64:
		return base == ir.Int || base == ir.ListOf
	case bool:
		return base == ir.Bool || base == ir.ListOf
	case time.Duration:
		return base == ir.Duration || base == ir.ListOf
	case time.Time:
		return base == ir.Time || base == ir.ListOf
	case []any:
		return base == ir.ListOf
	}
	return base != ir.Int && base != ir.Bool && base != ir.Duration && base != ir.Time
}

// pool is the size of i's pool and the patterns matched with it.
func (b *builder) pool(i int) (size int, patterns []string) {
	for j := range b.vars {
		if b.root(j) == b.root(i) {
			size++
			patterns = append(patterns, b.patterns[j]...)
		}
	}
	return size, patterns
}

func (b *builder) space() *Space {
	b.reveal()
	s := &Space{Now: b.now, index: map[Var]int{}}
	for i, v := range b.vars {
		if !b.hidden[i] {
			s.index[v] = len(s.Vars)
			s.Vars, s.Classes = append(s.Vars, v), append(s.Classes, b.classes(i))
		}
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
