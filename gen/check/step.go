package check

import (
	"slices"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// after reads the new record of a step through row; env reads the old one
// overlaid by the event. A sum that overflows reads as absent: such a step is
// rejected before anything could look at it.
func after(row *ir.Row, env reader) reader {
	var read reader
	read = func(o *ir.Operand) ir.Value {
		switch {
		case o.Special == ir.StateName:
			return row.Target().Text
		case o.Special == ir.FromName:
			if row.From == nil {
				return nil
			}
			return row.From.Text
		case o.Field == nil || o.Event != nil:
			return env(o)
		case o.Field.Derive != nil:
			return derived(o.Field, read)
		}
		for i := range row.Set {
			if row.Set[i].Target == o.Field {
				v, err := domain.EvalExpr(&row.Set[i].Value, env)
				if err != nil {
					return nil
				}
				return v
			}
		}
		return env(o)
	}
	return read
}

// derived computes a derived field; it is absent while a part is.
func derived(f *ir.Field, read reader) ir.Value {
	text := ""
	for _, p := range f.Derive.Parts {
		if p.Field == nil {
			text += p.Text
			continue
		}
		v := read(&ir.Operand{Field: p.Field, Type: p.Field.Type})
		if v == nil {
			return nil
		}
		text += plain(v)
	}
	return text
}

// payload reads an event that the machine itself fires: what is not bound is
// absent, the rest is the record.
func payload(f *ir.Fire, record reader) reader {
	return func(o *ir.Operand) ir.Value {
		if o.Special == ir.ActorID {
			return nil
		}
		if o.Special == ir.FromName {
			return record(&ir.Operand{Special: ir.StateName})
		}
		if o.Field == nil || !carried(f.Event, o.Field) {
			return record(o)
		}
		for i := range f.Args {
			if f.Args[i].Target == o.Field {
				v, err := domain.EvalExpr(&f.Args[i].Value, record)
				if err != nil {
					return nil
				}
				return v
			}
		}
		if writeOf(f.Event, o.Field) != nil {
			return nil
		}
		return defaultOf(o.Field)
	}
}

// carried reports whether f is part of the payload of e.
func carried(e *ir.Event, f *ir.Field) bool {
	return writeOf(e, f) != nil || slices.Contains(e.Fields, f)
}

func writeOf(e *ir.Event, f *ir.Field) *ir.Write {
	if e == nil {
		return nil
	}
	for i := range e.Writes {
		if e.Writes[i].Field == f {
			return &e.Writes[i]
		}
	}
	return nil
}

// bound rewrites clauses that read the payload of f to read what f binds, so
// that the enumeration meets the values that they compare. Only the space
// uses the result; the verdict reads through [payload].
func bound(f *ir.Fire, clauses []*ir.Clause) []*ir.Clause {
	var out []*ir.Clause
	for _, c := range clauses {
		b := *c
		b.Left, b.Right = bindOperand(f, b.Left), bindOperand(f, b.Right)
		out = append(out, &b)
	}
	return out
}

// bindOperand is what f binds to the name that o reads: what is read there, or
// the target of the assignment where it is a sum.
func bindOperand(f *ir.Fire, o ir.Operand) ir.Operand {
	if o.Field == nil || !carried(f.Event, o.Field) {
		return o
	}
	for _, a := range f.Args {
		switch {
		case a.Target != o.Field:
		case a.Value.Kind == ir.Read:
			return a.Value.A
		default:
			return ir.Operand{Field: o.Field, Type: o.Type}
		}
	}
	return ir.Operand{IsLit: true, Literal: defaultOf(o.Field), Type: o.Type}
}

// stores reports whether the assignments give their targets values that these
// can have, as fields of the record or, with e, of its payload; anything else
// refuses the step. read reads the targets.
func stores(e *ir.Event, assigns []ir.Assign, read reader) bool {
	for _, a := range assigns {
		optional := a.Target.Type.Optional
		if w := writeOf(e, a.Target); w != nil {
			optional = w.Optional
		}
		v := read(&ir.Operand{Field: a.Target, Type: a.Target.Type})
		if v == nil && !optional && a.Value.Type.Optional || !domain.WithinBounds(a.Target, v) {
			return false
		}
	}
	return true
}

// refusable reports whether the payload of f may have values that the event
// does not take: beyond bounds, or absent.
func refusable(f *ir.Fire) bool {
	return slices.ContainsFunc(f.Args, func(a ir.Assign) bool {
		return a.Target.Min != nil || a.Target.Max != nil || a.Value.Type.Optional
	})
}

// presence makes variables of what the assignments read and may be absent.
func presence(assigns []ir.Assign) []*ir.Clause {
	var out []*ir.Clause
	for _, a := range assigns {
		for _, o := range []ir.Operand{a.Value.A, a.Value.B} {
			if o.Type.Optional && !o.IsLit {
				out = append(out, exists(o))
			}
		}
	}
	return out
}

func exists(o ir.Operand) *ir.Clause {
	return &ir.Clause{Left: o, Op: ir.Exists, Right: ir.Operand{IsLit: true, Literal: true, Type: ir.Type{Base: ir.Bool}}}
}
