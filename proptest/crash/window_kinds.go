package crash

import (
	"slices"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/proptest/crash/scenarios"
)

// kindsOf derives from a table what can be under way when a process dies.
func kindsOf(c *scenarios.Group) []Kind {
	m := c.Proven()
	has := map[Kind]bool{
		Started: c.Started(m),
		Create:  !c.Started(m),
		Fire:    len(scenarios.Callable(m)) > 0,
		Chain:   slices.ContainsFunc(m.Rows, func(r *ir.Row) bool { return r.Raise != nil }),
		Deadline: slices.ContainsFunc(m.States, func(s *ir.State) bool {
			return s.Timeout != nil
		}),
	}
	for _, e := range callsOf(m) {
		if e.Delivery.InStep() {
			has[InTx] = true
			continue
		}
		repeats, fails := scenarios.Repeats(e), e.Fails != nil
		for kind, can := range map[Kind]bool{
			Kind(e.Delivery): true,
			Answer:           len(e.Returns) > 0 || fails,
			Deliver:          len(e.Returns) == 0,
			Retry:            repeats,
			DeadLetter:       !fails,
			Requeue:          !fails,
			Cleanup:          e.Cleanup != nil && (repeats || fails),
		} {
			has[kind] = has[kind] || can
		}
	}
	return slices.DeleteFunc(slices.Clone(allKinds), func(k Kind) bool { return !has[k] })
}

// callsOf lists the effects of transitions that call handlers. An effect that is only the
// cleanup of another is not among them.
func callsOf(m *ir.Machine) []*ir.Effect {
	return slices.DeleteFunc(slices.Clone(m.Effects), func(e *ir.Effect) bool {
		return e.Kind != ir.Call || !slices.ContainsFunc(m.Rows, func(r *ir.Row) bool {
			return r.Reject == nil && slices.ContainsFunc(r.Actions, func(a ir.Action) bool { return a.Effect == e })
		})
	})
}
