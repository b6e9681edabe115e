package simulate

import (
	"cmp"
	"context"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// resolve lets a person decide about a dead letter.
func (p *play[Tx]) resolve(ctx context.Context) {
	p.occupy(func(w *worker[Tx]) {
		letters, err := w.engine.DeadLetters(ctx, store.Filter{}, "", 0)
		if err != nil || len(letters) == 0 {
			return
		}
		slices.SortFunc(letters, func(a, b store.OutboxMessage) int { return cmp.Compare(a.MessageID, b.MessageID) })
		letter := oneOf(p.dice, letters)
		do, how := w.engine.Requeue, "requeues"
		if p.dice.chance(300) {
			do, how = w.engine.Discard, "discards"
		}
		err = do(ctx, letter.MessageID, "somebody", "for a reason")
		p.journal.count("a person " + how + " a dead letter")
		p.journal.say("a person %s %s: %s", how, describe(letter), kind(err))
	})
}

// resume sets a record going again.
func (p *play[Tx]) resume(ctx context.Context) {
	if len(p.records) == 0 {
		return
	}
	r := p.pick(ctx)
	p.occupy(func(w *worker[Tx]) {
		did, err := w.engine.Resume(ctx, r.role.Name(), r.id, "somebody", "for a reason")
		p.journal.count("a record is resumed")
		p.journal.say("resume %s %s: timer %t, requeued %d, %s", r.role.Name(), alias(r.id), did.Deadline, did.Requeued, kind(err))
	})
}
