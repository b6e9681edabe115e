package check

import "github.com/fsmgen/fsmgen/gen/ir"

// mark says whether a field can be present, absent or both.
type mark uint8

const (
	maybePresent mark = 1 << iota
	maybeAbsent
	either = maybePresent | maybeAbsent
)

// presence says, for every state and record field, whether records there can
// have the field and whether they can lack it. It is the least solution of
// what the rows store and what guards and holds demand, so it covers every
// record that steps alone can make. It is empty for a state that no row
// reaches.
type presence map[*ir.State][]mark

// in is the mark of f in state; either where nothing is known.
func (p presence) in(state *ir.State, f *ir.Field) mark {
	marks := p[state]
	if marks == nil {
		return either
	}
	return fieldMark(marks, f)
}

func fieldMark(marks []mark, f *ir.Field) mark {
	if f.Derive != nil {
		return derivedMark(marks, f)
	}
	if f.Index < 0 {
		return maybePresent // the id
	}
	return marks[f.Index]
}

// derivedMark: present while every part is, absent while one is.
func derivedMark(marks []mark, f *ir.Field) mark {
	out := maybePresent
	for _, part := range f.Derive.Parts {
		if part.Field == nil {
			continue
		}
		m := fieldMark(marks, part.Field)
		if m&maybePresent == 0 {
			return maybeAbsent
		}
		out |= m & maybeAbsent
	}
	return out
}

func presenceOf(s *subject) presence {
	p := presence{}
	work := []*ir.State{nil}
	waiting := map[*ir.State]bool{}
	for len(work) > 0 {
		state := work[0]
		work = work[1:]
		waiting[state] = false
		in := p[state]
		if state == nil {
			in = s.blank()
		}
		for _, r := range s.leaving[state] {
			out := s.transfer(r, in)
			if out == nil {
				continue
			}
			if p.join(r.Target(), out) && !waiting[r.Target()] {
				waiting[r.Target()] = true
				work = append(work, r.Target())
			}
		}
	}
	return p
}

// join adds marks to a state and reports whether that changed anything.
func (p presence) join(state *ir.State, marks []mark) bool {
	old, known := p[state]
	if !known {
		p[state] = marks
		return true
	}
	changed := false
	for i := range old {
		if old[i]|marks[i] != old[i] {
			old[i] |= marks[i]
			changed = true
		}
	}
	return changed
}

// blank is the record before its creation step: defaults, nothing else.
func (s *subject) blank() []mark {
	marks := make([]mark, len(s.m.Fields))
	for i, f := range s.m.Fields {
		marks[i] = maybeAbsent
		if f.HasDefault && f.Default != nil {
			marks[i] = maybePresent
		}
	}
	return marks
}

// transfer is what a step through r makes of marks; nil where r cannot be
// taken or stores nothing.
func (s *subject) transfer(r *ir.Row, marks []mark) []mark {
	if r.Target() == nil || r.Reject != nil {
		return nil
	}
	env := append([]mark(nil), marks...)
	if !refine(env, r.When, r.Event) {
		return nil
	}
	out := append([]mark(nil), env...)
	for _, w := range r.Event.Writes {
		out[w.Field.Index] = incomingMark(r, w.Field)
	}
	for i := range r.Set {
		out[r.Set[i].Target.Index] = exprMark(r, &r.Set[i].Value, env)
	}
	if !refine(out, r.Target().Holds, nil) {
		return nil
	}
	return out
}

// refine narrows marks by clauses that hold and reports whether they can.
// Fields that ev writes are read as incoming and so say nothing of the
// stored record.
func refine(marks []mark, clauses []*ir.Clause, ev *ir.Event) bool {
	for _, c := range clauses {
		want := maybePresent
		if c.Op == ir.Exists && c.Right.Literal == false || c.Op == ir.NotExists && c.Right.Literal == true {
			want = maybeAbsent
		}
		for _, o := range []*ir.Operand{&c.Left, &c.Right} {
			f := o.Field
			if f == nil || o.Event != nil || f.Index < 0 || f.Derive != nil || writeOf(ev, f) != nil {
				continue
			}
			marks[f.Index] &= want
			if marks[f.Index] == 0 {
				return false
			}
		}
	}
	return true
}

// exprMark is the presence of a right side of r; env marks the old record.
func exprMark(r *ir.Row, e *ir.Expr, env []mark) mark {
	switch e.Kind {
	case ir.Null:
		return maybeAbsent
	case ir.Read:
		return operandMark(r, &e.A, env)
	}
	a, b := operandMark(r, &e.A, env), operandMark(r, &e.B, env)
	return a&b&maybePresent | (a|b)&maybeAbsent
}

func operandMark(r *ir.Row, o *ir.Operand, env []mark) mark {
	switch {
	case o.IsLit || o.Param != nil:
		return maybePresent
	case o.Special == ir.ActorID:
		return actorMark(r)
	case o.Special == ir.FromName && r.From == nil:
		return maybeAbsent
	case o.Special != "":
		return maybePresent
	case o.Event != nil || carried(r.Event, o.Field):
		return incomingMark(r, o.Field)
	}
	return fieldMark(env, o.Field)
}

// actorMark: `system` has no id, and neither has the caller of a machine
// without actors.
func actorMark(r *ir.Row) mark {
	if r.By == nil {
		return either
	}
	out := mark(0)
	for _, a := range r.By {
		if a.System {
			out |= maybeAbsent
		} else {
			out |= maybePresent
		}
	}
	return out
}

// incomingMark is the presence of a value that the event of r carries, given
// the guards of r.
func incomingMark(r *ir.Row, f *ir.Field) mark {
	out := maybePresent
	if w := writeOf(r.Event, f); w != nil && w.Optional || w == nil && f.Type.Optional {
		out = either
	}
	for _, c := range r.When {
		if c.Left.Field != f && c.Right.Field != f {
			continue
		}
		if c.Op == ir.Exists && c.Right.Literal == false || c.Op == ir.NotExists && c.Right.Literal == true {
			return maybeAbsent
		}
		return maybePresent
	}
	return out
}
