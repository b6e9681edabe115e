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

// gate keeps concurrent rounds of one worker in one order. Each round waits before its
// transactions until next lets it in, and nothing else moves then.
type gate struct {
	mu      sync.Mutex
	waiting map[int]chan struct{} // by round
	done    int
	claimed []store.Task // by any round
}

// roundOf is the context key of a round's number.
type roundOf struct{}

// enter waits until next lets in the round of ctx.
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

// next lets in the first waiting round. It reports whether there was one.
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

// concurrent lets a worker do several tasks concurrently, so that their answers are
// stored in one transaction. No other action runs meanwhile, and the only fault is that
// now and then the first transaction with several answers fails.
func (run *run[Tx]) concurrent(ctx context.Context) {
	const most = 3
	if run.depth > 0 || run.noFaults || run.tie(ctx) {
		return
	}
	run.withIdleWorker(func(w *worker[Tx]) {
		run.log.printf("%s: several tasks at once", w.name)
		g := &gate{waiting: map[int]chan struct{}{}}
		w.store.failNext = run.rng.chance(300)
		run.noFaults, w.store.gate = true, g
		for round := range most {
			go func() {
				defer g.leave()
				if _, err := w.engine.Step(context.WithValue(ctx, roundOf{}, round)); err != nil {
					run.log.problem("%s: %v", w.name, err)
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
		run.noFaults, w.store.gate, w.store.failNext = false, nil, false
		for _, t := range g.claimed {
			if run.outside.leases.holder(t.Effect.MessageID, run.clock.peek()) == w.name {
				run.log.problem("%s was done concurrently and is not settled", describe(t.Effect))
			}
		}
		run.log.printf("%s: end of that", w.name)
	})
}

// tie reports whether several messages are due at the same time, as those that one dead
// worker had claimed. A store may choose which of them a claim of one message returns.
func (run *run[Tx]) tie(ctx context.Context) bool {
	messages, err := run.messages(ctx)
	if err != nil {
		run.log.problem("%v", err)
	}
	type turn struct {
		due          time.Time
		version, seq int64
	}
	taken := map[turn]bool{}
	for _, l := range messages {
		t := turn{dueAt(l), l.Version, l.Seq}
		if l.State == "delivered" || l.Cancelled {
			continue
		}
		if taken[t] {
			return true
		}
		taken[t] = true
	}
	return false
}

// failOnce fails the first transaction that stores several answers, if failNext is set.
func (s *faultyStore[Tx]) failOnce(answers int) error {
	if s.gate == nil || answers < 2 {
		return nil
	}
	s.run.log.count("answers are stored together")
	s.run.log.printf("  %d answers in one transaction", answers)
	if !s.failNext {
		return nil
	}
	s.failNext = false
	s.run.log.count("answers that were to be stored together are stored one by one")
	return fmt.Errorf("%w: %w", store.ErrConflict, errInjected)
}
