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

// TestSeeds plays a thousand plays on SQLite, in which everything that can happen
// does; or the one of FSMGEN_SEED, whose log it shows.
func TestSeeds(t *testing.T) {
	if seed, ok := asked(t); ok {
		t.Log(play(t, sqlites(t), seed, "TestSeeds").Log)
		return
	}
	p := playAll(t, 0, func(begun int) bool { return begun < 1000 })
	p.tell(t)
	for _, what := range simulate.Happenings() {
		if p.counts[what] == 0 {
			t.Errorf("never happened: %s", what)
		}
	}
}

// TestSoak plays for as long as FSMGEN_SOAK says, seeds that differ from soak to
// soak.
func TestSoak(t *testing.T) {
	text := os.Getenv("FSMGEN_SOAK")
	if text == "" {
		proof(t, "the soak was not played; make soak SOAK=1h plays it for an hour")
		t.Skip("FSMGEN_SOAK is not set: it says for how long to play, as in 1h")
	}
	long, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("FSMGEN_SOAK: %v", err)
	}
	began := time.Now()
	first := uint64(began.UnixMicro())
	t.Logf("for %s, from seed %d on", long, first)
	playAll(t, first, func(int) bool { return time.Since(began) < long }).tell(t)
}

// TestSameSeedSameLog: nothing but the seed decides.
func TestSameSeedSameLog(t *testing.T) {
	s := sqlites(t)
	var logs []string
	for _, seed := range seeds(t, 30) {
		first, second := play(t, s, seed, "TestSameSeedSameLog"), s.Run(t, seed)
		if first.Log != second.Log {
			t.Fatalf("seed %d plays differently the second time:\n%s", seed, difference(first.Log, second.Log))
		}
		if slices.Contains(logs, first.Log) {
			t.Errorf("seed %d has the log of another", seed)
		}
		logs = append(logs, first.Log)
	}
	proof(t, "%d seeds played twice, each with the same log", len(logs))
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

// tell logs how often each thing happened, and the sum of it.
func (p *plays) tell(t *testing.T) {
	t.Helper()
	taken := 0
	for _, what := range slices.Sorted(maps.Keys(p.counts)) {
		t.Logf("%8d %s", p.counts[what], what)
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
	proof(t, "%d seeds, %d calls accepted, %d of %d rows of the tables taken, %d effects attempted; "+
		"%d faults of the store, %d attempts that went wrong, %d workers lost", p.done, p.counts["accepted"], taken, len(rows),
		p.counts["an attempt"], p.counts["a fault of the store"], p.counts["an attempt goes wrong"], p.counts["a worker is replaced"])
}
