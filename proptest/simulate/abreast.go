package simulate

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// gate lets rounds of one worker be under way at once and yet in one order: each
// waits before its transactions until it is let in, and nothing else moves then.
type gate struct {
	mu      sync.Mutex
	waiting map[int]chan struct{} // by round
	done    int
	claimed []store.Task // by any round
}

// roundOf is the key of a round's number in its context.
type roundOf struct{}

// enter waits until the round of ctx is let in.
func (g *gate) enter(ctx context.Context) {
	round, ok := ctx.Value(roundOf{}).(int)
	if !ok {
		return
	}
	let := make(chan struct{})
	g.mu.Lock()
	g.waiting[round] = let
	g.mu.Unlock()
	<-let
}

// next lets in the first round that waits.
func (g *gate) next() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		return false
	}
	var rounds []int
	for round := range g.waiting {
		rounds = append(rounds, round)
	}
	first := slices.Min(rounds)
	close(g.waiting[first])
	delete(g.waiting, first)
	return true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.done++
}

func (g *gate) left() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.done
}

// abreast lets a worker do several tasks at once, so that their answers meet and are
// stored together. Nothing else happens meanwhile, and nothing goes wrong but, now
// and then, the first transaction of several answers.
func (p *play[Tx]) abreast(ctx context.Context) {
	const most = 3
	if p.depth > 0 || p.calm || p.tie(ctx) {
		return
	}
	p.occupy(func(w *worker[Tx]) {
		p.journal.say("%s: several at once", w.name)
		g := &gate{waiting: map[int]chan struct{}{}}
		w.store.spoilt = p.dice.chance(300)
		p.calm, w.store.gate = true, g
		for round := range most {
			go func() {
				defer g.leave()
				if _, err := w.engine.Step(context.WithValue(ctx, roundOf{}, round)); err != nil {
					p.journal.problem("%s: %v", w.name, err)
				}
			}()
			synctest.Wait()
		}
		for g.left() < most {
			if !g.next() {
				time.Sleep(time.Millisecond)
			}
			synctest.Wait()
		}
		p.calm, w.store.gate, w.store.spoilt = false, nil, false
		for _, t := range g.claimed {
			if p.outside.leases.holder(t.Effect.MessageID, p.clock.peek()) == w.name {
				p.journal.problem("%s was done among others and is not settled", describe(t.Effect))
			}
		}
		p.journal.say("%s: end of that", w.name)
	})
}

// tie reports whether several messages come due at once, as those that one dead worker
// had claimed: which of them a claim of one takes, a store may choose.
func (p *play[Tx]) tie(ctx context.Context) bool {
	letters, err := p.letters(ctx)
	if err != nil {
		p.journal.problem("%v", err)
	}
	type turn struct {
		due          time.Time
		version, seq int64
	}
	taken := map[turn]bool{}
	for _, l := range letters {
		t := turn{l.due, l.version, l.seq}
		if l.state == "delivered" || l.cancelled {
			continue
		}
		if taken[t] {
			return true
		}
		taken[t] = true
	}
	return false
}

// spoil fails the first transaction that stores several answers, if it is to.
func (s *faultyStore[Tx]) spoil(answers int) error {
	if s.gate == nil || answers < 2 {
		return nil
	}
	s.play.journal.count("answers are stored together")
	s.play.journal.say("  %d answers in one transaction", answers)
	if !s.spoilt {
		return nil
	}
	s.spoilt = false
	s.play.journal.count("answers that were to be stored together are stored one by one")
	return fmt.Errorf("%w: %w", store.ErrConflict, errInjected)
}
