package check

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

const (
	codeNoValue     = "FSM070"
	codeSetAndWrite = "FSM071"
	codeWriteOnce   = "FSM072"
	codeAbsentValue = "FSM073"
	codeOutOfBounds = "FSM074"
)

// creation reports required fields that a creation row leaves without a
// value.
func (s *subject) creation() {
	for _, r := range s.leaving[nil] {
		if r.Reject != nil || synthetic(r) {
			continue
		}
		for _, f := range s.m.Fields {
			if f.Type.Optional || f.HasDefault || f.Derive != nil || writeOf(r.Event, f) != nil || setOf(r, f) != nil {
				continue
			}
			s.report(codeNoValue, r.Span, fmt.Sprintf("add %q to the `writes` of %s, `set` it, give it a default, or make it optional", f.Text, r.Event.Text),
				"row %q creates a record without a value for required field %q", r.Text, f.Text)
		}
	}
}

func setOf(r *ir.Row, f *ir.Field) *ir.Assign {
	for i := range r.Set {
		if r.Set[i].Target == f {
			return &r.Set[i]
		}
	}
	return nil
}

// assignments reports fields assigned twice in one step, and values that may
// be absent for required fields.
func (s *subject) assignments() {
	for _, r := range s.m.Rows {
		k, possible := s.guarded(r)
		for i := range r.Set {
			a := &r.Set[i]
			if writeOf(r.Event, a.Target) != nil {
				s.report(codeSetAndWrite, a.Span, "keep one of the two: let the event carry another field, or drop the `set`",
					"row %q sets %q, which event %s writes", r.Text, a.Target.Text, r.Event.Text)
			}
			if possible && !a.Target.Type.Optional && k.expr(a.Target, &a.Value)&maybeAbsent != 0 {
				s.report(codeAbsentValue, a.Value.Span, "add an `exists true` clause for what may be absent, or make the field optional",
					"%s may be absent, but field %q is required", a.Value.Text, a.Target.Text)
			}
		}
	}
}

// writeOnce reports rows that store an immutable field where the record may
// have it already: a different value would be refused.
func (s *subject) writeOnce() {
	for _, r := range s.m.Rows {
		k, possible := s.guarded(r)
		if r.From == nil || r.Reject != nil || !possible {
			continue
		}
		again := func(f *ir.Field) bool { return f.Immutable && fieldMark(k.stored, f)&maybePresent != 0 }
		for _, w := range r.Event.Writes {
			if again(w.Field) {
				s.report(codeWriteOnce, r.Span, fmt.Sprintf("add the clause \"%s exists false\" in a state before the event, or send the value as a field of the event and compare it", w.Field.Text),
					"row %q stores immutable field %q, which a record in state %q may already have", r.Text, w.Field.Text, r.From.Text)
			}
		}
		for i := range r.Set {
			a := &r.Set[i]
			if again(a.Target) && !keepsValue(r, a) {
				s.report(codeWriteOnce, a.Span, fmt.Sprintf("add the clause \"%s exists false\" to the row, or drop `immutable`", a.Target.Text),
					"row %q sets immutable field %q, which a record in state %q may already have", r.Text, a.Target.Text, r.From.Text)
			}
		}
	}
}

// keepsValue reports whether the assignment stores what the field has: its
// own value, or one that a guard compares with it.
func keepsValue(r *ir.Row, a *ir.Assign) bool {
	if a.Value.Kind != ir.Read {
		return false
	}
	own := &ir.Operand{Field: a.Target}
	if sameValue(&a.Value.A, own) {
		return true
	}
	return slices.ContainsFunc(r.When, func(c *ir.Clause) bool {
		return c.Op == ir.Eq && (sameValue(&c.Left, own) && sameValue(&c.Right, &a.Value.A) ||
			sameValue(&c.Right, own) && sameValue(&c.Left, &a.Value.A))
	})
}

// bounds reports assignments to an int that may leave its bounds.
func (s *subject) bounds() {
	for _, r := range s.m.Rows {
		if r.Reject != nil || s.dead[r] || s.before(r) == nil {
			continue
		}
		for i := range r.Set {
			for _, c := range boundsOf(&r.Set[i]) {
				if provenBySum(r, c) {
					continue
				}
				f := s.breaks(r, c, absentOr)
				if f.undecided {
					s.undecided(r.Set[i].Span, "add a clause that keeps the value within the bounds",
						"it is not decided whether row %q can set %q to a value that is not %s", r.Text, r.Set[i].Target.Text, c.Text)
				}
				if f.found {
					s.report(codeOutOfBounds, r.Set[i].Span, "add a clause that keeps the value within the bounds",
						"row %q can set %q to a value that is not %s%s", r.Text, r.Set[i].Target.Text, c.Text, f.when)
				}
			}
		}
	}
}

// absentOr: a bound says nothing of an absent value.
func absentOr(c *ir.Clause, record reader) bool {
	return record(&c.Left) == nil || domain.Eval(c, record)
}

// boundsOf are the bounds of an assigned int, as clauses. What it copies from
// a field with the same bounds keeps them.
func boundsOf(a *ir.Assign) []*ir.Clause {
	f := a.Target
	if f.Type.Base != ir.Int || a.Value.Kind == ir.Null {
		return nil
	}
	bound := func(op ir.Op, limit *int64) []*ir.Clause {
		if limit == nil {
			return nil
		}
		return []*ir.Clause{{
			Left: ir.Operand{Field: f, Type: f.Type, Text: f.Text}, Op: op,
			Right: ir.Operand{Literal: *limit, IsLit: true, Type: f.Type},
			Text:  fmt.Sprintf("%s %d", op, *limit), Span: a.Span,
		}}
	}
	return append(bound(ir.Ge, f.Min), bound(ir.Le, f.Max)...)
}
