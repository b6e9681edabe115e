package check

import "github.com/fsmgen/fsmgen/gen/ir"

const codeStrict = "FSM034"

// strict: in a strict machine a guard may read an optional name only where
// another clause of the row, or the holds of its state, prove it present.
func (s *subject) strict() {
	if !s.m.Strict {
		return
	}
	for _, r := range s.m.Rows {
		for _, c := range r.When {
			if c.Op.Presence() {
				continue
			}
			for _, o := range []*ir.Operand{&c.Left, &c.Right} {
				if optionalOperand(r, o) && !provenPresent(r, o) {
					s.report(codeStrict, o.Span, "add the clause \""+o.Text+" exists true\" to the row, or to the holds of the state",
						"%q may be absent, and machine %q is strict", o.Text, s.m.Text)
				}
			}
		}
	}
}

// optionalOperand reports whether the type of o, as r reads it, allows
// absence.
func optionalOperand(r *ir.Row, o *ir.Operand) bool {
	if o.Field == nil {
		return false
	}
	if w := writeOf(r.Event, o.Field); w != nil {
		return w.Optional
	}
	return o.Field.Type.Optional
}

func provenPresent(r *ir.Row, o *ir.Operand) bool {
	for _, c := range r.When {
		if c.AssertsPresence() && sameOperand(&c.Left, o) {
			return true
		}
	}
	if r.From == nil || o.Event != nil || writeOf(r.Event, o.Field) != nil {
		return false
	}
	for _, c := range r.From.Holds {
		present := c.AssertsPresence() || !c.Op.Presence()
		if present && (c.Left.Field == o.Field || c.Right.Field == o.Field) {
			return true
		}
	}
	return false
}
