package simulate

import (
	"context"
	"time"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// outage is a time in which the store can't be reached: by one worker, or by any.
type outage struct {
	of    string // a worker; "": every worker
	until time.Time
}

// hits reports whether a worker can't reach the store at a time.
func (o outage) hits(worker string, now time.Time) bool {
	return now.Before(o.until) && (o.of == "" || o.of == worker)
}

// cutOff begins an outage that lasts longer than a lease.
func (p *play[Tx]) cutOff(context.Context) {
	p.outage = outage{until: p.clock.peek().Add(p.config.Lease + p.dice.span(time.Second, p.config.Lease))}
	if p.dice.chance(700) {
		w := oneOf(p.dice, p.workers)
		p.outage.of = w.name
		p.journal.count("a worker is cut off for longer than a lease")
		if w.busy {
			p.journal.count("a worker is cut off at work")
		}
	} else {
		p.journal.count("the store is away for longer than a lease")
	}
	p.journal.say("outage %q until %s", p.outage.of, p.outage.until.Sub(epoch))
}

// connect fails while an outage keeps the worker from the store. Each try takes its time.
func (s *faultyStore[Tx]) connect() error {
	const least, most = 20 * time.Second, time.Minute
	p := s.play
	if p.calm || !p.outage.hits(s.worker, p.clock.peek()) {
		return nil
	}
	p.journal.count("the store is asked during an outage")
	p.journal.say("  %s does not reach the store", s.worker)
	p.clock.move(p.dice.span(least, most))
	return store.Failed("connect", errInjected)
}

// reach is connect, and other workers may go on when it fails.
func (s *faultyStore[Tx]) reach() error {
	p := s.play
	err := s.connect()
	if err != nil && p.outage.of != "" && p.depth < deepest && !p.hanging.Load() && p.dice.chance(500) {
		p.nested(func() { p.step(context.Background()) })
	}
	return err
}

// noteTakeOvers counts what a claim takes from a worker that can't reach the store.
func (p *play[Tx]) noteTakeOvers(c store.Claim, tasks []store.Task) {
	for _, t := range tasks {
		held, ok := p.outside.leases.held[task{message: t.Effect.MessageID}]
		if t.Kind == store.TaskEffect && ok && held.worker != c.Worker && p.outage.hits(held.worker, c.Now) {
			p.journal.count("an effect is taken over from a worker that is cut off")
		}
	}
}
