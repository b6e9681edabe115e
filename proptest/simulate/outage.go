package simulate

import (
	"context"
	"time"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// outage is a time in which one worker, or every worker, can't reach the store.
type outage struct {
	of    string // a worker; "": every worker
	until time.Time
}

// hits reports whether the worker can't reach the store at the given time.
func (o outage) hits(worker string, now time.Time) bool {
	return now.Before(o.until) && (o.of == "" || o.of == worker)
}

// startOutage begins an outage that lasts longer than a lease.
func (run *run[Tx]) startOutage(context.Context) {
	run.outage = outage{until: run.clock.peek().Add(run.config.Lease + run.rng.span(time.Second, run.config.Lease))}
	if run.rng.chance(700) {
		w := oneOf(run.rng, run.workers)
		run.outage.of = w.name
		run.log.count("a worker is cut off for longer than a lease")
		if w.busy {
			run.log.count("a worker is cut off at work")
		}
	} else {
		run.log.count("the store is away for longer than a lease")
	}
	run.log.printf("outage %q until %s", run.outage.of, run.outage.until.Sub(startTime))
}

// connect returns an error while an outage cuts the worker off. Each attempt takes time.
func (s *faultyStore[Tx]) connect() error {
	const least, most = 20 * time.Second, time.Minute
	run := s.run
	if run.noFaults || !run.outage.hits(s.worker, run.clock.peek()) {
		return nil
	}
	run.log.count("the store is asked during an outage")
	run.log.printf("  %s does not reach the store", s.worker)
	run.clock.move(run.rng.span(least, most))
	return store.Failed("connect", errInjected)
}

// reach is connect that lets other workers do a round when it fails.
func (s *faultyStore[Tx]) reach() error {
	run := s.run
	err := s.connect()
	if err != nil && run.outage.of != "" && run.depth < maxDepth && !run.hanging.Load() && run.rng.chance(500) {
		run.nested(func() { run.step(context.Background()) })
	}
	return err
}

// noteTakeOvers counts the effects that a claim takes over from a worker that can't reach
// the store.
func (run *run[Tx]) noteTakeOvers(c store.Claim, tasks []store.Task) {
	for _, t := range tasks {
		held, ok := run.outside.leases.held[task{message: t.Effect.MessageID}]
		if t.Kind == store.TaskEffect && ok && held.worker != c.Worker && run.outage.hits(held.worker, c.Now) {
			run.log.count("an effect is taken over from a worker that is cut off")
		}
	}
}
