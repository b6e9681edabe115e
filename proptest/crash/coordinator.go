package crash

import (
	"context"
	"database/sql"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/fsmgen/fsmgen/proptest/facts"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// coordinator fires the events of scenarios whose effects and deadlines are done by
// several workers.
type coordinator[Tx any] struct {
	*workerProcess[Tx]
	workers   *workerSet
	failpoint *sharedFailpoint
	clockFile *sharedClock
}

// runWorkers runs the scenarios from number first on, each with several workers, one of
// which is killed in its window. It returns how many were killed.
func runWorkers[Tx any](t *testing.T, p proof[Tx], subject Subject, what plan, first int, windows []Window, dir string) int {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	clockFile := &sharedClock{dir: dir}
	must(what.store(dir))
	must(clockFile.set(what.Runs[first].Script.Epoch)) // any later, and deadlines of other runs are due
	w, closeProcess, err := openWorkerProcess(t.Context(), p.database, subject, what, dir, &failpoints{}, clockFile, engine.Config{Worker: "coordinator"})
	must(err)
	workers := newWorkerSet(t, func(ctx context.Context, name string) *exec.Cmd { return p.worker(ctx, dir, name) })
	defer workers.stop()
	c := coordinator[Tx]{w, workers, &sharedFailpoint{dir: dir}, clockFile}
	for i, sc := range what.Runs[first:] {
		workers.fill()
		must(c.failpoint.set(target{sc.Tag, windows[i], *sc.Kill}))
		must(c.runShared(t.Context(), sc))
	}
	workers.stop()
	must(closeProcess())
	return workers.killed()
}

// runShared runs one scenario.
func (c coordinator[Tx]) runShared(ctx context.Context, sc plannedRun) error {
	killed := c.workers.killed()
	p, err := c.runOf(sc.Tag)
	if err == nil {
		err = c.setWorkerClocks(ctx, sc.Script.Epoch)
	}
	if err == nil {
		err = p.write(entry{Entry: began})
	}
	if err == nil {
		err = c.steps(ctx, p, c.rest)
	}
	if err == nil {
		err = c.awaitKill(ctx, killed)
	}
	if err == nil {
		err = c.rest(ctx, p)
	}
	if err != nil {
		return err
	}
	return c.end(ctx, p)
}

// awaitKill waits for the worker that is about to be killed. Nothing is due any more, so a
// worker that still gets to the failpoint has a transaction that is committed and not over.
// If there is none the checker reports the missing kill.
func (c coordinator[Tx]) awaitKill(ctx context.Context, before int) error {
	if err := c.setWorkerClocks(ctx, c.clock.Now().Add(time.Microsecond)); err != nil {
		return err
	}
	return progress.Await(ctx, "the death of a worker that was caught", func() (state any, done bool, err error) {
		return nil, !c.failpoint.taken() || c.workers.killed() != before, nil
	})
}

// setWorkerClocks sets the clock and waits until every worker has seen it and has ended the
// transactions that began before. Otherwise a worker with a later time could take over what
// others have just leased.
func (c coordinator[Tx]) setWorkerClocks(ctx context.Context, now time.Time) error {
	if err := c.clockFile.set(now); err != nil {
		return err
	}
	return progress.Await(ctx, "every worker to look at the clock", func() (state any, done bool, err error) {
		waiting := len(slices.DeleteFunc(c.workers.names(), c.clockFile.seenBy))
		return waiting, waiting == 0, nil
	})
}

// rest waits until the workers have nothing to do. Time passes only if they wait for the
// time of a repeat. rest ends the leases of dead workers.
func (c coordinator[Tx]) rest(ctx context.Context, p *run) error {
	var watch progress.Watch
	for {
		busy, orphans, err := c.look(ctx, p.tag)
		if err != nil {
			return err
		}
		if busy {
			if err := watch.Pause(ctx, c.progress(ctx, p.tag)); err != nil {
				return fmt.Errorf("waiting for workers to do what is due: %w", err)
			}
			continue
		}
		now := c.clock.Now()
		next := now
		for _, worker := range orphans {
			if err := c.endLeases(ctx, p.tag, worker, now); err != nil {
				return err
			}
		}
		if len(orphans) == 0 {
			at, ok, err := c.nextRepeat(ctx)
			if err != nil || !ok {
				return err
			}
			next = at
		}
		if err := c.setClock(p, next); err != nil {
			return err
		}
	}
}

// progress describes how far the workers have come with a scenario.
func (c coordinator[Tx]) progress(ctx context.Context, tag string) string {
	var attempts, undone, deadlines sql.NullInt64
	err := c.sql.QueryRowContext(ctx, `SELECT (SELECT sum(attempts) FROM fsm_outbox WHERE correlation = '`+tag+`'),
		(SELECT count(*) FROM fsm_outbox WHERE correlation = '`+tag+`' AND state <> 'delivered'),
		(SELECT count(*) FROM fsm_deadlines WHERE correlation = '`+tag+`')`).Scan(&attempts, &undone, &deadlines)
	return fmt.Sprint(attempts.Int64, undone.Int64, deadlines.Int64, c.workers.killed(), err)
}

// look reports whether a worker has, or may find, something to do for a scenario, and
// which dead workers hold leases. It looks at messages and deadlines in one statement: the
// step of a deadline turns one into the other.
func (c coordinator[Tx]) look(ctx context.Context, tag string) (busy bool, orphans []string, err error) {
	now := c.clock.Now()
	err = facts.Query(ctx, c.sql, heads(tag, now)+`
		UNION ALL SELECT 'deadline', worker, lease_until, due_at FROM fsm_deadlines WHERE correlation = '`+tag+`'`, func(r *facts.Row) {
		state, worker, until, due := r.Text(), r.Text(), r.Time(), r.Time()
		leased := state == "delivering" || state == "deadline" && !until.IsZero()
		switch {
		case leased && c.workers.isDead(worker) && until.After(now):
			orphans = append(orphans, worker)
		case leased:
			busy = true
		case state != "dead_letter":
			busy = busy || !due.After(now)
		}
	})
	return busy, orphans, err
}

// heads selects the open messages that no earlier message of their ordering key blocks.
func heads(tag string, now time.Time) string {
	open := func(row string) string {
		condition := "R.state <> 'delivered' AND R.discarded_at IS NULL AND (CAST(R.cancelled AS text) IN ('0', 'false') OR R.state = 'delivering' AND R.lease_until > 'NOW')"
		return strings.NewReplacer("R.", row+".", "NOW", now.UTC().Format(fsm.TimeLayout)).Replace(condition)
	}
	return `SELECT o.state, o.worker, o.lease_until, o.available_at
		FROM fsm_outbox AS o
		WHERE o.correlation = '` + tag + `' AND ` + open("o") + ` AND NOT EXISTS (SELECT 1 FROM fsm_outbox AS b
			WHERE b.machine = o.machine AND b.record_id = o.record_id AND b.destination = o.destination AND (b.version, b.seq) < (o.version, o.seq) AND ` + open("b") + `)`
}
