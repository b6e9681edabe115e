package check

import (
	"slices"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// knowledge is what is known of the record, and of the event that reaches it,
// at one row.
type knowledge struct {
	row      *ir.Row // nil: the record alone
	stored   []mark
	incoming map[*ir.Field]mark
}

// arrival is the knowledge at r before its guards are asked.
func arrival(r *ir.Row, stored []mark) knowledge {
	k := knowledge{r, slices.Clone(stored), map[*ir.Field]mark{}}
	for _, f := range r.Event.Fields {
		k.incoming[f] = incomingMark(f.Type.Optional)
	}
	for _, w := range r.Event.Writes {
		k.incoming[w.Field] = incomingMark(w.Optional)
	}
	return k
}

func incomingMark(optional bool) mark {
	if optional {
		return anything
	}
	return maybePresent
}

// get returns the mark of an operand that can be narrowed.
func (k knowledge) get(o *ir.Operand) (mark, bool) {
	f := o.Field
	if f == nil || o.IsLit {
		return 0, false
	}
	if m, ok := k.incoming[f]; ok {
		return m, true
	}
	if o.Event != nil || f.Index < 0 || f.Derive != nil {
		return 0, false
	}
	return k.stored[f.Index], true
}

func (k knowledge) set(o *ir.Operand, m mark) {
	if _, ok := k.incoming[o.Field]; ok {
		k.incoming[o.Field] = m
		return
	}
	k.stored[o.Field.Index] = m
}

// refine narrows the knowledge by clauses that hold, and reports whether they
// can. Clauses that relate two fields narrow each by what the other can be.
func (k knowledge) refine(clauses []*ir.Clause) bool {
	for again := true; again; {
		again = false
		for _, c := range clauses {
			changed, possible := k.narrow(c)
			if !possible {
				return false
			}
			again = again || changed
		}
	}
	return true
}

func (k knowledge) narrow(c *ir.Clause) (changed, possible bool) {
	left, narrowsLeft := k.get(&c.Left)
	right, narrowsRight := k.get(&c.Right)
	newLeft, newRight := left, right
	if c.Op.Presence() {
		if !narrowsLeft {
			return false, true
		}
		newLeft &= presenceAsked(c)
	} else {
		newLeft, newRight = left&maybePresent, right&maybePresent
		if narrowsLeft && (narrowsRight || c.Right.IsLit) {
			newLeft, newRight = k.supported(c, newLeft, newRight, narrowsRight)
		}
	}
	if narrowsLeft && newLeft != left {
		k.set(&c.Left, newLeft)
		changed = true
	}
	if narrowsRight && newRight != right {
		k.set(&c.Right, newRight)
		changed = true
	}
	return changed, (!narrowsLeft || newLeft != 0) && (!narrowsRight || newRight != 0)
}

func presenceAsked(c *ir.Clause) mark {
	if c.AssertsPresence() {
		return maybePresent
	}
	return maybeAbsent
}

// supported keeps the values for which some value of the other side makes c
// hold. Sides with many values stay as they are.
func (k knowledge) supported(c *ir.Clause, left, right mark, related bool) (mark, mark) {
	lefts := listed(c.Left.Field, left)
	rights := []ir.Value{c.Right.Literal}
	if related {
		rights = listed(c.Right.Field, right)
	}
	if lefts == nil || rights == nil || c.Left.Field == c.Right.Field {
		return left, right
	}
	var keptLeft, keptRight mark
	for _, l := range lefts {
		for _, r := range rights {
			both := func(o *ir.Operand) ir.Value {
				if o == &c.Left {
					return l
				}
				return r
			}
			if !domain.Eval(c, both) {
				continue
			}
			keptLeft |= valueMark(c.Left.Field, l)
			if related {
				keptRight |= valueMark(c.Right.Field, r)
			}
		}
	}
	return keptLeft, keptRight
}

// listed is the values in m of a field with few values, else nil.
func listed(f *ir.Field, m mark) []ir.Value {
	out := []ir.Value{}
	few := fewValues(f)
	if few == nil {
		return nil
	}
	for i, v := range few {
		if m&(1<<(i+1)) != 0 {
			out = append(out, v)
		}
	}
	return out
}

// expr is the set of values that a right side can give to target.
func (k knowledge) expr(target *ir.Field, e *ir.Expr) mark {
	switch e.Kind {
	case ir.Null:
		return maybeAbsent
	case ir.Read:
		if e.A.IsLit {
			return valueMark(target, e.A.Literal)
		}
		return k.operand(target, &e.A)
	case ir.Add, ir.Sub:
		return k.sum(target, e)
	}
	panic(ir.NoForm("check.knowledge.expr", e.Kind))
}

// sum is the set of values of a sum or a difference.
func (k knowledge) sum(target *ir.Field, e *ir.Expr) mark {
	a, b := k.operand(target, &e.A), k.operand(target, &e.B)
	absent := (a | b) & maybeAbsent
	if a&maybePresent == 0 || b&maybePresent == 0 {
		return maybeAbsent
	}
	if sums := k.sums(target, e); sums != 0 {
		return sums | absent
	}
	return maybePresent | absent
}

// sums is the set of sums of a field with few values and a literal, or 0
// where it can't be told.
func (k knowledge) sums(target *ir.Field, e *ir.Expr) mark {
	if !e.B.IsLit || e.A.Field == nil || fewValues(target) == nil || fewValues(e.A.Field) == nil {
		return 0
	}
	var out mark
	for _, v := range listed(e.A.Field, k.operand(e.A.Field, &e.A)) {
		sum, err := domain.EvalExpr(e, func(*ir.Operand) ir.Value { return v })
		if err == nil {
			out |= valueMark(target, sum)
		}
	}
	return out
}

// operand is the set of values that o can have, as values of target.
func (k knowledge) operand(target *ir.Field, o *ir.Operand) mark {
	if o.Field != nil && o.Special == "" && !o.IsLit && sameValues(target, o.Field) {
		return k.field(o)
	}
	return k.presence(o)
}

// presence says whether o can be present, absent or both.
func (k knowledge) presence(o *ir.Operand) mark {
	switch {
	case o.IsLit || o.Param != nil:
		return maybePresent
	case o.Special == ir.ActorID:
		return actorMark(k.row)
	case o.Special == ir.FromName && k.row.From == nil:
		return maybeAbsent
	case o.Special != "":
		return maybePresent
	}
	m := k.field(o)
	if m&maybePresent != 0 {
		m |= maybePresent
	}
	return m
}

func (k knowledge) field(o *ir.Operand) mark {
	if m, ok := k.incoming[o.Field]; ok {
		return m
	}
	if o.Event != nil {
		return anything
	}
	return fieldMark(k.stored, o.Field)
}

// sameValues reports whether the bits of a and b mean the same values.
func sameValues(a, b *ir.Field) bool {
	return a == b || slices.EqualFunc(fewValues(a), fewValues(b), domain.Equal)
}

// actorMark: `system` has no id.
func actorMark(r *ir.Row) mark {
	if r.By == nil {
		return anything
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
