package check

import (
	"slices"

	"github.com/fsmgen/fsmgen/gen/ir"
)

const codeGivenUp = "FSM066"

// givenUp reports keyed payments whose `fails` leads to another payment that their
// success does not lead to: the engine has given up the first one, and it may have
// happened all the same.
func (s *subject) givenUp() {
	for _, e := range s.m.Effects {
		if !e.Kind.Handled() || !e.Delivery.FailsInDoubt() || e.Fails == nil || !movesMoney(e) {
			continue
		}
		var success []*ir.Event
		for _, f := range e.Returns {
			success = append(success, f.Event)
		}
		excluded := slices.DeleteFunc(s.payments([]*ir.Event{e.Fails.Event}), func(x *ir.Effect) bool {
			return x == e || slices.Contains(s.payments(success), x)
		})
		if len(excluded) > 0 {
			s.report(codeGivenUp, e.Fails.Span, "make the effect queryable, so that it is known not to have happened, or let a person decide",
				"%q is fired when keyed effect %q is given up, which may have happened, and leads to %s", e.Fails.Event.Text, e.Text, effectNames(excluded))
		}
	}
}

// payments lists the effects that move money and that rows for one of the events ask
// for.
func (s *subject) payments(events []*ir.Event) (out []*ir.Effect) {
	for _, r := range s.m.Rows {
		if r.Reject != nil || s.dead[r] || !slices.Contains(events, r.Event) {
			continue
		}
		for _, a := range r.Actions {
			if e := a.Effect; e != nil && e.Kind.Handled() && movesMoney(e) {
				out = union(out, []*ir.Effect{e})
			}
		}
	}
	return out
}
