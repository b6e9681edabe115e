package check

import (
	"slices"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// facts say, for every state and record field, which values records there can
// have. They are the least solution of what the rows store and what guards
// and holds demand, so they cover every record that steps alone can make, and
// more: each field is looked at by itself. A state that no row reaches has
// none.
type facts map[*ir.State][]mark

// in is the mark of f in state; anything where nothing is known.
func (p facts) in(state *ir.State, f *ir.Field) mark {
	marks := p[state]
	if marks == nil {
		return anything
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

func factsOf(s *subject) facts {
	p := facts{}
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
			if out != nil && p.join(r.Target(), out) && !waiting[r.Target()] {
				waiting[r.Target()] = true
				work = append(work, r.Target())
			}
		}
	}
	return p
}

// join adds marks to a state and reports whether that changed anything.
func (p facts) join(state *ir.State, marks []mark) bool {
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
			marks[i] = valueMark(f, f.Default)
		}
	}
	return marks
}

// before is what is known of the old record at r, nil where no record gets
// to r.
func (s *subject) before(r *ir.Row) []mark {
	if r.From == nil {
		return s.blank()
	}
	return s.facts[r.From]
}

// transfer is what a step through r makes of marks; nil where r cannot be
// taken or stores nothing.
func (s *subject) transfer(r *ir.Row, marks []mark) []mark {
	out := s.store(r, marks)
	if out == nil || !(knowledge{stored: out}).refine(r.Target().Holds) {
		return nil
	}
	return out
}

// store is the record after r, before the holds of its target are asked.
func (s *subject) store(r *ir.Row, marks []mark) []mark {
	if marks == nil || r.Target() == nil || r.Reject != nil {
		return nil
	}
	k := arrival(r, marks)
	if !k.refine(r.When) {
		return nil
	}
	out := slices.Clone(k.stored)
	for _, w := range r.Event.Writes {
		out[w.Field.Index] = k.incoming[w.Field]
	}
	for i := range r.Set {
		out[r.Set[i].Target.Index] = k.expr(r.Set[i].Target, &r.Set[i].Value)
	}
	for i, f := range s.m.Fields {
		if out[i] == maybeAbsent && !f.Type.Optional {
			out[i] = maybePresent // the creation row is reported
		}
	}
	return out
}

// guarded is what r knows once its guards hold, and whether they can.
func (s *subject) guarded(r *ir.Row) (knowledge, bool) {
	marks := s.before(r)
	if marks == nil {
		return knowledge{}, false
	}
	k := arrival(r, marks)
	return k, k.refine(r.When)
}
