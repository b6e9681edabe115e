package domain

import (
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// pool is what decides the values of variables that meet each other.
//
// The values of a pool are enough if each way in which its variables can
// answer the clauses is the way of some values of their classes. Each kind of
// value has its own argument for that, written at [line.points], [texts] and
// [pool.lists]; where there is none, the pool says that it is sampled.
type pool struct {
	vars     []int // those that clauses read, in the order in which they appeared
	literals []ir.Value
	patterns []string
	lengths  []int64      // bounds of strings
	elements [][]ir.Value // of a list: what it is asked for, for each variable
	line     line         // of numbers and times
	words    *texts       // of strings
	sampled  bool
}

// pool collects what is known of the variables linked with i.
func (b *builder) pool(i int) *pool {
	p := &pool{line: line{now: b.now}}
	var shifts []ir.Value
	for j := range b.vars {
		if b.root(j) != b.root(i) {
			continue
		}
		if !b.hidden[j] {
			p.vars = append(p.vars, j)
		}
		p.literals = append(p.literals, b.literals[j]...)
		p.patterns = append(p.patterns, b.patterns[j]...)
		shifts = append(shifts, b.shifts[j]...)
		p.line.timed = p.line.timed || b.types[j].Base == ir.Time
		p.line.ordered = p.line.ordered || b.ordered[j]
		p.line.combined = p.line.combined || b.combined[j]
		p.bounds(b.vars[j].Field)
		for _, e := range b.elements[j] {
			p.elements = append(p.elements, b.values(e))
		}
	}
	// A name without a value, such as a param without a default, tells nothing.
	p.literals = distinct(slices.DeleteFunc(p.literals, func(v ir.Value) bool { return v == nil }))
	switch b.types[i].Base {
	case ir.Int, ir.Duration, ir.Time:
		p.sampled = !p.line.draw(p.literals, shifts, len(p.vars))
	case ir.String:
		p.words = newTexts(p)
		p.sampled = p.words.sampled
	case ir.ListOf:
		p.sampled = len(p.asked()) > maxAsked
	case ir.Bool, ir.UUID, ir.JSON, ir.EnumOf: // classes are whole
	default:
		panic(ir.NoForm("domain.pool", b.types[i].Base))
	}
	return p
}

// bounds makes constants of the bounds of f.
func (p *pool) bounds(f *ir.Field) {
	if f == nil {
		return
	}
	for _, bound := range []*int64{f.Min, f.Max} {
		switch {
		case bound == nil:
		case f.Type.Base.ByLength():
			p.lengths = append(p.lengths, *bound)
		default:
			p.literals = append(p.literals, *bound)
			p.line.ordered = true
		}
	}
}

// place is the number of i among the variables of the pool.
func (p *pool) place(i int) int { return slices.Index(p.vars, i) }

// values lists representatives of all values of i and what it meets.
func (b *builder) values(i int) []ir.Value {
	p := b.pool(i)
	return b.representatives(i, b.types[i], p, len(p.vars)-1)
}

// maxAsked bounds the elements of which lists have every selection.
const maxAsked = 4

// lists gives every selection of the elements that clauses ask for: no clause
// sees anything else of a list. Where they are many it gives none, each and
// all of them. One list with another element is there for its own sake.
func (p *pool) lists(t ir.Type) []ir.Value {
	asked := p.asked()
	out := []ir.Value{[]any{}}
	for _, v := range p.literals {
		if whole, ok := v.([]any); ok {
			out = append(out, whole)
		}
	}
	if len(asked) > maxAsked {
		out = append(out, asked)
		for _, v := range asked {
			out = append(out, []any{v})
		}
	} else {
		for _, v := range asked {
			for _, list := range slices.Clone(out) {
				out = append(out, append(slices.Clone(list.([]any)), v))
			}
		}
	}
	if t.Elem != nil {
		out = append(out, []any{otherElement(t.Elem)})
	}
	return distinct(out)
}

// asked lists the elements that clauses ask for.
func (p *pool) asked() []any {
	var out []any
	for _, v := range p.literals {
		if _, whole := v.([]any); !whole {
			out = append(out, v)
		}
	}
	return distinct(append(out, slices.Concat(p.elements...)...))
}

func otherElement(t *ir.Type) ir.Value {
	switch t.Base {
	case ir.Int:
		return int64(41)
	case ir.Bool:
		return true
	case ir.Duration:
		return time.Minute
	case ir.Time:
		return time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	case ir.UUID:
		return UUID(8)
	case ir.EnumOf:
		return t.Enum.Values[0].Text
	case ir.JSON:
		return `{}`
	case ir.String:
		return "element"
	case ir.ListOf: // the lowering refuses lists of lists
		return []any{}
	}
	panic(ir.NoForm("domain.otherElement", t.Base))
}
