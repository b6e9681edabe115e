package crash

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// proof says how to start the processes that work on a database.
type proof[Tx any] struct {
	database Database[Tx]
	// child returns the command of a process that calls live with dir.
	child func(ctx context.Context, dir string) *exec.Cmd
	// worker returns the command of a process that calls work with dir and name,
	// and with its standard input as what says stop.
	worker func(ctx context.Context, dir, name string) *exec.Cmd
	// every kills at each point of each transition and of each effect, not only
	// once in each window.
	every bool
}

// prove kills the scenarios of a subject in every window, and checks what is left. The
// database must be empty.
func prove[Tx any](t *testing.T, set scenarioSet, subject Subject, p proof[Tx]) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	db := prepare(t, p.database, set.machines, set.group.Singular()...)
	dir := t.TempDir()
	baseline, err := set.uninterrupted()
	must(err)
	if kills := runPlan(t, p, baseline, dir); kills != 0 {
		t.Fatalf("the uninterrupted run was killed %d times", kills)
	}
	uninterrupted := checkDatabase(t, db, set.machines, baseline, dir)
	killing, missed, err := set.choose(baseline, uninterrupted.logs, set.windows, p.every)
	must(err)
	if len(missed) > 0 {
		explainRefusals(t, baseline, uninterrupted)
	}
	windows := slices.DeleteFunc(slices.Clone(set.windows), func(w Window) bool { return slices.Contains(missed, w) })
	kills := runPlan(t, p, killing, dir)
	if want := len(killing.Runs) - len(baseline.Runs); kills != want {
		t.Errorf("%d processes were killed, want %d", kills, want)
	}
	killed := checkDatabase(t, db, set.machines, killing, dir)
	overslept := compareEndings(t, killing, uninterrupted, killed)
	hit, _ := countExercised(t, killing, killed.logs, windows)
	Count(t, "%s: %d of %d windows exercised on %s; %d scenarios take %d of %d transitions, and %d of %d kills were compared with an uninterrupted run",
		set.name, hit, len(set.windows), p.database.Name, len(set.scenarios), transitionsTaken(killed.facts, set.name), len(set.machines[0].edges), kills-overslept, kills)
	compareUnreached(t, subject.Specs, set.name, p.database.Name, set.unreached(killed.facts, missed))
	if t.Failed() {
		return // several workers may wait for ever for what one has lost
	}
	kills += proveShared(t, set, subject, p, killing, uninterrupted, db, dir)
	t.Logf("%s: %d runs of scenarios, %d processes killed; nothing accepted was lost, nothing doubled, no record off its table", set.name, len(killing.Runs), kills)
}

// proveShared kills one of several workers that share the work of a scenario, and returns
// how many were killed. It does nothing for a machine without work to share.
func proveShared[Tx any](t *testing.T, set scenarioSet, subject Subject, p proof[Tx], killing plan, uninterrupted *checker, db *sql.DB, dir string) int {
	t.Helper()
	shared, windows, err := set.chooseShared(killing, uninterrupted.logs, p.every)
	if err != nil {
		t.Fatal(err)
	}
	if len(windows) == 0 {
		return 0
	}
	killed := runWorkers(t, p, subject, shared, len(killing.Runs), windows, dir)
	past := checkDatabase(t, db, set.machines, shared, dir).logs
	shared.Runs = shared.Runs[len(killing.Runs):]
	hit, of := countExercised(t, shared, past, windows)
	if hit != killed {
		t.Errorf("%d workers were killed in %d windows", killed, hit)
	}
	Count(t, "%s: %d of %d windows exercised on %s while %d workers share the work", set.name, hit, of, p.database.Name, workerCount)
	return killed
}

// explainRefusals logs which steps of uninterrupted runs the engine refused.
func explainRefusals(t *testing.T, p plan, uninterrupted *checker) {
	t.Helper()
	for _, sc := range p.Runs {
		for _, e := range uninterrupted.logs[sc.Tag] {
			if e.Entry == refused {
				t.Logf("%s: step %d was refused: %s", p.describe(sc.Tag), e.Step, e.Cause)
			}
		}
	}
}

// countExercised counts the windows that were exercised, and fails the test for each of
// the others.
func countExercised(t *testing.T, p plan, past map[string][]entry, windows []Window) (hit, of int) {
	t.Helper()
	exercised := exercisedWindows(p, past)
	for _, w := range windows {
		if exercised[w.String()] > 0 {
			hit++
		} else {
			t.Errorf("window %s was never hit", w)
		}
	}
	return hit, len(windows)
}

// prepare creates the tables, without the indices that allow only one run of a scenario
// in a database.
func prepare[Tx any](t *testing.T, d Database[Tx], all machines, without ...string) *sql.DB {
	t.Helper()
	opened, closeStore, err := d.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(opened.Migrate(t.Context(), store.Machines(definitions[Tx](all, nil))), closeStore()); err != nil {
		t.Fatal(err)
	}
	db, err := d.SQL()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, index := range without {
		for _, statement := range d.Lift(index) {
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := createTables(t.Context(), db, append(d.Watch, d.Prune)); err != nil {
		t.Fatal(err)
	}
	return db
}

// runPlan starts one process after the other until one reaches the end of the plan. It
// returns how many were killed.
func runPlan[Tx any](t *testing.T, p proof[Tx], what plan, dir string) (kills int) {
	t.Helper()
	if err := what.store(dir); err != nil {
		t.Fatal(err)
	}
	for kills <= len(what.Runs) {
		out, err := p.runChild(t.Context(), what, dir)
		var exit *exec.ExitError
		switch {
		case err == nil:
			return kills
		case !errors.As(err, &exit) || exit.ExitCode() != -1:
			t.Fatalf("a process failed: %v\n%s", err, out)
		}
		kills++
	}
	t.Fatalf("after %d processes the plan was not done", kills)
	return kills
}

// runChild runs a process to its end. The process may take as long as it makes progress
// with the plan.
func (p proof[Tx]) runChild(ctx context.Context, what plan, dir string) (out []byte, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var text bytes.Buffer
	child := p.child(ctx, dir)
	child.Stdout, child.Stderr = &text, &text
	if err := child.Start(); err != nil {
		return nil, fmt.Errorf("start a process: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		err = child.Wait()
		close(ended)
	}()
	stuck := progress.Await(ctx, "a process to end", func() (state any, done bool, failed error) {
		select {
		case <-ended:
			return nil, true, nil
		default:
			return what.progress(dir), false, nil
		}
	})
	if stuck != nil {
		cancel()
		<-ended // its error is not joined: this kill is not one of the plan
		return text.Bytes(), stuck
	}
	return text.Bytes(), err
}

// checkDatabase checks what is in the database.
func checkDatabase(t *testing.T, db *sql.DB, all machines, p plan, dir string) *checker {
	t.Helper()
	f, err := readEvidence(t.Context(), db, all)
	if err != nil {
		t.Fatal(err)
	}
	past, err := readEventLogs(dir, p)
	if err != nil {
		t.Fatal(err)
	}
	c := newChecker(tablesOf(all), f, past, func(tag, format string, args ...any) {
		t.Errorf("%s: %s", p.describe(tag), fmt.Sprintf(format, args...))
	})
	c.check()
	return c
}

// describe names the run with a tag.
func (p plan) describe(tag string) string {
	for _, sc := range p.Runs {
		if sc.Tag == tag && sc.Kill != nil {
			return fmt.Sprintf("scenario %q killed in %s (%s number %d)", sc.Name, sc.Window, sc.Kill.Point, sc.Kill.N)
		} else if sc.Tag == tag && sc.Name != "" {
			return fmt.Sprintf("scenario %q", sc.Name)
		}
	}
	return "scenario " + tag
}

// compareEndings fails for a killed run that did not end like the uninterrupted run. Two
// differences are allowed: an at_most_once effect was lost and the record got that event,
// or a deadline was due before the next process started. It returns how many of the
// latter there were.
func compareEndings(t *testing.T, p plan, uninterrupted, killed *checker) (late int) {
	t.Helper()
	want := map[int]string{} // by scenario
	before, after := uninterrupted.endings(), killed.endings()
	for _, sc := range p.Runs {
		switch {
		case sc.Kill == nil:
			want[sc.Scenario] = before[sc.Tag]
		case killed.logged(sc.Tag, lateDeadline):
			late++
		case after[sc.Tag] != want[sc.Scenario] && !killed.lossReported(sc.Tag):
			t.Errorf("%s ended otherwise than without a kill:\n%s", p.describe(sc.Tag), difference(want[sc.Scenario], after[sc.Tag]))
		}
	}
	return late
}

// difference lists the lines that only one of two texts has.
func difference(want, got string) string {
	var out []string
	for _, side := range []struct{ sign, text, other string }{{"-", want, got}, {"+", got, want}} {
		for line := range strings.SplitSeq(side.text, "\n") {
			if !strings.Contains("\n"+side.other+"\n", "\n"+line+"\n") {
				out = append(out, side.sign+" "+line)
			}
		}
	}
	return strings.Join(out, "\n")
}

// exercisedWindows counts the kills in each window by the event log: the entry is the
// last action of the process.
func exercisedWindows(p plan, past map[string][]entry) map[string]int {
	cuts := map[string]Hit{}
	for tag, entries := range past {
		for _, e := range entries {
			if e.Entry == killedHere {
				cuts[tag] = e.hit()
			}
		}
	}
	out := map[string]int{}
	for _, sc := range p.Runs {
		if sc.Kill != nil && cuts[sc.Tag] == *sc.Kill {
			window, _, _ := strings.Cut(sc.Window, " of ")
			out[window]++
		}
	}
	return out
}

func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a == b
	}
	return reflect.DeepEqual(x, y)
}

// everyFromEnv reports whether the environment asks for every point.
func everyFromEnv() bool { return os.Getenv("FSMGEN_CRASH_EVERY") == "1" }
