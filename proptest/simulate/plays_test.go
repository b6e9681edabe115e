package simulate_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/proptest"
	"github.com/fsmgen/fsmgen/proptest/simulate"
)

// plays are many seeds, one after the other, and what came of them together.
type plays struct {
	first uint64
	more  func(begun int) bool // whether to begin another

	mu     sync.Mutex
	begun  int
	done   int
	counts map[string]int
	began  time.Time
	told   time.Time // when progress was last told
}

// playAll plays the seeds from first on, on every processor, while there are to
// be more. Each failure tells its seed.
func playAll(t *testing.T, first uint64, more func(begun int) bool) *plays {
	t.Helper()
	s := sqlites(t)
	now := time.Now()
	p := &plays{first: first, more: more, counts: map[string]int{}, began: now, told: now}
	t.Run("plays", func(t *testing.T) {
		for hand := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(hand), func(t *testing.T) {
				t.Parallel()
				for seed, ok := p.take(); ok; seed, ok = p.take() {
					p.add(t, play(t, s, seed, "TestSeeds"))
				}
			})
		}
	})
	return p
}

// take returns the next seed.
func (p *plays) take() (seed uint64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.more(p.begun) {
		return 0, false
	}
	p.begun++
	return p.first + uint64(p.begun-1), true
}

// add counts a play that has ended, and tells now and then how far it got.
func (p *plays) add(t *testing.T, r simulate.Report) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	for what, n := range r.Counts {
		p.counts[what] += n
	}
	const often = 10 * time.Second
	if now := time.Now(); now.Sub(p.told) >= often {
		p.told = now
		t.Logf("%s: %d seeds, %.1f a second", now.Sub(p.began).Round(time.Second), p.done, float64(p.done)/now.Sub(p.began).Seconds())
	}
}

// proof logs a line, and adds it to those that a run over many packages prints.
func proof(t *testing.T, format string, args ...any) {
	t.Helper()
	proptest.Count(t, "simulation: "+format, args...)
}

// play plays a seed and fails the test with what it found, and with the test that
// can be asked for it again.
func play[Tx any](t *testing.T, s simulate.Simulation[Tx], seed uint64, test string) simulate.Report {
	t.Helper()
	again := fmt.Sprintf("see it again: FSMGEN_SEED=%d go test -count=1 -v -run '^%s$' ./proptest/simulate", seed, test)
	defer func() {
		if v := recover(); v != nil {
			panic(fmt.Sprintf("seed %d: %v\n%s", seed, v, again)) // a deadlock, which can't be survived
		}
	}()
	r := s.Run(t, seed)
	if len(r.Problems) > 0 {
		t.Errorf("seed %d:\n  %s\n%s", seed, strings.Join(r.Problems, "\n  "), again)
	}
	return r
}
