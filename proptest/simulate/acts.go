package simulate

import (
	"context"
	"fmt"
	"time"
)

// acts is how many acts a play has at least; it has less than twice as many.
const acts = 40

// deepest is how many things can be under way at once, one within another.
const deepest = 2

// interlude lets something else happen, if the seed says so.
func (p *play[Tx]) interlude() {
	if p.calm || p.depth >= deepest || p.hanging.Load() || !p.dice.chance(45) {
		return
	}
	p.journal.count("something else happens in between")
	p.nested(func() { p.act(context.Background()) })
}

// nested runs what happens while something else is under way.
func (p *play[Tx]) nested(f func()) {
	p.depth++
	defer func() { p.depth-- }()
	p.journal.say("meanwhile, %d deep:", p.depth)
	f()
	p.journal.say("end of that")
}

// act is one thing that happens.
func (p *play[Tx]) act(ctx context.Context) {
	p.mourn()
	draw(p.dice, []weighted[func(context.Context)]{
		{28, p.fire}, {10, p.create}, {28, p.step}, {8, p.pause}, {10, p.skip}, {2, p.jump}, {2, p.jumpBack}, {3, p.restart},
		{4, p.resolve}, {2, p.resume}, {3, p.batch}, {4, p.fireTx}, {5, p.unit}, {6, p.repeat}, {12, p.abreast}, {4, p.cutOff},
	})(ctx)
}

// mourn replaces the workers that have died.
func (p *play[Tx]) mourn() {
	for i, w := range p.workers {
		if !w.store.dead.Load() {
			continue
		}
		p.names++
		p.journal.count("a worker is replaced")
		next, err := p.newWorker(fmt.Sprint("worker ", p.names))
		if err != nil {
			p.journal.problem("no new worker: %v", err)
			continue
		}
		p.journal.say("%s takes the place of %s", next.name, w.name)
		p.workers[i] = next
	}
}

// step lets a worker do a round.
func (p *play[Tx]) step(ctx context.Context) { p.occupy(func(w *worker[Tx]) { w.round(ctx) }) }

// occupy lets an idle worker do something that ends tasks. Its engine stores one
// ending after the other, so what happens within that is for other workers.
func (p *play[Tx]) occupy(f func(*worker[Tx])) {
	var idle []*worker[Tx]
	for _, w := range p.workers {
		if !w.busy && !w.store.dead.Load() {
			idle = append(idle, w)
		}
	}
	if len(idle) == 0 {
		return
	}
	w := oneOf(p.dice, idle)
	w.busy = true
	defer func() { w.busy = false }()
	f(w)
}

// restart kills a worker where it stands.
func (p *play[Tx]) restart(context.Context) {
	w := oneOf(p.dice, p.workers)
	p.journal.count("a worker is killed")
	if w.busy {
		p.journal.count("a worker is killed at work")
	}
	p.journal.say("%s is killed", w.name)
	w.store.dead.Store(true)
}

// pause, skip, jump and jumpBack are what time does.
func (p *play[Tx]) pause(context.Context) { p.pass(p.dice.span(time.Millisecond, 5*time.Second)) }

func (p *play[Tx]) jump(context.Context) {
	p.journal.count("the clock jumps")
	p.pass(p.dice.span(time.Minute, 900*time.Hour))
}

func (p *play[Tx]) jumpBack(context.Context) {
	p.journal.count("the clock jumps back")
	p.pass(-p.dice.span(time.Millisecond, time.Hour))
}

func (p *play[Tx]) pass(d time.Duration) {
	p.clock.move(d)
	p.journal.say("the clock moves by %s", d)
}

// skip moves the clock to when the next thing is due.
func (p *play[Tx]) skip(ctx context.Context) {
	if at, ok := p.next(ctx); ok {
		p.clock.wait(at)
		p.journal.say("the clock moves to what is due")
	}
}
