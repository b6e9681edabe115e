package interp

import (
	"errors"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// assign returns the new record: the old one, what the event writes, what
// the row sets, all at once. The reason is "" unless the values do not fit;
// overflow is found before write-once, and that before the bounds.
func assign(m *ir.Machine, row *ir.Row, env *scope) (*Record, Reason, *ir.Field) {
	old, next := env.record, env.record.Clone()
	var touched []*ir.Field
	store := func(f *ir.Field, v ir.Value) {
		next.Values[f.Index] = v
		touched = append(touched, f)
	}
	for i, w := range row.Event.Writes {
		store(w.Field, env.args[len(row.Event.Fields)+i])
	}
	for i := range row.Set {
		v, err := domain.EvalExpr(&row.Set[i].Value, env.read)
		switch {
		case errors.Is(err, domain.ErrOverflow):
			return nil, Overflow, row.Set[i].Target
		case err != nil, v == nil && !row.Set[i].Target.Type.Optional:
			return nil, InvalidEvent, row.Set[i].Target
		}
		store(row.Set[i].Target, v)
	}
	for _, f := range touched {
		if before := old.Get(f); f.Immutable && before != nil && !domain.Equal(before, next.Get(f)) {
			return nil, Immutable, f
		}
	}
	for _, f := range touched {
		if !domain.WithinBounds(f, next.Get(f)) {
			return nil, OutOfRange, f
		}
	}
	next.Derive(m)
	return next, "", nil
}
