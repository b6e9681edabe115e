package simulate

import (
	"context"
	"time"

	"github.com/fsmgen/fsmgen/proptest/facts"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// drain stops all faults and lets a new worker bring everything to rest. It requeues dead
// letters, discards those that fail again, and moves the clock to the next due task until
// none is left.
func (run *run[Tx]) drain(ctx context.Context) {
	const rounds, tries = 2000, 2
	run.log.printf("from here on nothing goes wrong")
	run.noFaults = true
	if err := run.startWorker(); err != nil {
		run.log.problem("%v", err)
		return
	}
	w := run.workers[len(run.workers)-1]
	requeued := map[string]int{}
	for range rounds {
		if w.round(ctx) > 0 {
			continue
		}
		messages, err := w.engine.DeadLetters(ctx, store.Filter{}, "", 0)
		if err != nil {
			run.log.problem("%v", err)
			return
		}
		for _, l := range messages {
			do := w.engine.Requeue
			if requeued[l.MessageID]++; requeued[l.MessageID] > tries {
				do = w.engine.Discard
				run.log.count("discarded at the end")
			}
			if err := do(ctx, l.MessageID, "operator", "the run is ending"); err != nil {
				run.log.problem("%s: %v", describe(l), err)
			}
		}
		if len(messages) > 0 {
			continue
		}
		at, ok := run.next(ctx)
		if !ok {
			return
		}
		run.clock.wait(at)
		run.countTries(ctx)
	}
	run.log.problem("after %d rounds there is still something to do", rounds)
}

// maxTries limits how often a deadline is tried at the end. If its event can't be
// recorded, the deadline stays until an operator removes the cause.
const maxTries = 5

// countTries counts how often each deadline has been due.
func (run *run[Tx]) countTries(ctx context.Context) {
	deadlines, err := run.deadlines(ctx)
	if err != nil {
		run.log.problem("%v", err)
	}
	for _, d := range deadlines {
		if run.clock.came(firesAt(d)) {
			run.tried[nameOf(d)]++
		}
	}
}

// next returns the time when the next task is due, which may be now.
func (run *run[Tx]) next(ctx context.Context) (at time.Time, ok bool) {
	messages, err := run.messages(ctx)
	if err != nil {
		run.log.problem("%v", err)
	}
	deadlines, err := run.deadlines(ctx)
	if err != nil {
		run.log.problem("%v", err)
	}
	consider := func(t time.Time) {
		if !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	for _, l := range messages {
		// A cancelled attempt is never claimed, but until its lease ends it blocks
		// the messages behind it.
		stalls := l.Cancelled && l.State == "delivering" && dueAt(l).After(run.clock.peek())
		if stalls || !l.Cancelled && (l.State == "pending" || l.State == "retry_wait" || l.State == "delivering") && !run.blocked(messages, l) {
			consider(dueAt(l))
		}
	}
	for _, d := range deadlines {
		if run.tried[nameOf(d)] > maxTries {
			continue
		}
		consider(firesAt(d))
	}
	return at, ok
}

// blocked reports whether a message is not the head of its ordering key.
func (run *run[Tx]) blocked(messages []facts.Message, l facts.Message) bool {
	for _, b := range messages {
		open := b.State != "delivered" && !b.Discarded && (!b.Cancelled || b.State == "delivering" && dueAt(b).After(run.clock.peek()))
		if open && b.Machine == l.Machine && b.Record == l.Record && b.Destination == l.Destination &&
			(b.Version < l.Version || b.Version == l.Version && b.Seq < l.Seq) {
			return true
		}
	}
	return false
}
