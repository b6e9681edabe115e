package simulate

import (
	"cmp"
	"context"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// resolve lets an operator requeue or discard a dead letter.
func (run *run[Tx]) resolve(ctx context.Context) {
	run.withIdleWorker(func(w *worker[Tx]) {
		messages, err := w.engine.DeadLetters(ctx, store.Filter{}, "", 0)
		if err != nil || len(messages) == 0 {
			return
		}
		slices.SortFunc(messages, func(a, b store.OutboxMessage) int { return cmp.Compare(a.MessageID, b.MessageID) })
		msg := oneOf(run.rng, messages)
		do, how := w.engine.Requeue, "requeues"
		if run.rng.chance(300) {
			do, how = w.engine.Discard, "discards"
		}
		err = do(ctx, msg.MessageID, "operator", "for a reason")
		run.log.count("an operator " + how + " a dead letter")
		run.log.printf("an operator %s %s: %s", how, describe(msg), kind(err))
	})
}

// resume lets an operator resume a record.
func (run *run[Tx]) resume(ctx context.Context) {
	if len(run.records) == 0 {
		return
	}
	r := run.pick(ctx)
	run.withIdleWorker(func(w *worker[Tx]) {
		did, err := w.engine.Resume(ctx, r.machine.Name(), r.id, "operator", "for a reason")
		run.log.count("a record is resumed")
		run.log.printf("resume %s %s: deadline %t, requeued %d, %s", r.machine.Name(), alias(r.id), did.Deadline, did.Requeued, kind(err))
	})
}
