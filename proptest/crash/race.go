package crash

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/fsmgen/fsmgen/internal/pgtest"
	"github.com/fsmgen/fsmgen/proptest/crash/scenarios"
	"github.com/fsmgen/fsmgen/runtime/engine"
)

// callerCounts are the numbers of callers that race for a record.
var callerCounts = []int{2, 8}

// Race lets callers race for the records of the subject, on SQLite and on PostgreSQL as
// Kill does. Several callers fire each event of a scenario at once, each with a key of
// its own, and two workers share the effects. Each accepted call has a version of its
// own, the others get a conflict or a rejection, and the checker finds every history
// complete and in the table.
func Race(t *testing.T, subject Subject) {
	t.Helper()
	set, err := subject.scenarioSet()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		race(t, set, subject, FileDatabase(filepath.Join(t.TempDir(), "race.db")))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn := pgtest.DSN(t)
		race(t, set, subject, Schema(dsn, pgtest.Schema(t, dsn)))
	})
}

func race[Tx any](t *testing.T, set scenarioSet, subject Subject, d Database[Tx]) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	db := prepare(t, d, set.machines, set.group.Singular()...)
	dir := t.TempDir()
	p := plan{Params: set.params}
	callersOf := map[string]int{}
	contested := set.contested()
	for _, callers := range callerCounts {
		for range set.rounds(contested) {
			for _, i := range contested {
				must(set.add(&p, "c", i, nil, ""))
				callersOf[p.Runs[len(p.Runs)-1].Tag] = callers
			}
		}
	}
	st, closeProcess, err := openWorkerProcess(t.Context(), d, subject, p, dir, &failpoints{}, &ownClock{}, engine.Config{Worker: "race"})
	must(err)
	st.concurrency = 2
	for _, sc := range p.Runs {
		must(st.raceScenario(t.Context(), sc, callersOf[sc.Tag]))
	}
	must(closeProcess())
	won, lost := oneWinnerAVersion(t, p, checkDatabase(t, db, set.machines, p, dir))
	if won == 0 || lost == 0 {
		t.Errorf("%d events were accepted and %d refused: no call raced", won, lost)
	}
	Count(t, "%s: %v concurrent callers fired each event of %d runs of scenarios on %s: %d calls were accepted, each with a version of its own, and %d refused",
		set.name, callerCounts, len(p.Runs), d.Name, won, lost)
}

// races is the least number of events that each number of callers races for.
const races = 40

// rounds returns how often the scenarios run, so that there are enough races.
func (set scenarioSet) rounds(contested []int) int {
	events := 0
	for _, i := range contested {
		events += len(set.scenarios[i].Events())
	}
	return (races + events - 1) / max(events, 1)
}

// contested chooses scenarios that together have every event that callers fire.
func (set scenarioSet) contested() []int {
	var out []int
	seen := map[string]bool{}
	for i, l := range set.scenarios {
		events := l.Events()
		if slices.ContainsFunc(events, func(event string) bool { return !seen[event] }) {
			out = append(out, i)
		}
		for _, event := range events {
			seen[event] = true
		}
	}
	return out
}

// raceScenario runs a scenario whose every event is fired by several callers at once.
func (w *workerProcess[Tx]) raceScenario(ctx context.Context, sc plannedRun, callers int) error {
	p, err := w.runOf(sc.Tag)
	if err == nil {
		err = errors.Join(w.clock.set(sc.Script.Epoch), w.newEngine(leaseOf(sc.Script)), p.write(entry{Entry: began}))
	}
	for i, st := range sc.Script.Steps {
		if err != nil {
			return err
		}
		if st.Event == nil {
			err = w.step(ctx, p, i, st)
		} else {
			err = w.fireAtOnce(ctx, p, i, st, callers)
		}
		err = errors.Join(err, w.rest(ctx, p))
	}
	if err != nil {
		return err
	}
	return w.end(ctx, p)
}

// fireAtOnce has several callers fire the event of a step at once.
func (w *workerProcess[Tx]) fireAtOnce(ctx context.Context, p *run, i int, st scenarios.Step, callers int) error {
	failures := make([]error, callers)
	start := make(chan struct{})
	var running sync.WaitGroup
	for n := range callers {
		running.Go(func() {
			<-start
			failures[n] = w.call(ctx, p, i, st, keyOf(p.tag, i, n))
		})
	}
	close(start)
	running.Wait()
	return errors.Join(failures...)
}

// oneWinnerAVersion fails the test if two calls were accepted with the same version. It
// returns how many calls were accepted and how many refused.
func oneWinnerAVersion(t *testing.T, p plan, c *checker) (won, lost int) {
	t.Helper()
	type version struct {
		machine, record string
		version         int64
	}
	winner := map[version]string{}
	for _, sc := range p.Runs {
		for _, e := range c.logs[sc.Tag] {
			at := version{e.Machine, e.Record, e.Version}
			switch {
			case e.Entry == refused:
				lost++
			case e.Entry == accepted && winner[at] != "":
				t.Errorf("%s: %s and %s were both accepted with version %d of %s", p.describe(sc.Tag), winner[at], e.Key, e.Version, e.Record)
			case e.Entry == accepted:
				winner[at] = e.Key
				won++
			}
		}
	}
	return won, lost
}
