package simulate

import (
	"context"
	"fmt"
	"time"
)

// minActions is the least number of actions of a run. A run has less than twice as many.
const minActions = 40

// maxDepth limits how many actions can be under way, one within another.
const maxDepth = 2

// interleave runs another action now and then, inside what is under way.
func (run *run[Tx]) interleave() {
	if run.noFaults || run.depth >= maxDepth || run.hanging.Load() || !run.rng.chance(45) {
		return
	}
	run.log.count("something else happens in between")
	run.nested(func() { run.action(context.Background()) })
}

// nested runs f while something else is under way.
func (run *run[Tx]) nested(f func()) {
	run.depth++
	defer func() { run.depth-- }()
	run.log.printf("meanwhile, %d deep:", run.depth)
	f()
	run.log.printf("end of that")
}

// action runs one random action.
func (run *run[Tx]) action(ctx context.Context) {
	run.replaceDead()
	draw(run.rng, []weighted[func(context.Context)]{
		{28, run.fire}, {10, run.create}, {28, run.step}, {8, run.pause}, {10, run.skip}, {2, run.jump}, {2, run.jumpBack}, {3, run.restart},
		{4, run.resolve}, {2, run.resume}, {3, run.batch}, {4, run.fireTx}, {5, run.transact}, {6, run.repeat}, {12, run.concurrent}, {4, run.startOutage},
	})(ctx)
}

// replaceDead replaces the workers that have died.
func (run *run[Tx]) replaceDead() {
	for i, w := range run.workers {
		if !w.store.dead.Load() {
			continue
		}
		run.started++
		run.log.count("a worker is replaced")
		next, err := run.newWorker(fmt.Sprint("worker ", run.started))
		if err != nil {
			run.log.problem("no new worker: %v", err)
			continue
		}
		run.log.printf("%s takes the place of %s", next.name, w.name)
		run.workers[i] = next
	}
}

// step lets an idle worker do a round.
func (run *run[Tx]) step(ctx context.Context) {
	run.withIdleWorker(func(w *worker[Tx]) { w.round(ctx) })
}

// withIdleWorker lets an idle worker do something that settles tasks. Its engine settles
// one task after the other, so actions within f use other workers.
func (run *run[Tx]) withIdleWorker(f func(*worker[Tx])) {
	var idle []*worker[Tx]
	for _, w := range run.workers {
		if !w.busy && !w.store.dead.Load() {
			idle = append(idle, w)
		}
	}
	if len(idle) == 0 {
		return
	}
	w := oneOf(run.rng, idle)
	w.busy = true
	defer func() { w.busy = false }()
	f(w)
}

// restart kills a worker, whatever it does.
func (run *run[Tx]) restart(context.Context) {
	w := oneOf(run.rng, run.workers)
	run.log.count("a worker is killed")
	if w.busy {
		run.log.count("a worker is killed at work")
	}
	run.log.printf("%s is killed", w.name)
	w.store.dead.Store(true)
}

// pause, skip, jump and jumpBack move the clock.
func (run *run[Tx]) pause(context.Context) { run.pass(run.rng.span(time.Millisecond, 5*time.Second)) }

func (run *run[Tx]) jump(context.Context) {
	run.log.count("the clock jumps")
	run.pass(run.rng.span(time.Minute, 900*time.Hour))
}

func (run *run[Tx]) jumpBack(context.Context) {
	run.log.count("the clock jumps back")
	run.pass(-run.rng.span(time.Millisecond, time.Hour))
}

func (run *run[Tx]) pass(d time.Duration) {
	run.clock.move(d)
	run.log.printf("the clock moves by %s", d)
}

// skip moves the clock to the time when the next task is due.
func (run *run[Tx]) skip(ctx context.Context) {
	if at, ok := run.next(ctx); ok {
		run.clock.wait(at)
		run.log.printf("the clock moves to what is due")
	}
}
