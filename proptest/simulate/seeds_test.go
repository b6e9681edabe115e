//go:build !race

package simulate_test

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/proptest/simulate"
)

// TestSeeds runs a thousand seeds on SQLite, which must reach every situation. With
// FSMGEN_SEED it runs that seed and shows its log.
func TestSeeds(t *testing.T) {
	if seed, ok := asked(t); ok {
		t.Log(runSeed(t, onSQLite(t), seed, "TestSeeds").Log)
		return
	}
	r := runAll(t, 0, func(begun int) bool { return begun < 1000 })
	r.logCounts(t)
	for _, what := range simulate.Situations() {
		if r.counts[what] == 0 {
			t.Errorf("never happened: %s", what)
		}
	}
}

// TestSoak runs seeds for the time in FSMGEN_SOAK. The seeds differ from soak to soak.
func TestSoak(t *testing.T) {
	text := os.Getenv("FSMGEN_SOAK")
	if text == "" {
		proof(t, "the soak was not run; make soak SOAK=1h runs it for an hour")
		t.Skip("FSMGEN_SOAK is not set: it says how long to run, as in 1h")
	}
	long, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("FSMGEN_SOAK: %v", err)
	}
	began := time.Now()
	first := uint64(began.UnixMicro())
	t.Logf("for %s, from seed %d on", long, first)
	runAll(t, first, func(int) bool { return time.Since(began) < long }).logCounts(t)
}

// TestSameSeedSameLog checks that nothing but the seed decides a run.
func TestSameSeedSameLog(t *testing.T) {
	s := onSQLite(t)
	var logs []string
	for _, seed := range seeds(t, 30) {
		first, second := runSeed(t, s, seed, "TestSameSeedSameLog"), s.Run(t, seed)
		if first.Log != second.Log {
			t.Fatalf("seed %d runs differently the second time:\n%s", seed, difference(first.Log, second.Log))
		}
		if slices.Contains(logs, first.Log) {
			t.Errorf("seed %d has the log of another", seed)
		}
		logs = append(logs, first.Log)
	}
	proof(t, "%d seeds run twice, each with the same log", len(logs))
}

// asked returns the seed of FSMGEN_SEED, if there is one.
func asked(t *testing.T) (seed uint64, ok bool) {
	t.Helper()
	text := os.Getenv("FSMGEN_SEED")
	if text == "" {
		return 0, false
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("FSMGEN_SEED: %v", err)
	}
	return seed, true
}

// seeds returns the first n, or the one of FSMGEN_SEED.
func seeds(t *testing.T, n uint64) (list []uint64) {
	t.Helper()
	if seed, ok := asked(t); ok {
		return []uint64{seed}
	}
	for seed := range n {
		list = append(list, seed)
	}
	return list
}

// logCounts logs how often each thing happened, and a summary.
func (r *runs) logCounts(t *testing.T) {
	t.Helper()
	taken := 0
	for _, what := range slices.Sorted(maps.Keys(r.counts)) {
		t.Logf("%8d %s", r.counts[what], what)
		if strings.HasPrefix(what, simulate.Took) {
			taken++
		}
	}
	rows := map[string]bool{}
	for _, m := range tables(t) {
		for _, row := range m.Rows {
			if row.Reject == nil {
				rows[m.Text+"."+row.Text] = true
			}
		}
	}
	proof(t, "%d seeds, %d calls accepted, %d of %d transitions taken, %d effects attempted; "+
		"%d faults of the store, %d attempts that went wrong, %d workers lost", r.done, r.counts["accepted"], taken, len(rows),
		r.counts["an attempt"], r.counts["a fault of the store"], r.counts["an attempt goes wrong"], r.counts["a worker is replaced"])
}
