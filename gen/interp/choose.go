package interp

import (
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// invalidField returns the first field of the payload whose value is not
// one: absent where required, outside the enum, the bounds or the calendar.
func invalidField(in Input) *ir.Field {
	for i, f := range Payload(in.Event) {
		if !valid(f, in.Args[i]) {
			return f
		}
	}
	return nil
}

func valid(f *ir.Field, v ir.Value) bool {
	if v == nil {
		return f.Type.Optional
	}
	return domain.WithinBounds(f, v) && validValue(f.Type, v)
}

func validValue(t ir.Type, v ir.Value) bool {
	switch t.Base {
	case ir.EnumOf:
		return slices.ContainsFunc(t.Enum.Values, func(n ir.Name) bool { return n.Text == v })
	case ir.Time:
		at, ok := v.(time.Time)
		return ok && domain.ValidTime(at)
	case ir.ListOf:
		list, ok := v.([]any)
		return ok && !slices.ContainsFunc(list, func(e any) bool { return !validValue(*t.Elem, e) })
	case ir.String, ir.Int, ir.Bool, ir.Duration, ir.UUID, ir.JSON: // every value of the Go type
		return true
	}
	panic(ir.NoForm("interp.validValue", t.Base))
}

func rowsOf(m *ir.Machine, state *ir.State, ev *ir.Event) []*ir.Row {
	var rows []*ir.Row
	for _, row := range m.Rows {
		if row.From == state && row.Event == ev {
			rows = append(rows, row)
		}
	}
	return rows
}

// repeats reports whether the event's rows lead where the record already is.
func repeats(m *ir.Machine, rec *Record, in Input) bool {
	if !m.RepeatSucceeds || in.Event.Key != nil || rec.State == nil {
		return false
	}
	return slices.ContainsFunc(m.Rows, func(row *ir.Row) bool {
		return row.Event == in.Event && row.To == rec.State && roleMay(row, in.Actor) && isParty(rec, in.Actor)
	})
}

// roleMay reports whether the actor's role may fire the row.
func roleMay(row *ir.Row, actor Actor) bool {
	if row.By == nil {
		return true
	}
	return actor.Role != nil && slices.ContainsFunc(row.By, func(a *ir.Actor) bool {
		return a == actor.Role || (a.System && actor.Role.System)
	})
}

// isParty reports whether the actor is the one that the record names, where
// the role asks for it.
func isParty(rec *Record, actor Actor) bool {
	if actor.Role == nil || actor.Role.Is == nil {
		return true
	}
	return actor.ID != nil && domain.Equal(rec.Get(actor.Role.Is), actor.ID)
}

// choose picks the row of highest priority among those whose clauses hold;
// an otherwise row only if no other row holds. If none does it returns the
// first false clause of every row. A rival is another row of that priority that
// holds: the order of the file never decides, so generated code, in which it
// would, can't agree with this answer.
func choose(rows []*ir.Row, env *scope) (best, rival *ir.Row, failed []FailedClause) {
	var otherwise *ir.Row
	for _, row := range rows {
		switch c := firstFalse(row.When, env); {
		case row.Otherwise:
			otherwise = higher(otherwise, row)
		case c != nil && row.Reject == nil:
			failed = append(failed, failure(row, c, env))
		case c != nil: // that a refusal did not apply is no obstacle
		case best != nil && row.Priority == best.Priority:
			rival = row
		case best == nil || row.Priority > best.Priority:
			best, rival = row, nil
		}
	}
	if best == nil {
		best = otherwise
	}
	return best, rival, failed
}

func higher(a, b *ir.Row) *ir.Row {
	if a == nil || b.Priority > a.Priority {
		return b
	}
	return a
}

func firstFalse(clauses []*ir.Clause, s *scope) *ir.Clause {
	for _, c := range clauses {
		if !domain.Eval(c, s.read) {
			return c
		}
	}
	return nil
}

func failure(row *ir.Row, c *ir.Clause, s *scope) FailedClause {
	return FailedClause{Row: row, Clause: c, Left: s.read(&c.Left), Right: s.read(&c.Right)}
}

// Broken returns the first clause of the state's holds that rec does not
// satisfy when it came from the state from (nil: creation), or nil.
func Broken(rec *Record, from *ir.State) *ir.Clause {
	return firstFalse(rec.State.Holds, &scope{record: rec, state: rec.State, from: from})
}
