package domain

import (
	"maps"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// Var is one thing whose value a clause or an assignment can read. Exactly
// one of Field, Param and Special is set.
type Var struct {
	Field *ir.Field
	// Event, with Field: the incoming value, that is a field of the event or
	// the value that it writes. Nil: the value stored in the record.
	Event *ir.Event
	Param *ir.Param
	// Special is ActorID, StateName, FromName or ErrorText; now is fixed.
	Special ir.Special
}

// View is a set of clauses and assignments read in one context.
type View struct {
	// Event: record fields that it writes are read as the incoming value.
	// Nil: every record field is the stored one.
	Event   *ir.Event
	Clauses []*ir.Clause
	Assigns []ir.Assign
}

// Space is the cone of influence of some views: the variables that decide
// them, each with representatives of every class of values that they can
// tell apart. All values obey the declared bounds.
type Space struct {
	Vars []Var
	// Classes has the representatives of Vars[i] at i, never none; nil among
	// them is absent.
	Classes [][]ir.Value
	// Sampled: some combination of answers may be that of no values of the
	// classes. What is found among them is true; that nothing is found proves
	// nothing.
	Sampled bool
	Now     time.Time

	index map[Var]int
}

// NewSpace is the space of one view: clauses and assignments of rows of ev,
// where ev nil means that all of them read the stored record.
func NewSpace(m *ir.Machine, clauses []*ir.Clause, assigns []ir.Assign, ev *ir.Event, now time.Time) *Space {
	return Join(m, now, View{Event: ev, Clauses: clauses, Assigns: assigns})
}

// Join is the space of several views together, for example the guards of a
// row, which see the incoming values, and the holds of its source state,
// which see the stored ones. A variable of two views is one variable.
//
// Params and the specials are variables too; Fix those that are known.
func Join(m *ir.Machine, now time.Time, views ...View) *Space {
	b := newBuilder(m, now.UTC().Truncate(time.Microsecond))
	for _, v := range views {
		b.view(v)
	}
	return b.space()
}

// Fix restricts v to the given values. It has no effect if v is not part of
// the space.
func (s *Space) Fix(v Var, values ...ir.Value) {
	if i, ok := s.index[v]; ok && len(values) > 0 {
		s.Classes[i] = values
	}
}

// Extend gives v further values, or makes it a variable of the space.
func (s *Space) Extend(v Var, values ...ir.Value) {
	if i, ok := s.index[v]; ok {
		s.Classes[i] = distinct(slices.Concat(s.Classes[i], values))
		return
	}
	s.index[v] = len(s.Vars)
	s.Vars, s.Classes = append(s.Vars, v), append(s.Classes, distinct(values))
}

// Clone returns a space that can be restricted without changing s.
func (s *Space) Clone() *Space {
	c := *s
	c.Vars, c.Classes, c.index = slices.Clone(s.Vars), slices.Clone(s.Classes), maps.Clone(s.index)
	return &c
}

// Size is the number of assignments, or the largest uint64 if there are more.
func (s *Space) Size() uint64 {
	size := uint64(1)
	for _, class := range s.Classes {
		hi, lo := bits.Mul64(size, uint64(len(class)))
		if hi != 0 {
			return math.MaxUint64
		}
		size = lo
	}
	return size
}

// Exhaustive reports whether All with this limit meets every combination of
// answers that the clauses of the space can give.
func (s *Space) Exhaustive(limit int) bool { return !s.Sampled && s.fits(limit) }

func (s *Space) fits(limit int) bool { return limit >= 0 && s.Size() <= uint64(limit) }

// Assignment gives every variable of a space a value.
type Assignment struct {
	space *Space
	// Values has the value of Vars[i] at i.
	Values []ir.Value
}

// Lookup returns the value of v, and whether v is part of the space.
func (a Assignment) Lookup(v Var) (ir.Value, bool) {
	i, ok := a.space.index[v]
	if !ok {
		return nil, false
	}
	return a.Values[i], true
}

// Reader reads operands in the context of ev: what ev carries is incoming,
// the rest is stored; ev nil reads the stored record. A param outside the
// space has its default; any other name outside the space is absent.
func (a Assignment) Reader(ev *ir.Event) func(*ir.Operand) ir.Value {
	return func(o *ir.Operand) ir.Value {
		if o.Special == ir.Now {
			return a.space.Now
		}
		v := VarOf(o, ev)
		value, ok := a.Lookup(v)
		if !ok && v.Param != nil {
			return v.Param.Default
		}
		return value
	}
}

// VarOf names the variable that o reads in the context of ev. It is the zero
// Var for a literal and for now.
func VarOf(o *ir.Operand, ev *ir.Event) Var {
	switch {
	case o.IsLit || o.Special == ir.Now:
		return Var{}
	case o.Event != nil:
		return Var{Field: o.Field, Event: o.Event}
	case o.Field != nil && ev != nil && carries(ev, o.Field):
		return Var{Field: o.Field, Event: ev}
	}
	return Var{Field: o.Field, Param: o.Param, Special: o.Special}
}

// carries reports whether f is part of ev's payload.
func carries(ev *ir.Event, f *ir.Field) bool {
	for _, own := range ev.Fields {
		if own == f {
			return true
		}
	}
	for _, w := range ev.Writes {
		if w.Field == f {
			return true
		}
	}
	return false
}

func distinct(values []ir.Value) []ir.Value {
	var out []ir.Value
	for _, v := range values {
		if !contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}
