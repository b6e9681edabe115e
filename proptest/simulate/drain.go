package simulate

import (
	"context"
	"time"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// drain lets a new worker bring everything to rest: nothing goes wrong any more,
// dead letters are requeued, and discarded if that does not help, and the clock
// moves to whatever is due next until nothing is.
func (p *play[Tx]) drain(ctx context.Context) {
	const rounds, tries = 2000, 2
	p.journal.say("from here on nothing goes wrong")
	p.calm = true
	if err := p.hire(); err != nil {
		p.journal.problem("%v", err)
		return
	}
	w := p.workers[len(p.workers)-1]
	requeued := map[string]int{}
	for range rounds {
		if w.round(ctx) > 0 {
			continue
		}
		letters, err := w.engine.DeadLetters(ctx, store.Filter{}, "", 0)
		if err != nil {
			p.journal.problem("%v", err)
			return
		}
		for _, l := range letters {
			do := w.engine.Requeue
			if requeued[l.MessageID]++; requeued[l.MessageID] > tries {
				do = w.engine.Discard
				p.journal.count("discarded at the end")
			}
			if err := do(ctx, l.MessageID, "the play", "is ending"); err != nil {
				p.journal.problem("%s: %v", describe(l), err)
			}
		}
		if len(letters) > 0 {
			continue
		}
		at, ok := p.next(ctx)
		if !ok {
			return
		}
		p.clock.wait(at)
		p.try(ctx)
	}
	p.journal.problem("after %d rounds there is still something to do", rounds)
}

// enough is how often a deadline is tried at the end. One whose event can't be
// recorded stays until a person mends what stands against it.
const enough = 5

// try counts how often each deadline has come.
func (p *play[Tx]) try(ctx context.Context) {
	deadlines, err := p.deadlines(ctx)
	if err != nil {
		p.journal.problem("%v", err)
	}
	for _, d := range deadlines {
		if p.clock.came(d.claim) {
			p.tried[d.name()]++
		}
	}
}

// next is when the next thing that a worker does is due, be it now.
func (p *play[Tx]) next(ctx context.Context) (at time.Time, ok bool) {
	letters, err := p.letters(ctx)
	if err != nil {
		p.journal.problem("%v", err)
	}
	deadlines, err := p.deadlines(ctx)
	if err != nil {
		p.journal.problem("%v", err)
	}
	consider := func(t time.Time) {
		if !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	for _, l := range letters {
		// A cancelled attempt is never claimed, but until its lease ends it keeps
		// back what is behind it.
		stalls := l.cancelled && l.state == "delivering" && l.due.After(p.clock.peek())
		if stalls || !l.cancelled && (l.state == "pending" || l.state == "retry_wait" || l.state == "delivering") && !p.blocked(letters, l) {
			consider(l.due)
		}
	}
	for _, d := range deadlines {
		if p.tried[d.name()] > enough {
			continue
		}
		consider(d.claim)
	}
	return at, ok
}

// blocked reports whether a message is not the head of its lane.
func (p *play[Tx]) blocked(letters []letter, l letter) bool {
	for _, b := range letters {
		open := b.state != "delivered" && !b.discarded && (!b.cancelled || b.state == "delivering" && b.due.After(p.clock.peek()))
		if open && b.machine == l.machine && b.record == l.record && b.lane == l.lane &&
			(b.version < l.version || b.version == l.version && b.seq < l.seq) {
			return true
		}
	}
	return false
}
