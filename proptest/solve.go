package proptest

import (
	"iter"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// maxTries bounds the values that are tried for the guard of one row.
const maxTries = 20_000

// demand is a clause that an assignment has to satisfy, read in the context of
// an event; nil: of the stored record.
type demand struct {
	clause *ir.Clause
	event  *ir.Event
}

// assignments are the solutions, and then those of the space, or a sample if there
// are more than limit.
func (s *situation) assignments(space *domain.Space, limit int) iter.Seq[domain.Assignment] {
	return concat(s.solutions(space), space.All(limit, 1))
}

// solutions yields, for each row of the situation, an assignment of the space
// under which its clauses and the holds of the state hold, if there is one. A
// sample seldom has it where several values must be equal.
func (s *situation) solutions(space *domain.Space) iter.Seq[domain.Assignment] {
	return func(yield func(domain.Assignment) bool) {
		for _, row := range s.rows {
			if row.Otherwise {
				continue // whatever no other row takes: samples have it
			}
			var demands []demand
			for _, c := range own(row.When, s.event) {
				demands = append(demands, demand{c, s.event})
			}
			if s.state != nil {
				for _, c := range s.state.Holds {
					demands = append(demands, demand{c, nil})
				}
			}
			if a, ok := solve(space, demands); ok && !yield(a) {
				return
			}
		}
	}
}

// solve looks for an assignment under which all demands hold, variable by
// variable.
func solve(space *domain.Space, demands []demand) (domain.Assignment, bool) {
	p := &puzzle{space: space, values: map[domain.Var]ir.Value{}, tries: maxTries}
	for _, d := range demands {
		for _, o := range []*ir.Operand{&d.clause.Left, &d.clause.Right} {
			p.variable(domain.VarOf(o, d.event))
		}
		p.ready = append(p.ready, len(p.vars))
	}
	p.demands = demands
	if !p.from(0) {
		return domain.Assignment{}, false
	}
	fixed := space.Clone()
	for v, value := range p.values {
		fixed.Fix(v, value)
	}
	return fixed.First(), true
}

// puzzle is a search for values of the variables that demands read.
type puzzle struct {
	space   *domain.Space
	vars    []domain.Var // in the order in which the demands name them
	classes [][]ir.Value
	demands []demand
	ready   []int // how many variables a demand waits for
	values  map[domain.Var]ir.Value
	tries   int
}

func (p *puzzle) variable(v domain.Var) {
	for _, known := range p.vars {
		if known == v {
			return
		}
	}
	for i, known := range p.space.Vars {
		if known == v {
			p.vars, p.classes = append(p.vars, v), append(p.classes, p.space.Classes[i])
		}
	}
}

// from chooses the values of the variables from number i on.
func (p *puzzle) from(i int) bool {
	for n, d := range p.demands {
		if p.ready[n] == i && !domain.Eval(d.clause, p.reader(d.event)) {
			return false
		}
	}
	if i == len(p.vars) {
		return true
	}
	for _, value := range p.classes[i] {
		if p.tries--; p.tries < 0 {
			return false
		}
		p.values[p.vars[i]] = value
		if p.from(i + 1) {
			return true
		}
	}
	delete(p.values, p.vars[i])
	return false
}

func (p *puzzle) reader(ev *ir.Event) func(*ir.Operand) ir.Value {
	return func(o *ir.Operand) ir.Value {
		if o.Special == ir.Now {
			return p.space.Now
		}
		v := domain.VarOf(o, ev)
		value, ok := p.values[v]
		if !ok && v.Param != nil {
			return v.Param.Default
		}
		return value
	}
}
