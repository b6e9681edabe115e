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

// runs are the runs of many seeds and their counts.
type runs struct {
	first uint64
	more  func(begun int) bool // whether to begin another

	mu     sync.Mutex
	begun  int
	done   int
	counts map[string]int
	began  time.Time
	logged time.Time // when progress was last logged
}

// runAll runs the seeds from first on, on every processor, while more returns true. Each
// failure names its seed.
func runAll(t *testing.T, first uint64, more func(begun int) bool) *runs {
	t.Helper()
	s := onSQLite(t)
	now := time.Now()
	r := &runs{first: first, more: more, counts: map[string]int{}, began: now, logged: now}
	t.Run("runs", func(t *testing.T) {
		for i := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				for seed, ok := r.next(); ok; seed, ok = r.next() {
					r.add(t, runSeed(t, s, seed, "TestSeeds"))
				}
			})
		}
	})
	return r
}

// take returns the next seed.
func (r *runs) next() (seed uint64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.more(r.begun) {
		return 0, false
	}
	r.begun++
	return r.first + uint64(r.begun-1), true
}

// add adds the counts of a run, and logs the progress now and then.
func (r *runs) add(t *testing.T, report simulate.Report) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	for what, n := range report.Counts {
		r.counts[what] += n
	}
	const often = 10 * time.Second
	if now := time.Now(); now.Sub(r.logged) >= often {
		r.logged = now
		t.Logf("%s: %d seeds, %.1f a second", now.Sub(r.began).Round(time.Second), r.done, float64(r.done)/now.Sub(r.began).Seconds())
	}
}

// proof logs a line, and adds it to those that a run over many packages prints.
func proof(t *testing.T, format string, args ...any) {
	t.Helper()
	proptest.Count(t, "simulation: "+format, args...)
}

// runSeed runs a seed and fails the test with the problems, and with the command that
// repeats the run.
func runSeed[Tx any](t *testing.T, s simulate.Simulation[Tx], seed uint64, test string) simulate.Report {
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
