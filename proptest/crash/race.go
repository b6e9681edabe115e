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

// crowds are how many callers race for a record.
var crowds = []int{2, 8}

// Race lets callers race for the records of the subject, on SQLite and on
// PostgreSQL as Crash does: each step of a life is fired by all of them at once,
// with a key each, and two workers share what comes of it. Of those that were
// told that their event is accepted each has a version of its own, the others
// get a conflict or a rejection, and the judge finds every history whole and on
// its table.
func Race(t *testing.T, subject Subject) {
	t.Helper()
	s, err := subject.story()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		race(t, s, subject, FileDatabase(filepath.Join(t.TempDir(), "race.db")))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn := pgtest.DSN(t)
		race(t, s, subject, Schema(dsn, pgtest.Schema(t, dsn)))
	})
}

func race[Tx any](t *testing.T, s story, subject Subject, d Database[Tx]) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	db := prepare(t, d, s.machines, s.group.Singular()...)
	dir := t.TempDir()
	p := plan{Params: s.params}
	crowdOf := map[string]int{}
	contested := s.contested()
	for _, crowd := range crowds {
		for range s.rounds(contested) {
			for _, life := range contested {
				must(s.add(&p, "c", life, nil, ""))
				crowdOf[p.Scenarios[len(p.Scenarios)-1].Tag] = crowd
			}
		}
	}
	st, closeStage, err := openStage(t.Context(), d, subject, p, dir, &cutter{}, &ownClock{}, engine.Config{Worker: "race"})
	must(err)
	st.hands = 2
	for _, sc := range p.Scenarios {
		must(st.compete(t.Context(), sc, crowdOf[sc.Tag]))
	}
	must(closeStage())
	won, lost := oneWinnerAVersion(t, p, verdict(t, db, s.machines, p, dir))
	if won == 0 || lost == 0 {
		t.Errorf("%d events were accepted and %d refused: nobody raced", won, lost)
	}
	Count(t, "%s: crowds of %v callers raced for each event of %d lives on %s: %d calls were accepted, each with a version of its own, and %d refused",
		s.name, crowds, len(p.Scenarios), d.Name, won, lost)
}

// races is how many events each crowd races for, at least.
const races = 40

// rounds is how often the lives are lived, so that there are enough races.
func (s story) rounds(contested []int) int {
	events := 0
	for _, life := range contested {
		events += len(s.lives[life].Events())
	}
	return (races + events - 1) / max(events, 1)
}

// contested picks lives in which every event that callers fire is fired.
func (s story) contested() []int {
	var out []int
	seen := map[string]bool{}
	for i, l := range s.lives {
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

// compete lives a life whose every event is fired by a crowd.
func (s *stage[Tx]) compete(ctx context.Context, sc scenario, crowd int) error {
	p, err := s.playOf(sc.Tag)
	if err == nil {
		err = errors.Join(s.clock.set(sc.Script.Epoch), s.employ(leaseOf(sc.Script)), p.write(entry{Entry: began}))
	}
	for i, st := range sc.Script.Steps {
		if err != nil {
			return err
		}
		if st.Event == nil {
			err = s.step(ctx, p, i, st)
		} else {
			err = s.crowd(ctx, p, i, st, crowd)
		}
		err = errors.Join(err, s.rest(ctx, p))
	}
	if err != nil {
		return err
	}
	return s.end(ctx, p)
}

// crowd lets callers fire the event of a step at once.
func (s *stage[Tx]) crowd(ctx context.Context, p *play, i int, st scenarios.Step, crowd int) error {
	failures := make([]error, crowd)
	start := make(chan struct{})
	var callers sync.WaitGroup
	for n := range crowd {
		callers.Go(func() {
			<-start
			failures[n] = s.call(ctx, p, i, st, keyOf(p.tag, i, n))
		})
	}
	close(start)
	callers.Wait()
	return errors.Join(failures...)
}

// oneWinnerAVersion fails the test for two callers who were told that they made
// one version. It returns how many were told that they made one, and how many
// that they did not.
func oneWinnerAVersion(t *testing.T, p plan, j *judge) (won, lost int) {
	t.Helper()
	type version struct {
		machine, record string
		version         int64
	}
	winner := map[version]string{}
	for _, sc := range p.Scenarios {
		for _, e := range j.diary[sc.Tag] {
			at := version{e.Machine, e.Record, e.Version}
			switch {
			case e.Entry == refused:
				lost++
			case e.Entry == accepted && winner[at] != "":
				t.Errorf("%s: %s and %s were both told that they made version %d of %s", p.describe(sc.Tag), winner[at], e.Key, e.Version, e.Record)
			case e.Entry == accepted:
				winner[at] = e.Key
				won++
			}
		}
	}
	return won, lost
}
