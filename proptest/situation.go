package proptest

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// situation is one state and one event: the unit of exhaustiveness.
type situation struct {
	machine *ir.Machine
	now     time.Time
	state   *ir.State // nil: creation
	event   *ir.Event
	rows    []*ir.Row
	space   *domain.Space
	// fill has values for the variables that decide nothing.
	fill *domain.Space
}

// situations lists every (state, event) of the machine, creation first.
func situations(m *ir.Machine, now time.Time) []*situation {
	var out []*situation
	for _, state := range append([]*ir.State{nil}, m.States...) {
		for _, ev := range m.Events {
			out = append(out, newSituation(m, state, ev, now))
		}
	}
	return out
}

func newSituation(m *ir.Machine, state *ir.State, ev *ir.Event, now time.Time) *situation {
	s := &situation{machine: m, now: now, state: state, event: ev, rows: rowsOf(m, state, ev)}
	views := []domain.View{}
	if state != nil {
		views = append(views, domain.View{Clauses: state.Holds})
	}
	for _, row := range s.rows {
		views = append(views, rowViews(m, row, ev, 0)...)
	}
	s.space = domain.Join(m, now, views...)
	for _, v := range slices.Clone(s.space.Vars) {
		s.settle(v)
	}
	s.nearMisses(views)
	s.fill = domain.Join(m, now, domain.View{Clauses: reads(m.Fields)}, domain.View{Event: ev, Clauses: reads(payloadFields(ev))})
	for _, v := range s.fill.Vars {
		s.fill.Extend(v, awkward(v.Field.Type)...)
	}
	return s
}

func rowsOf(m *ir.Machine, state *ir.State, ev *ir.Event) []*ir.Row {
	return slices.DeleteFunc(slices.Clone(m.Rows), func(r *ir.Row) bool { return r.From != state || r.Event != ev })
}

// maxChain bounds the views of a chain of raised events; the checker refuses
// cycles.
const maxChain = 8

// rowViews are the clauses and assignments that decide what becomes of a
// row: its guard, what it stores, the holds of its target, and the same for
// the events that it raises.
func rowViews(m *ir.Machine, row *ir.Row, ev *ir.Event, depth int) []domain.View {
	views := []domain.View{{Event: ev, Clauses: own(row.When, ev), Assigns: assigns(row, ev)}}
	if row.Reject != nil {
		return views
	}
	views = append(views, domain.View{Event: ev, Clauses: row.Target().Holds})
	for _, a := range row.Actions {
		if a.Metric != nil {
			views = append(views, domain.View{Event: ev, Clauses: own(a.Metric.When, ev)})
		}
	}
	if row.Raise != nil && depth < maxChain {
		for _, next := range rowsOf(m, row.Target(), row.Raise.Event) {
			views = append(views, rowViews(m, next, ev, depth+1)...)
		}
	}
	return views
}

// own drops clauses about the payload of another event, which a raise binds.
func own(clauses []*ir.Clause, ev *ir.Event) []*ir.Clause {
	return slices.DeleteFunc(slices.Clone(clauses), func(c *ir.Clause) bool { return foreign(&c.Left, ev) || foreign(&c.Right, ev) })
}

func foreign(o *ir.Operand, ev *ir.Event) bool { return o.Event != nil && o.Event != ev }

// assigns is what a row stores: its own assignments, and the event's writes
// where the old value matters. The bounds of writes are the payload's.
func assigns(row *ir.Row, ev *ir.Event) []ir.Assign {
	var out []ir.Assign
	for _, a := range row.Set {
		if !foreign(&a.Value.A, ev) && !foreign(&a.Value.B, ev) {
			out = append(out, a)
		}
	}
	if row.Event == ev {
		for _, w := range ev.Writes {
			if !w.Field.Immutable {
				continue
			}
			out = append(out, ir.Assign{Target: w.Field, Value: ir.Expr{Kind: ir.Read, A: ir.Operand{Field: w.Field, Type: w.Field.Type}}})
		}
	}
	return out
}

// settle fixes what a case does not choose and widens what it must meet.
func (s *situation) settle(v domain.Var) {
	switch {
	case v.Param != nil:
		s.space.Fix(v, v.Param.Default)
	case v.Special != "":
		s.space.Fix(v, nil)
	case v.Field.Derive != nil:
		s.space.Fix(v, nil)
		for _, p := range v.Field.Derive.Parts {
			if p.Field != nil && p.Field.Index >= 0 {
				s.space.Extend(domain.Var{Field: p.Field}, derivedParts(p.Field)...)
			}
		}
	case v.Field.Index < 0 && v.Event == nil: // the record's id
		s.space.Fix(v, idOf(s.machine, 0))
	case s.summed(v):
		s.space.Extend(v, within(v.Field, extremes(v.Field.Type))...)
	}
}

// nearMisses gives each text that a clause looks into values that have the text of the
// clause elsewhere, or written otherwise. Operators that differ tell them apart.
func (s *situation) nearMisses(views []domain.View) {
	for _, view := range views {
		for _, c := range view.Clauses {
			text, isText := c.Right.Literal.(string)
			if v := domain.VarOf(&c.Left, view.Event); isText && c.Op.LooksInside() && v.Field != nil && v.Field.Type.Base == ir.String && v.Field.Derive == nil {
				s.space.Extend(v, within(v.Field, []ir.Value{"z" + text, text + "z", strings.ToUpper(text)})...)
			}
		}
	}
}

func derivedParts(f *ir.Field) []ir.Value {
	var part []ir.Value
	switch f.Type.Base {
	case ir.Int:
		part = []ir.Value{int64(1)}
	case ir.UUID:
		part = []ir.Value{domain.UUID(0)}
	case ir.EnumOf:
		part = []ir.Value{f.Type.Enum.Values[0].Text}
	case ir.String:
		part = []ir.Value{"part"}
	case ir.Bool, ir.Time, ir.Duration, ir.JSON, ir.ListOf: // are no parts of a text
	default:
		panic(ir.NoForm("proptest.derivedParts", f.Type.Base))
	}
	if f.Type.Optional {
		part = append(part, nil)
	}
	return part
}

// summed reports whether a row adds to or subtracts from v, so that it can
// overflow.
func (s *situation) summed(v domain.Var) bool {
	return slices.ContainsFunc(s.rows, func(row *ir.Row) bool {
		return slices.ContainsFunc(row.Set, func(a ir.Assign) bool {
			return a.Value.Kind.Sum() && (domain.VarOf(&a.Value.A, s.event) == v || domain.VarOf(&a.Value.B, s.event) == v)
		})
	})
}

func extremes(t ir.Type) []ir.Value {
	switch t.Base {
	case ir.Int:
		return []ir.Value{int64(math.MinInt64), int64(math.MaxInt64)}
	case ir.Duration:
		return []ir.Value{time.Duration(math.MinInt64), time.Duration(math.MaxInt64)}
	case ir.Time:
		return []ir.Value{time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)}
	case ir.String, ir.Bool, ir.UUID, ir.JSON, ir.ListOf, ir.EnumOf: // are in no sum
		return nil
	}
	panic(ir.NoForm("proptest.extremes", t.Base))
}

func within(f *ir.Field, values []ir.Value) []ir.Value {
	return slices.DeleteFunc(values, func(v ir.Value) bool { return !domain.WithinBounds(f, v) })
}

// awkward values decide nothing but are easily damaged on their way.
func awkward(t ir.Type) []ir.Value {
	switch {
	case t.Base == ir.JSON:
		return []ir.Value{`{"k":[1,"<ä>"]}`}
	case t.Base == ir.ListOf && t.Elem.Base == ir.String:
		return []ir.Value{[]any{"a b", `"{,}\"`, ""}}
	}
	return nil
}

func payloadFields(ev *ir.Event) []*ir.Field {
	fields := slices.Clone(ev.Fields)
	for _, w := range ev.Writes {
		fields = append(fields, w.Field)
	}
	return fields
}

// reads makes every field a variable of a space, with a few values each.
func reads(fields []*ir.Field) []*ir.Clause {
	var out []*ir.Clause
	for _, f := range fields {
		c := &ir.Clause{Left: ir.Operand{Field: f, Type: f.Type}, Op: ir.Eq, Right: ir.Operand{IsLit: true}}
		switch f.Type.Base {
		case ir.String:
			c.Right.Literal = "<Zoë's> \"text\" \\ & more\n"
		case ir.Int:
			c.Right.Literal = int64(7)
		case ir.Time:
			c.Right.Literal = now.Add(123456 * time.Microsecond)
		case ir.Duration:
			c.Right.Literal = 90 * time.Minute
		case ir.UUID:
			c.Right.Literal = domain.UUID(4)
		case ir.Bool, ir.JSON, ir.ListOf, ir.EnumOf:
			c.Op, c.Right.Literal = ir.Exists, true
		default:
			panic(ir.NoForm("proptest.reads", f.Type.Base))
		}
		out = append(out, c)
	}
	return out
}

// on is the space of the payload on one stored record, whose values are among
// those of the payload.
func (s *situation) on(rec *interp.Record) *domain.Space {
	space := s.space.Clone()
	if rec == nil {
		return space
	}
	for _, v := range s.space.Vars {
		switch {
		case v.Field == nil:
		case v.Event != nil:
			space.Extend(v, within(v.Field, storedLike(s.machine, rec, v.Field))...)
		case v.Field.Derive == nil:
			space.Fix(v, rec.Get(v.Field))
		}
	}
	return space
}

// storedLike lists the values in rec of f's type.
func storedLike(m *ir.Machine, rec *interp.Record, f *ir.Field) []ir.Value {
	var out []ir.Value
	for _, other := range m.Fields {
		same := other.Type.Base == f.Type.Base && other.Type.Enum == f.Type.Enum && f.Type.Base != ir.ListOf
		if v := rec.Get(other); same && v != nil {
			out = append(out, v)
		}
	}
	return out
}

// choose takes the value of v from the assignment, or any that is one.
func (s *situation) choose(a domain.Assignment, v domain.Var, rng *rand.Rand) ir.Value {
	if value, ok := a.Lookup(v); ok {
		return value
	}
	i := slices.Index(s.fill.Vars, v)
	if i < 0 {
		return nil
	}
	class := s.fill.Classes[i]
	return class[rng.IntN(len(class))]
}

// record builds the stored record of an assignment, nil before creation.
func (s *situation) record(a domain.Assignment, id ir.Value, rng *rand.Rand) *interp.Record {
	if s.state == nil {
		return nil
	}
	r := interp.Blank(s.machine, id)
	r.State, r.Version = s.state, 1
	for _, f := range s.machine.Fields {
		if f.Derive == nil {
			r.Values[f.Index] = s.choose(a, domain.Var{Field: f}, rng)
		}
	}
	r.Derive(s.machine)
	return r
}

func (s *situation) args(a domain.Assignment, rng *rand.Rand) []ir.Value {
	var out []ir.Value
	for _, f := range payloadFields(s.event) {
		out = append(out, s.choose(a, domain.Var{Field: f, Event: s.event}, rng))
	}
	return out
}

// idOf is the n-th record id of a test.
func idOf(m *ir.Machine, n int) ir.Value { return nthValue(m.ID.Type, n) }

func nthValue(t ir.Type, n int) ir.Value {
	switch t.Base {
	case ir.UUID:
		return domain.UUID(n)
	case ir.Int:
		return int64(n + 1)
	case ir.String:
		return "id-" + string(rune('a'+n%26)) + string(rune('a'+n/26%26))
	case ir.Bool, ir.Time, ir.Duration, ir.JSON, ir.ListOf, ir.EnumOf: // identify nothing
	}
	panic(ir.NoForm("proptest.nthValue", t.Base))
}
