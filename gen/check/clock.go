package check

import (
	"fmt"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

const codeClockOpen = "FSM065"

// clock reports deadlines that a caller can bring forward: the event is open to
// others than `system`, and the row that takes it does not look at the time.
func (s *subject) clock() {
	for _, st := range s.m.States {
		if st.Timeout == nil || st.Terminal || st.Timeout.Fire.Event.Internal || !systemMay(st.Timeout.Fire.Event.By) {
			continue
		}
		f := st.Timeout.Fire
		g := s.byKey[groupKey{st, f.Event}]
		if g == nil {
			continue
		}
		for _, r := range g.rows {
			if r.Reject == nil && othersMay(r.By) && mayTake(r, f) && !readsTime(r) {
				s.report(codeClockOpen, f.Span, fmt.Sprintf("make event %q internal, let only `system` fire it, or compare a time with $now in row %q", f.Event.Text, r.Text),
					"the timeout of state %q fires %s, which others may fire earlier: row %q takes it at any time", st.Text, f.Event.Text, r.Text)
				break
			}
		}
	}
}

// othersMay reports whether an actor other than `system` is among by; nil is every actor.
func othersMay(by []*ir.Actor) bool {
	for _, a := range by {
		if !a.System {
			return true
		}
	}
	return by == nil
}

// mayTake reports whether r can take the event with what f binds to literals.
func mayTake(r *ir.Row, f *ir.Fire) bool {
	for _, c := range bound(f, r.When) {
		if c.Left.IsLit && c.Right.IsLit && !domain.Eval(c, func(*ir.Operand) ir.Value { return nil }) {
			return false
		}
	}
	return true
}

func readsTime(r *ir.Row) bool {
	for _, c := range r.When {
		if readsSpecial(c, ir.Now) {
			return true
		}
	}
	return false
}
