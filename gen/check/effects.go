package check

import "github.com/fsmgen/fsmgen/gen/ir"

const (
	codeRetryClass   = "FSM050"
	codeNoLost       = "FSM051"
	codeLostClass    = "FSM052"
	codeNoReturns    = "FSM053"
	codeCleanupIdle  = "FSM054"
	codeTxAnswers    = "FSM057"
	codeCleanupClass = "FSM058"
	codeRetryNever   = "FSM038"
)

// effects reports declarations that the delivery class can't bear.
func (s *subject) effects() {
	for _, e := range s.m.Effects {
		if !e.Kind.Handled() {
			continue
		}
		repeats := e.Delivery.Repeats()
		if e.Retry != nil && e.Retry.Retry != nil && !repeats {
			s.report(codeRetryClass, e.Span, "drop `retry`, or make the effect idempotent, keyed or queryable",
				"effect %q retries, but its delivery %s must not repeat", e.Text, e.Delivery)
		}
		if e.Retry != nil && e.Retry.Retry == nil {
			s.report(codeRetryNever, e.Span, "drop `retry`, or name a class with `retry: {first, attempts}`",
				"effect %q retries by class %q, which says `retry: never`", e.Text, e.Retry.Text)
		}
		if e.Delivery.NeedsLost() && e.Lost == nil {
			s.report(codeNoLost, e.Span, "add `lost:` with the event to fire when a crash leaves the outcome unknown",
				"effect %q is at_most_once, but nothing is fired when it is lost", e.Text)
		}
		if !e.Delivery.MayBeLost() && e.Lost != nil {
			s.report(codeLostClass, e.Lost.Span, "drop `lost`, or make the effect at_most_once or queryable",
				"effect %q has delivery %s and is never lost: recovery runs it again", e.Text, e.Delivery)
		}
		if e.Delivery.Asked() && e.Fails != nil && len(e.Returns) == 0 {
			s.report(codeNoReturns, e.Span, "add `returns:` with the events that the query can answer",
				"effect %q is queryable work, but has no answer for \"already done\"", e.Text)
		}
		if e.Delivery.InStep() && e.IsWork() {
			s.report(codeTxAnswers, e.Span, "drop the answers, or choose another delivery: an error of a transaction effect refuses the step",
				"effect %q runs inside the transaction of its step and can't answer with an event", e.Text)
		}
		s.cleanup(e, repeats)
	}
}

// cleanup runs before a repeat and before `fails`: the effect must do one of
// the two, and what cleans up must itself bear repeats.
func (s *subject) cleanup(e *ir.Effect, repeats bool) {
	c := e.Cleanup
	if c == nil {
		return
	}
	if !repeats && e.Fails == nil {
		s.report(codeCleanupIdle, e.Span, "drop `cleanup`, or add `fails`",
			"effect %q neither repeats nor fails: its cleanup %q never runs", e.Text, c.Text)
	}
	if !c.Kind.Handled() || !c.Delivery.Harmless() || c.IsWork() || c.Cleanup != nil {
		s.report(codeCleanupClass, e.Span, "let the cleanup be an idempotent effect without answers and without a cleanup of its own",
			"cleanup %q of effect %q may run any number of times, and it is not made for that", c.Text, e.Text)
	}
}
