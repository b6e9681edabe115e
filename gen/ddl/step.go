package ddl

import (
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// A step is judged by what the rows of its edge demand of the record before and after
// it. A condition is one such demand, of a row or of several.
type condition struct {
	cond  string // never null
	says  string // for people: what the row demands or writes
	shows string // the column that a message shows; "": none
	hint  string
}

// What to do about a condition: the record was another, or the statement writes
// something else.
const (
	hintBefore = "Fire an event that the record accepts as it is."
	hintWrites = "Write what the row writes, and nothing else."
)

// stepScope reads names as the rows of a step do: guards and right sides see the old
// record overlaid by what the event writes.
func stepScope(d dialect, m *ir.Machine, r *ir.Row) scope {
	s := scope{dialect: d, machine: m, subqueries: true}
	s.reads = func(o ir.Operand) (string, bool) {
		src := r.Source(&o)
		switch src.Side {
		case ir.Constant:
			return d.literal(o.Type, src.Value), true
		case ir.Before:
			return "OLD." + ident(src.Field.Text), true
		case ir.After:
			return "NEW." + ident(src.Field.Text), true
		case ir.StepTime:
			return "NEW.updated_at", true
		case ir.Unknown:
			return "", false
		}
		panic(ir.NoForm("ddl.stepScope", src.Side))
	}
	return s
}

// rowConditions are what a step through r demands. The columns that no row of the edge
// writes are not among them.
func rowConditions(d dialect, m *ir.Machine, r *ir.Row, edge []*ir.Row) []condition {
	s := stepScope(d, m, r)
	var list []condition
	for _, c := range r.When {
		if cond, ok := s.decided(r, c); ok {
			list = append(list, condition{cond: cond, says: "demands " + c.Text, hint: hintBefore})
		}
	}
	for _, o := range r.Rivals(m.Rows) {
		if cond, ok := s.rival(r, o); ok {
			list = append(list, condition{cond: cond, says: "comes after " + o.Text, hint: hintBefore})
		}
	}
	for _, w := range r.Event.Writes {
		if !w.Optional && w.Field.Type.Optional {
			list = append(list, condition{cond: "NEW." + ident(w.Field.Text) + " IS NOT NULL", says: "writes " + w.Field.Text, hint: hintWrites})
		}
	}
	for i := range r.Set {
		if cond, ok := s.assigned(r, &r.Set[i]); ok {
			target := r.Set[i].Target.Text
			list = append(list, condition{cond: cond, says: "sets " + target + ": " + r.Set[i].Value.Text, shows: target, hint: hintWrites})
		}
	}
	for _, f := range m.Fields {
		if stored(f) && !r.Writes(f) && slices.ContainsFunc(edge, func(o *ir.Row) bool { return o.Writes(f) }) {
			list = append(list, condition{
				cond: same("NEW."+ident(f.Text), before(d, r.From, f), f.Type.Optional), says: "leaves " + f.Text, shows: f.Text, hint: hintWrites,
			})
		}
	}
	return list
}

// decided is a guard that the record decides.
func (s scope) decided(r *ir.Row, c *ir.Clause) (string, bool) {
	if !r.Decided(c) {
		return "", false
	}
	return s.clause(c)
}

// rival is the condition that o, which would win over r, does not hold. A guard of o
// that the record does not decide may be what fails, unless r has it too.
func (s scope) rival(r, o *ir.Row) (string, bool) {
	if len(r.Open(o)) > 0 {
		return "", false
	}
	var conds []string
	for _, c := range r.Closing(o) {
		cond, ok := s.clause(c)
		if !ok {
			return "", false
		}
		conds = append(conds, cond)
	}
	if len(conds) == 0 {
		return "false", true
	}
	return "NOT (" + strings.Join(conds, " AND ") + ")", true
}

// assigned is what the target of a is after the step, if the database knows it, or
// that it is there.
func (s scope) assigned(r *ir.Row, a *ir.Assign) (string, bool) {
	target := "NEW." + ident(a.Target.Text)
	if r.Determined(a) {
		value, ok := s.expression(&a.Value)
		return same(target, value, a.Target.Type.Optional || a.Value.A.Type.Optional || a.Value.B.Type.Optional), ok
	}
	present := a.Target.Type.Optional && !a.Value.A.Type.Optional && (!a.Value.Kind.Sum() || !a.Value.B.Type.Optional)
	return target + " IS NOT NULL", present
}

// expression is a right side. PostgreSQL computes sums as numeric: one that is too
// large is not equal, where the row of another edge may be meant, and no error.
func (s scope) expression(e *ir.Expr) (string, bool) {
	switch e.Kind {
	case ir.Null:
		return "NULL", true
	case ir.Read:
		return s.operand(e.A)
	case ir.Add:
		return s.sum(e, " + ")
	case ir.Sub:
		return s.sum(e, " - ")
	}
	panic(ir.NoForm("ddl.expression", e.Kind))
}

func (s scope) sum(e *ir.Expr, sign string) (string, bool) {
	a, known := s.operand(e.A)
	b, ok := s.operand(e.B)
	return "(" + a + s.dialect.traits().sumCast + sign + b + ")", known && ok
}

// same is the condition that two expressions are the same value, or both absent where
// they may be.
func same(a, b string, optional bool) string {
	switch {
	case b == "NULL":
		return a + " IS NULL"
	case optional:
		return a + " IS NOT DISTINCT FROM " + b
	}
	return a + " = " + b
}

// before is the value of f before a step from the state from; its default before a
// creation.
func before(d dialect, from *ir.State, f *ir.Field) string {
	if from == nil {
		return d.literal(f.Type, f.Default)
	}
	return "OLD." + ident(f.Text)
}

// stored reports whether f is a column that a statement can write.
func stored(f *ir.Field) bool { return f.Derive == nil }

// edge is the rows from one state by one event to another.
type edge struct {
	from, to *ir.State
	event    *ir.Event
	rows     []*ir.Row
	only     bool // the event leads nowhere else from that state
}

// edgesOf lists the edges that leave a state, nil for creation, in spec order.
func edgesOf(m *ir.Machine, from *ir.State) []edge {
	var leaving []*ir.Row
	for _, r := range m.Rows {
		if r.From == from && r.Reject == nil {
			leaving = append(leaving, r)
		}
	}
	var list []edge
	for _, p := range edgesFrom(m, from).pairs {
		for _, to := range p.to {
			e := edge{from: from, to: to, event: p.event, only: len(p.to) == 1}
			for _, r := range leaving {
				if r.Event == p.event && r.Target() == to {
					e.rows = append(e.rows, r)
				}
			}
			list = append(list, e)
		}
	}
	return list
}

// is is the condition that a step from e's state is along e.
func (e edge) is(m *ir.Machine) string {
	cond := "NEW.last_event = " + quote(e.event.Text)
	if !e.only {
		cond += " AND NEW." + stateColumn(m) + " = " + quote(e.to.Text)
	}
	return cond
}

// conditions are what all rows of e demand, and what each row demands besides. Where
// one of them demands nothing more there are no alternatives.
func (e edge) conditions(d dialect, m *ir.Machine) (all []condition, alternatives [][]condition) {
	var lists [][]condition
	for _, r := range e.rows {
		lists = append(lists, rowConditions(d, m, r, e.rows))
	}
	shared := func(c condition) bool {
		return !slices.ContainsFunc(lists, func(l []condition) bool {
			return !slices.ContainsFunc(l, func(o condition) bool { return o.cond == c.cond })
		})
	}
	for i, list := range lists {
		var own []condition
		for _, c := range list {
			switch {
			case !shared(c):
				own = append(own, c)
			case i == 0:
				all = append(all, c)
			}
		}
		alternatives = append(alternatives, own)
	}
	if slices.ContainsFunc(alternatives, func(own []condition) bool { return len(own) == 0 }) {
		alternatives = nil
	}
	return all, alternatives
}

// stepRules refuse a step that no row of its edge makes of the old record. from is
// nil for creation.
func stepRules(d dialect, m *ir.Machine, from *ir.State) []rule {
	var list []rule
	for _, e := range edgesOf(m, from) {
		all, alternatives := e.conditions(d, m)
		path := []string{e.is(m)}
		if from != nil {
			path = []string{"OLD." + stateColumn(m) + " = " + quote(from.Text), e.is(m)}
		}
		for _, c := range all {
			list = append(list, e.refusal(m, path, c))
		}
		if len(alternatives) > 0 {
			list = append(list, e.choice(m, path, alternatives))
		}
	}
	return list
}

// refusal refuses what breaks a condition of every row of e.
func (e edge) refusal(m *ir.Machine, path []string, c condition) rule {
	names := make([]string, len(e.rows))
	for i, r := range e.rows {
		names[i] = r.Text
	}
	said := []text{words(strings.Join(names, " or ") + " " + c.says)}
	if c.shows != "" {
		said = append(said, words(", and "+c.shows+" is "), value("NEW."+ident(c.shows)))
	}
	return e.rule(m, path, "NOT ("+c.cond+")", c.hint, said...)
}

// choice refuses what no row of e alone makes.
func (e edge) choice(m *ir.Machine, path []string, alternatives [][]condition) rule {
	lines, hints := make([]string, len(alternatives)), make([]string, len(alternatives))
	for i, own := range alternatives {
		conds, says := make([]string, len(own)), make([]string, len(own))
		for j, c := range own {
			conds[j], says[j] = c.cond, c.says
		}
		lines[i], hints[i] = strings.Join(conds, " AND "), e.rows[i].Text+" "+strings.Join(says, ", ")
	}
	return e.rule(m, path, "NOT (\n                    "+strings.Join(lines, "\n                    OR ")+")",
		"Of the rows "+strings.Join(hints, "; ")+".", words("no row makes this of the record"))
}

func (e edge) rule(m *ir.Machine, path []string, cond, hint string, said ...text) rule {
	where := " to " + e.to.Text
	if e.from != nil {
		where = " from " + e.from.Text + where
	}
	return rule{
		path: path, kind: kindStep, name: ruleName(m.Text, "step"), cond: cond,
		message: about(m.Text, "NEW."+ident(m.ID.Text), kindStep, e.event.Text+where+": ", said...), hint: hint,
	}
}
