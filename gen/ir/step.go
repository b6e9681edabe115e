package ir

import "slices"

// Side is where the database finds what a step read: it sees the record before and
// after, and nothing of the event, the caller and the params.
type Side uint8

// The sides.
const (
	Unknown  Side = iota
	Constant      // the same in every step: Source.Value
	Before        // Source.Field of the record before the step
	After         // Source.Field of the record after it
	StepTime      // when the step was taken
)

// Source is an operand as the database finds it.
type Source struct {
	Side  Side
	Field *Field
	Value Value
}

// Source tells where the database finds what a step through r reads as o. What is
// stored as it is can be read where it was stored: a field that the event writes, a
// fact or the caller that the row sets.
func (r *Row) Source(o *Operand) Source {
	switch {
	case o.IsLit:
		return Source{Side: Constant, Value: o.Literal}
	case o.Special == Now:
		return Source{Side: StepTime}
	case o.Special.NamesState():
		if r.From == nil {
			return Source{Side: Constant}
		}
		return Source{Side: Constant, Value: r.From.Text}
	case o.Field != nil && o.Event == nil:
		return r.recordSource(o.Field)
	}
	for i := range r.Set {
		if a := &r.Set[i]; a.Value.Kind == Read && sameOperand(&a.Value.A, o) {
			return Source{Side: After, Field: a.Target}
		}
	}
	return Source{}
}

// recordSource is that of a field of the record as guards and right sides see it:
// incoming if the event writes it, else old. Before its creation a record has its id
// and its defaults.
func (r *Row) recordSource(f *Field) Source {
	switch {
	case r.Event.writes(f):
		return Source{Side: After, Field: f}
	case r.From != nil:
		return Source{Side: Before, Field: f}
	case f.Index < 0:
		return Source{Side: After, Field: f}
	case f.Derive != nil:
		return Source{}
	}
	return Source{Side: Constant, Value: f.Default}
}

// sameOperand compares operands that are no fields of the record.
func sameOperand(a, b *Operand) bool {
	return !a.IsLit && a.Field == b.Field && a.Event == b.Event && a.Param == b.Param && a.Special == b.Special
}

func (e *Event) writes(f *Field) bool {
	return slices.ContainsFunc(e.Writes, func(w Write) bool { return w.Field == f })
}

// Writes reports whether acceptance stores f.
func (r *Row) Writes(f *Field) bool {
	return r.Event.writes(f) || slices.ContainsFunc(r.Set, func(a Assign) bool { return a.Target == f })
}

// Decided returns what the database finds of both operands of c, and whether that
// decides c.
func (r *Row) Decided(c *Clause) bool {
	left, right := r.Source(&c.Left), r.Source(&c.Right)
	switch c.Op {
	case Exists, NotExists:
		return left.Side != Unknown
	case Matches: // each engine has its own regular expressions
		return false
	case Contains:
		return left.Side != Unknown && right.Side != Unknown
	case Eq, Ne, Lt, Le, Gt, Ge, In, NotIn:
		return left.Side != Unknown && right.Side != Unknown && plain(c.Left.Type)
	}
	panic(NoForm("ir.Row.Decided", c.Op))
}

// plain reports whether a value of t has one spelling in each database. JSON has
// several, and in SQLite so has a list.
func plain(t Type) bool {
	switch t.Base {
	case String, Int, Bool, Time, Duration, UUID, EnumOf:
		return true
	case JSON, ListOf:
		return false
	}
	panic(NoForm("ir.plain", t.Base))
}

// Determined reports whether the database knows what a must store: no fact of the
// event, no caller, no param is in it, or one that is stored elsewhere too.
func (r *Row) Determined(a *Assign) bool {
	e := &a.Value
	switch e.Kind {
	case Null:
		return true
	case Read:
		return plain(a.Target.Type) && r.determines(a.Target, &e.A)
	case Add, Sub:
		return r.determinesSum(a)
	}
	panic(NoForm("ir.Row.Determined", e.Kind))
}

// determinesSum judges a sum or a difference: both parts are numbers to the database,
// as ints and durations are and times are not.
func (r *Row) determinesSum(a *Assign) bool {
	for _, o := range []*Operand{&a.Value.A, &a.Value.B} {
		if !o.Type.Base.Counts() || !r.determines(a.Target, o) {
			return false
		}
	}
	return true
}

// determines reports whether o is found elsewhere than in target.
func (r *Row) determines(target *Field, o *Operand) bool {
	s := r.Source(o)
	switch s.Side {
	case Unknown:
		return false
	case Constant, Before, StepTime:
		return true
	case After:
		return s.Field != target
	}
	panic(NoForm("ir.determines", s.Side))
}

// Rivals returns the rows that win over r where they hold, whoever fires.
func (r *Row) Rivals(rows []*Row) []*Row {
	var out []*Row
	for _, o := range rows {
		if o == r || o.From != r.From || o.Event != r.Event || !o.covers(r) {
			continue
		}
		if o.Otherwise != r.Otherwise && r.Otherwise || o.Otherwise == r.Otherwise && o.Priority > r.Priority {
			out = append(out, o)
		}
	}
	return out
}

// Open returns the guards of a rival o of which a step through r does not tell whether
// they held. A guard that r has too did.
func (r *Row) Open(o *Row) []*Clause {
	return slices.DeleteFunc(slices.Clone(o.When), func(c *Clause) bool { return r.demands(c) || r.Decided(c) })
}

// Closing returns the guards of a rival o of which one has to be false.
func (r *Row) Closing(o *Row) []*Clause {
	return slices.DeleteFunc(slices.Clone(o.When), r.demands)
}

func (r *Row) demands(c *Clause) bool {
	return slices.ContainsFunc(r.When, func(own *Clause) bool { return own.Text == c.Text })
}

// covers reports whether every actor that may fire r may fire o.
func (o *Row) covers(r *Row) bool {
	if o.By == nil {
		return true
	}
	return r.By != nil && !slices.ContainsFunc(r.By, func(a *Actor) bool { return !slices.Contains(o.By, a) })
}
