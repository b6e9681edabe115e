package check

import (
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// maxCases bounds one enumeration, and maxSteps its work where a case means
// many clauses. Beyond that cases are drawn, with a fixed seed: a witness that
// is found stays true, but nothing is proven impossible.
const (
	maxCases = 1 << 15
	minCases = 256
	maxSteps = 2_000_000
)

const seed = 1

// now is the moment at which clauses are judged; any other would do.
func now() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) }

// reader gives the value of an operand that is not a literal.
type reader = func(*ir.Operand) ir.Value

// scene is a record in a state and an event that reaches it: what is to be
// enumerated.
type scene struct {
	from  *ir.State // nil: creation
	event *ir.Event // nil: none, the record alone
	// views name further clauses and assignments that will be evaluated.
	views []domain.View
	// assume are clauses on the stored record known to hold besides the
	// holds of from.
	assume []*ir.Clause
	// system: the actor has no id.
	system bool
}

// space is the enumeration of a scene. Exhaustive: what no case shows cannot
// be.
type space struct {
	*domain.Space
	facts      []*ir.Clause // true of every stored record of the scene
	event      *ir.Event
	limit      int
	exhaustive bool
}

// space builds the enumeration of sc. Of the holds of its state only those
// that bear on the views take part.
func (s *subject) space(sc scene) space {
	if s.budget.spent() {
		return space{Space: domain.Join(s.m, now())}
	}
	vars, work := map[domain.Var]bool{}, 0
	for _, v := range sc.views {
		addVars(vars, v)
		work += len(v.Clauses)
	}
	var known []located
	if sc.from != nil {
		known = locate(sc.from.Holds, nil)
	}
	facts := clauses(cone(vars, append(known, locate(sc.assume, nil)...)))
	values, exact := s.storedValues(sc, vars)
	d := domain.Join(s.m, now(), append(slices.Clone(sc.views), domain.View{Clauses: facts}, domain.View{Clauses: values})...)
	d.Sampled = d.Sampled || !exact
	s.restrict(d, sc)
	limit := s.afford(d, sc, max(minCases, min(maxCases, maxSteps/(1+work))), work+len(facts))
	return space{Space: d, facts: facts, event: sc.event, limit: limit, exhaustive: d.Exhaustive(limit)}
}

// maxListed bounds the values of a field that become constants of a space.
const maxListed = 16

// storedValues are clauses that name the values which the fields among vars
// can have, where these are few, so that they are met and compared with
// others. The clauses need not hold. It is not exact where they are too many
// to be named and too few to be all.
func (s *subject) storedValues(sc scene, vars map[domain.Var]bool) (out []*ir.Clause, exact bool) {
	exact = true
	for _, f := range s.m.Fields {
		if !vars[domain.Var{Field: f}] {
			continue
		}
		if sc.from == nil {
			if v := defaultOf(f); v != nil {
				out = append(out, oneOf(f, []ir.Value{v}))
			}
			continue
		}
		few, possible := fewValues(f), listed(f, s.facts.in(sc.from, f))
		switch {
		case f.Type.Base != ir.Int || len(possible) == len(few):
		case len(possible) > maxListed:
			exact = false
		default:
			out = append(out, oneOf(f, possible))
		}
	}
	return out, exact
}

func oneOf(f *ir.Field, values []ir.Value) *ir.Clause {
	return &ir.Clause{
		Left: ir.Operand{Field: f, Type: f.Type}, Op: ir.In,
		Right: ir.Operand{IsLit: true, Literal: values, Type: ir.Type{Base: ir.ListOf, Elem: &f.Type}},
	}
}

// located is a clause and the context in which it is read: nil is the stored
// record, else the record overlaid by the event.
type located struct {
	clause *ir.Clause
	event  *ir.Event
}

func locate(clauses []*ir.Clause, ev *ir.Event) []located {
	out := make([]located, len(clauses))
	for i, c := range clauses {
		out[i] = located{c, ev}
	}
	return out
}

func clauses(from []located) []*ir.Clause {
	var out []*ir.Clause
	for _, l := range from {
		out = append(out, l.clause)
	}
	return out
}

// cone keeps the clauses that share a variable with vars, directly or
// through each other. What an earlier step left in $from is not known.
func cone(vars map[domain.Var]bool, all []located) []located {
	var in []located
	taken := make([]bool, len(all))
	for grown := true; grown; {
		grown = false
		for i, l := range all {
			if taken[i] || l.event == nil && readsSpecial(l.clause, ir.FromName) {
				continue
			}
			left, right := domain.VarOf(&l.clause.Left, l.event), domain.VarOf(&l.clause.Right, l.event)
			if vars[left] && left != (domain.Var{}) || vars[right] && right != (domain.Var{}) {
				vars[left], vars[right] = true, true
				in, taken[i], grown = append(in, l), true, true
			}
		}
	}
	return in
}

func addVars(vars map[domain.Var]bool, v domain.View) {
	add := func(o *ir.Operand) { vars[domain.VarOf(o, v.Event)] = true }
	for _, c := range v.Clauses {
		add(&c.Left)
		add(&c.Right)
	}
	for i := range v.Assigns {
		add(&v.Assigns[i].Value.A)
		add(&v.Assigns[i].Value.B)
	}
}

func readsSpecial(c *ir.Clause, name ir.Special) bool {
	return c.Left.Special == name || c.Right.Special == name
}

// restrict removes what cannot be: values that no record of the state has,
// other names of the state, an id of `system`.
func (s *subject) restrict(d *domain.Space, sc scene) {
	if sc.from != nil {
		d.Fix(domain.Var{Special: ir.StateName}, sc.from.Text)
		d.Fix(domain.Var{Special: ir.FromName}, sc.from.Text)
	} else {
		d.Fix(domain.Var{Special: ir.StateName}, ir.Value(nil))
		d.Fix(domain.Var{Special: ir.FromName}, ir.Value(nil))
	}
	if sc.system {
		d.Fix(domain.Var{Special: ir.ActorID}, ir.Value(nil))
	}
	for i, v := range d.Vars {
		if v.Field == nil || v.Event != nil || v.Field.Index < 0 {
			continue
		}
		if sc.from == nil {
			d.Classes[i] = []ir.Value{defaultOf(v.Field)}
			continue
		}
		mark := s.facts.in(sc.from, v.Field)
		kept := slices.DeleteFunc(slices.Clone(d.Classes[i]), func(x ir.Value) bool {
			return mark&valueMark(v.Field, x) == 0
		})
		if len(kept) > 0 {
			d.Classes[i] = kept
		}
	}
}

func defaultOf(f *ir.Field) ir.Value {
	if f.HasDefault {
		return f.Default
	}
	return nil
}

// each calls f for every case of the space that its facts allow, until f
// returns false. read reads the record overlaid by the event.
func (sp space) each(f func(a domain.Assignment, read reader) bool) {
	if sp.limit == 0 {
		return
	}
	for a := range sp.All(sp.limit, seed) {
		if !allHold(sp.facts, a.Reader(nil)) {
			continue
		}
		if !f(a, a.Reader(sp.event)) {
			return
		}
	}
}
