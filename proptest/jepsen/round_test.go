//go:build unix

package jepsen_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/proptest"
)

// round is one play: its faults last for a length of time, then all faults end and
// everything has to come to its end.
type round struct {
	seed     uint64
	length   time.Duration
	patience time.Duration // how long nothing at all may change while work is open, in looks
	outside  odds          // of what the outside world usually does with an effect
	calm     bool          // there are no faults but those of the outside world
	weakness string        // of the stores of all processes
}

// patience is how long nothing at all may change. It is counted in looks, one each
// pollInterval: on a machine that is busy a look takes longer.
const patience = 10 * time.Minute

// The lengths of rounds.
const (
	short = 12 * time.Second
	long  = 2 * time.Minute
)

// roundsVariable is how many long rounds TestSoak plays; seedVariable is the seed of
// its first, which a soak chooses by the time where it is not set.
const (
	roundsVariable = "FSMGEN_JEPSEN_ROUNDS"
	seedVariable   = "FSMGEN_JEPSEN_SEED"
)

// TestRounds plays a short round on each database.
func TestRounds(t *testing.T) {
	t.Parallel()
	for name, open := range stages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			report(t, s, round{seed: 1, length: short, patience: patience, outside: doOdds})
		})
	}
}

// stages opens each database.
var stages = map[string]func(testing.TB) stage{"postgres": postgresStage, "sqlite": sqliteStage}

// TestSoak plays long rounds on one database after the other.
func TestSoak(t *testing.T) {
	text := os.Getenv(roundsVariable)
	if text == "" {
		proptest.Count(t, "jepsen: the soak was not played; make soak ROUNDS=20 plays 20 rounds of %s", long)
		t.Skipf("%s is not set: it says how many rounds of %s to play", roundsVariable, long)
	}
	rounds, err := strconv.Atoi(text)
	must(t, err)
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv(seedVariable); text != "" {
		seed, err = strconv.ParseUint(text, 10, 64)
		must(t, err)
	}
	names := slices.Sorted(maps.Keys(stages))
	for n := range rounds {
		name := names[n%len(names)]
		t.Run(fmt.Sprintf("%d-%s", n+1, name), func(t *testing.T) {
			report(t, stages[name](t), round{seed: seed + uint64(n), length: long, patience: patience, outside: doOdds})
		})
	}
}

// report plays a round, and fails the test for each violation. Of each rule it shows a
// few.
func report(t *testing.T, s stage, r round) {
	t.Helper()
	violations, summary := r.play(t, s)
	proptest.Count(t, "jepsen: %s, seed %d, %s: %s", s.name, r.seed, r.length, summary)
	const most = 5
	shown := map[string]int{}
	for _, v := range violations {
		if shown[v.rule]++; shown[v.rule] <= most {
			t.Errorf("%s: %s", v.rule, v.text)
		}
	}
	for name, n := range shown {
		if n > most {
			t.Errorf("%s: %d more violations", name, n-most)
		}
	}
}

// play returns what the checker found, and a summary of the round.
func (r round) play(t *testing.T, s stage) ([]violation, string) {
	t.Helper()
	dir := t.TempDir()
	o := newOutside(t, r.seed, r.outside)
	var processes []*process
	for i := range s.workers + 1 {
		role, title := "worker", fmt.Sprintf("w%d", i+1)
		if i == s.workers {
			role, title = "loader", "loader"
		}
		place := s.place(i)
		place.Role, place.Outside, place.Weakness = role, o.url, r.weakness
		place.Seed = r.seed + uint64(i)<<32
		processes = append(processes, newProcess(t, dir, title, place))
	}
	for _, p := range processes {
		p.start()
	}
	faults := slices.Concat(processFaults(processes), outsideFaults(o), s.faults)
	if r.calm {
		faults = nil
	}
	n := newNemesis(r.seed, faults)
	n.run(time.Now().Add(r.length))
	o.heal()
	processes[s.workers].finish()
	stuck := r.drain(t, s)
	for _, p := range processes {
		p.finish()
	}
	e := collect(t, s, o, processes)
	violations := append(stuck, check(e)...)
	if len(violations) > 0 && len(n.log) > 0 {
		t.Logf("what the nemesis did:\n%s", strings.Join(n.log, "\n"))
	}
	return violations, summarise(e, n.counts, len(violations))
}

// drain waits until nothing is open. It gives up when nothing changes for long.
func (r round) drain(t *testing.T, s stage) []violation {
	t.Helper()
	random := rand.New(rand.NewPCG(r.seed, 4))
	seen, looks := "", 0
	for {
		ctx, cancel := context.WithTimeout(t.Context(), r.patience)
		err := s.resolve(ctx, random)
		open, state := openWork(ctx, s.sql)
		cancel()
		if err == nil && open == "" {
			return nil
		}
		if state != seen {
			seen, looks = state, 0
		}
		if looks++; time.Duration(looks)*pollInterval > r.patience {
			return []violation{{"stuck", fmt.Sprintf("nothing has changed in looks of %s, and open are: %s (%v)", r.patience, open, err)}}
		}
		time.Sleep(pollInterval)
	}
}

// summarise counts a round in one line.
func summarise(e evidence, faults map[string]int, violations int) string {
	events := map[verdict]int{}
	for _, f := range e.fired {
		events[f.Verdict]++
	}
	return fmt.Sprintf("%d records, %d steps, %d messages; events: %s; calls: %s; faults: %s; %d excused; %d violations",
		len(e.records), len(e.history), len(e.messages), list(events), list(e.calls), list(faults), e.excused.n, violations)
}

// list renders counts by name.
func list[K ~string](counts map[K]int) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%d %s", counts[name], name))
	}
	return strings.Join(all, ", ")
}
