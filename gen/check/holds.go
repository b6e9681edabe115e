package check

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

const codeHolds = "FSM062"

// holds reports rows whose new record can break a promise of the state that
// they end in. The step would be refused at run time; a table should say so
// with a guard.
func (s *subject) holds() {
	for _, r := range s.m.Rows {
		target := r.Target()
		if target == nil || r.Reject != nil || s.dead[r] {
			continue
		}
		out := s.store(r, s.before(r))
		if out == nil {
			continue // no record gets here
		}
		for _, c := range target.Holds {
			if !s.keeps(r, c, out) {
				s.mayBreak(r, c)
			}
		}
	}
}

func (s *subject) mayBreak(r *ir.Row, c *ir.Clause) {
	f := s.breaks(r, c, domain.Eval)
	if f.found && s.unseen[r] { // it can if r is chosen at all
		f = finding{undecided: true}
	}
	if f.undecided {
		s.undecided(r.Span, "add the clause to the row's `when`", "it is not decided whether row %q on %s keeps %q, which state %q holds", r.Text, r.Event.Text, c.Text, r.Target().Text)
	}
	if f.found {
		s.report(codeHolds, r.Span, fmt.Sprintf("add the clause to the row's `when`, `set` what it asks for, or let an earlier state hold it; it stands at %d:%d", c.Span.Start.Line, c.Span.Start.Col),
			"row %q on %s can break %q, which state %q holds%s", r.Text, r.Event.Text, c.Text, r.Target().Text, f.when)
	}
}

// keeps is the cheap proof that c holds after r: the guard says so, the old
// state says so and the row changes nothing of it, or the field's presence
// is all that it asks. False proves nothing.
func (s *subject) keeps(r *ir.Row, c *ir.Clause, out []mark) bool {
	if f := c.Left.Field; f != nil && fieldMark(out, f)&maybeAbsent == 0 && (c.AssertsPresence() || provenBySum(r, c)) {
		return true
	}
	if readsSpecial(c, ir.StateName) || readsSpecial(c, ir.FromName) || s.assigns(r, c) {
		return false
	}
	same := func(x *ir.Clause) bool {
		return x == c || x.Op == c.Op && sameValue(&x.Left, &c.Left) && sameValue(&x.Right, &c.Right)
	}
	if slices.ContainsFunc(r.When, same) {
		return true
	}
	return r.From != nil && !s.overlays(r, c) && slices.ContainsFunc(r.From.Holds, same)
}

func sameValue(a, b *ir.Operand) bool {
	if a.IsLit || b.IsLit {
		return a.IsLit && b.IsLit && domain.Equal(a.Literal, b.Literal)
	}
	return sameOperand(a, b)
}

// assigns reports whether r sets what c reads.
func (s *subject) assigns(r *ir.Row, c *ir.Clause) bool {
	return len(assignsOf(r, c)) > 0
}

// overlays reports whether the event of r writes what c reads.
func (s *subject) overlays(r *ir.Row, c *ir.Clause) bool {
	return slices.ContainsFunc(fieldsOf(c), func(f *ir.Field) bool { return writeOf(r.Event, f) != nil })
}

// fieldsOf lists the stored fields that c reads, derived ones by their parts.
func fieldsOf(c *ir.Clause) []*ir.Field {
	var out []*ir.Field
	for _, o := range []*ir.Operand{&c.Left, &c.Right} {
		switch {
		case o.Field == nil:
		case o.Field.Derive != nil:
			for _, p := range o.Field.Derive.Parts {
				if p.Field != nil {
					out = append(out, p.Field)
				}
			}
		default:
			out = append(out, o.Field)
		}
	}
	return out
}

// assignsOf keeps the assignments of r to what c reads.
func assignsOf(r *ir.Row, c *ir.Clause) []ir.Assign {
	var out []ir.Assign
	fields := fieldsOf(c)
	for _, a := range r.Set {
		if slices.Contains(fields, a.Target) {
			out = append(out, a)
		}
	}
	return out
}

// breaks looks for a case in which r is chosen and c is not satisfied by the
// new record.
func (s *subject) breaks(r *ir.Row, c *ir.Clause, satisfied func(c *ir.Clause, record reader) bool) finding {
	var out finding
	for _, rivals := range s.rivals(r) {
		if out = s.breaksAmong(rivals, r, c, satisfied); out.found || out.undecided {
			break
		}
	}
	return out
}

func (s *subject) breaksAmong(rivals []*ir.Row, r *ir.Row, c *ir.Clause, satisfied func(c *ir.Clause, record reader) bool) finding {
	sets := assignsOf(r, c)
	guards := clausesOf(rivals)
	taken := func(env reader) bool { return choose(rivals, env) == r }
	if len(rivals) == 1 {
		guards = bearing(r, c, sets)
		taken = func(env reader) bool { return allHold(guards, env) }
	}
	sp := s.space(scene{from: r.From, event: r.Event, views: []domain.View{
		{Event: r.Event, Clauses: append(parts(c), guards...), Assigns: sets},
	}})
	return sp.find(func(env reader) bool { return taken(env) && !satisfied(c, after(r, env)) })
}

// bearing keeps the guards of r that bear on c, directly, through an
// assignment, or through the holds of the source state.
func bearing(r *ir.Row, c *ir.Clause, sets []ir.Assign) []*ir.Clause {
	if r.Otherwise {
		return nil
	}
	vars := map[domain.Var]bool{}
	addVars(vars, domain.View{Event: r.Event, Clauses: parts(c), Assigns: sets})
	all := locate(r.When, r.Event)
	if r.From != nil {
		all = append(all, locate(r.From.Holds, nil)...)
	}
	var out []*ir.Clause
	for _, l := range cone(vars, all) {
		if slices.Contains(r.When, l.clause) {
			out = append(out, l.clause)
		}
	}
	return out
}

// parts is c and, where c reads a derived field, what makes the parts of that
// field variables too.
func parts(c *ir.Clause) []*ir.Clause {
	out := []*ir.Clause{c}
	for _, f := range fieldsOf(c) {
		if f != c.Left.Field && f != c.Right.Field {
			out = append(out, exists(ir.Operand{Field: f, Type: f.Type}))
		}
	}
	return out
}
