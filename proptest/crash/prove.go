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
	"time"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// proof is how processes are started that work on a database.
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
	// patience is how long nothing at all may change before a proof gives up.
	patience time.Duration
}

// prove kills the lives of a subject in every window, and judges what is left.
// The database has to be empty.
func prove[Tx any](t *testing.T, s story, subject Subject, p proof[Tx]) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	db := prepare(t, p.database, s.machines, s.group.Singular()...)
	dir := t.TempDir()
	rehearsed, err := s.rehearsal()
	must(err)
	if kills := runPlan(t, p, rehearsed, dir); kills != 0 {
		t.Fatalf("the rehearsal was killed %d times", kills)
	}
	calm := verdict(t, db, s.machines, rehearsed, dir)
	killing, missed, err := s.choose(rehearsed, calm.diary, s.windows, p.every)
	must(err)
	if len(missed) > 0 {
		explainRefusals(t, rehearsed, calm)
	}
	windows := slices.DeleteFunc(slices.Clone(s.windows), func(w Window) bool { return slices.Contains(missed, w) })
	kills := runPlan(t, p, killing, dir)
	if want := len(killing.Scenarios) - len(rehearsed.Scenarios); kills != want {
		t.Errorf("%d processes were killed, want %d", kills, want)
	}
	stormy := verdict(t, db, s.machines, killing, dir)
	overslept := compareEndings(t, killing, calm, stormy)
	hit, _ := countExercised(t, killing, stormy.diary, windows)
	Count(t, "%s: %d of %d windows exercised on %s; %d lives take %d of %d transitions, and %d of %d kills were compared with a calm life",
		s.name, hit, len(s.windows), p.database.Name, len(s.lives), transitionsTaken(stormy.facts, s.name), len(s.machines[0].edges), kills-overslept, kills)
	compareUnreached(t, subject.Specs, s.name, p.database.Name, s.unreached(stormy.facts, missed))
	kills += proveShared(t, s, subject, p, killing, calm, db, dir)
	t.Logf("%s: %d lives, %d processes killed; nothing accepted was lost, nothing doubled, no record off its table", s.name, len(killing.Scenarios), kills)
}

// proveShared kills one of several workers that share the work of a life, and
// returns how many were killed. Without work there is nothing to share.
func proveShared[Tx any](t *testing.T, s story, subject Subject, p proof[Tx], killing plan, calm *judge, db *sql.DB, dir string) int {
	t.Helper()
	shared, windows, err := s.chooseShared(killing, calm.diary, p.every)
	if err != nil {
		t.Fatal(err)
	}
	if len(windows) == 0 {
		return 0
	}
	killed := runFleet(t, p, subject, shared, len(killing.Scenarios), windows, dir)
	past := verdict(t, db, s.machines, shared, dir).diary
	shared.Scenarios = shared.Scenarios[len(killing.Scenarios):]
	hit, of := countExercised(t, shared, past, windows)
	if hit != killed {
		t.Errorf("%d workers were killed in %d windows", killed, hit)
	}
	Count(t, "%s: %d of %d windows exercised on %s while %d workers share the work", s.name, hit, of, p.database.Name, fleetSize)
	return killed
}

// explainRefusals logs which steps of quiet lives the engine refused: what a
// life was to show, it did not.
func explainRefusals(t *testing.T, p plan, calm *judge) {
	t.Helper()
	for _, sc := range p.Scenarios {
		for _, e := range calm.diary[sc.Tag] {
			if e.Entry == refused {
				t.Logf("%s: step %d was refused: %s", p.describe(sc.Tag), e.Step, e.Cause)
			}
		}
	}
}

// countExercised tells how many of the windows were exercised, and fails the
// test for each of the others.
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

// prepare makes the tables, without the indices that would let only one life be
// lived in a database.
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
	if err := createWitnesses(t.Context(), db, append(d.Watch, d.Prune)); err != nil {
		t.Fatal(err)
	}
	return db
}

// runPlan starts one process after the other until one gets to the end of the
// plan. It returns how many were killed on the way.
func runPlan[Tx any](t *testing.T, p proof[Tx], what plan, dir string) (kills int) {
	t.Helper()
	if err := what.store(dir); err != nil {
		t.Fatal(err)
	}
	for kills <= len(what.Scenarios) {
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

// runChild runs a process to its end, which may take as long as it gets on with
// the plan.
func (p proof[Tx]) runChild(ctx context.Context, what plan, dir string) (out []byte, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var text bytes.Buffer
	child := p.child(ctx, dir)
	child.Stdout, child.Stderr = &text, &text
	if err := child.Start(); err != nil {
		return nil, fmt.Errorf("start a process: %w", err)
	}
	end := make(chan error, 1)
	go func() { end <- child.Wait() }()
	for w := (watch{patience: p.patience}); ; {
		select {
		case err := <-end:
			return text.Bytes(), err
		default:
		}
		if stuck := w.pause(ctx, "a process does not end", what.progress(dir)); stuck != nil {
			cancel()
			return text.Bytes(), errors.Join(stuck, <-end)
		}
	}
}

// verdict judges what is in the database.
func verdict(t *testing.T, db *sql.DB, all machines, p plan, dir string) *judge {
	t.Helper()
	f, err := readFacts(t.Context(), db, all)
	if err != nil {
		t.Fatal(err)
	}
	past, err := readDiaries(dir, p)
	if err != nil {
		t.Fatal(err)
	}
	j := newJudge(tablesOf(all), f, past, func(tag, format string, args ...any) {
		t.Errorf("%s: %s", p.describe(tag), fmt.Sprintf(format, args...))
	})
	j.all()
	return j
}

// describe says which life a tag is.
func (p plan) describe(tag string) string {
	for _, sc := range p.Scenarios {
		if sc.Tag == tag && sc.Cut != nil {
			return fmt.Sprintf("life %q killed in %s (%s number %d)", sc.Name, sc.Window, sc.Cut.Point, sc.Cut.N)
		} else if sc.Tag == tag && sc.Name != "" {
			return fmt.Sprintf("life %q", sc.Name)
		}
	}
	return "scenario " + tag
}

// compareEndings fails for a life that was killed and did not end like the one
// that nobody killed; unless what may be attempted only once was lost, which
// the record was told, or a timer did not wait for the next process. It returns
// how many of these there were.
func compareEndings(t *testing.T, p plan, calm, stormy *judge) (late int) {
	t.Helper()
	want := map[int]string{} // by life
	before, after := calm.endings(), stormy.endings()
	for _, sc := range p.Scenarios {
		switch {
		case sc.Cut == nil:
			want[sc.Life] = before[sc.Tag]
		case stormy.tells(sc.Tag, overslept):
			late++
		case after[sc.Tag] != want[sc.Life] && !stormy.lossTold(sc.Tag):
			t.Errorf("%s ended otherwise than without a kill:\n%s", p.describe(sc.Tag), difference(want[sc.Life], after[sc.Tag]))
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

// exercisedWindows counts the kills in each window that the diary proves:
// its entry is the last thing that the process did.
func exercisedWindows(p plan, past map[string][]entry) map[string]int {
	cuts := map[string]Cut{}
	for tag, entries := range past {
		for _, e := range entries {
			if e.Entry == cutHere {
				cuts[tag] = e.cut()
			}
		}
	}
	out := map[string]int{}
	for _, sc := range p.Scenarios {
		if sc.Cut != nil && cuts[sc.Tag] == *sc.Cut {
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
