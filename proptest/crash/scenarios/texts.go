package scenarios

import (
	"github.com/fsmgen/fsmgen/gen/ir"
)

// read notes what clauses compare texts with, how long texts may be, and which
// numbers are unique. Fields are known by their names: those of a payload are
// copies.
func (c *Group) read(m *ir.Machine) {
	for _, u := range m.Uniques {
		for _, f := range u.Fields {
			if f.Type.Base == ir.Int {
				c.numbers[f.Text] = true
			}
		}
	}
	for _, k := range clausesOf(m) {
		c.readClause(k)
	}
	fields := append([]*ir.Field{m.ID}, m.Fields...)
	for _, ev := range m.Events {
		fields = append(fields, ev.Fields...)
	}
	for _, f := range fields {
		if f.Type.Base == ir.String && f.Max != nil {
			c.rooms = append(c.rooms, *f.Max)
		}
	}
}

func (c *Group) readClause(k *ir.Clause) {
	for _, o := range []ir.Operand{k.Left, k.Right} {
		if o.Field != nil {
			delete(c.numbers, o.Field.Text)
		}
	}
	switch v := k.Right.Literal.(type) {
	case string:
		c.literals[v] = true
	case []any:
		for _, element := range v {
			if text, ok := element.(string); ok {
				c.literals[text] = true
			}
		}
	}
	if !k.Op.LooksInside() {
		return
	}
	for _, o := range []ir.Operand{k.Left, k.Right} {
		if o.Field != nil {
			c.searched[o.Field.Text] = true
		}
	}
}

func clausesOf(m *ir.Machine) []*ir.Clause {
	var out []*ir.Clause
	for _, r := range m.Rows {
		out = append(out, r.When...)
	}
	for _, s := range m.States {
		out = append(out, s.Holds...)
	}
	return out
}

// spread makes every field searched that one is compared with or copied to: a
// text that is marked here and not there would equal nothing.
func (c *Group) spread() {
	for changed := true; changed; {
		changed = false
		meet := func(a, b *ir.Field) {
			if a != nil && b != nil && c.searched[a.Text] != c.searched[b.Text] {
				c.searched[a.Text], c.searched[b.Text] = true, true
				changed = true
			}
		}
		for _, m := range c.machines {
			for _, k := range clausesOf(m) {
				meet(k.Left.Field, k.Right.Field)
			}
			for _, r := range m.Rows {
				for _, a := range r.Set {
					meet(a.Target, a.Value.A.Field)
				}
			}
		}
	}
}

// room is how long a text may become in every field that can hold one of n
// characters.
func (c *Group) room(n int64) (most int64, bounded bool) {
	for _, max := range c.rooms {
		if max >= n && (!bounded || max < most) {
			most, bounded = max, true
		}
	}
	return most, bounded
}
