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

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// conductor fires the events of lives whose effects and deadlines are the work
// of a fleet.
type conductor[Tx any] struct {
	*stage[Tx]
	fleet *fleet
	trap  *trap
	hands *sharedClock
	// patience is how long nothing at all may change.
	patience time.Duration
}

// runFleet lives the scenarios from number first on, each with several workers,
// one of which is killed in its window. It returns how many were killed.
func runFleet[Tx any](t *testing.T, p proof[Tx], subject Subject, what plan, first int, windows []Window, dir string) int {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	hands := &sharedClock{dir: dir}
	must(what.store(dir))
	must(hands.set(what.Scenarios[first].Script.Epoch)) // any later, and timers that others left are due
	s, closeStage, err := openStage(t.Context(), p.database, subject, what, dir, &cutter{}, hands, engine.Config{Worker: "conductor"})
	must(err)
	f := newFleet(t, func(ctx context.Context, name string) *exec.Cmd { return p.worker(ctx, dir, name) })
	defer f.stop()
	c := conductor[Tx]{s, f, &trap{dir: dir}, hands, p.patience}
	for i, sc := range what.Scenarios[first:] {
		f.fill()
		must(c.trap.set(bait{sc.Tag, windows[i], *sc.Cut}))
		must(c.conduct(t.Context(), sc))
	}
	f.stop()
	must(closeStage())
	return f.killed()
}

// conduct lives one scenario.
func (c conductor[Tx]) conduct(ctx context.Context, sc scenario) error {
	killed := c.fleet.killed()
	p, err := c.playOf(sc.Tag)
	if err == nil {
		err = c.tell(ctx, sc.Script.Epoch)
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

// rounds is how often every worker looks at the clock while one that has committed
// its last word gets to its window: much longer than that takes, on any machine.
const rounds = 500

// awaitKill waits for the worker that is about to be killed. It gives up, and leaves
// that to the judge, when all workers have gone on for some time without one.
func (c conductor[Tx]) awaitKill(ctx context.Context, before int) error {
	for n := 0; n < rounds && c.fleet.killed() == before && !c.trap.sprung(); n++ {
		if err := c.tell(ctx, c.clock.Now().Add(time.Microsecond)); err != nil {
			return err
		}
	}
	w := watch{patience: c.patience}
	for c.trap.sprung() && c.fleet.killed() == before {
		if err := w.pause(ctx, "a worker that was caught does not die", "caught"); err != nil {
			return err
		}
	}
	return nil
}

// tell sets the clock. Every worker knows it before anything happens: one whose
// clock is ahead takes over what others have just leased.
func (c conductor[Tx]) tell(ctx context.Context, now time.Time) error {
	if err := c.hands.set(now); err != nil {
		return err
	}
	w := watch{patience: c.patience}
	for {
		waiting := slices.DeleteFunc(c.fleet.names(), c.hands.seenBy)
		if len(waiting) == 0 {
			return nil
		}
		if err := w.pause(ctx, "a worker does not look at the clock", len(waiting)); err != nil {
			return err
		}
	}
}

// rest waits until the workers have nothing to do. Time passes meanwhile only
// where they wait for that of a repeat. The leases of a dead worker are ended.
func (c conductor[Tx]) rest(ctx context.Context, p *play) error {
	w := watch{patience: c.patience}
	for {
		busy, orphans, err := c.look(ctx, p.tag)
		if err != nil {
			return err
		}
		if busy {
			if err := w.pause(ctx, "the workers do nothing, and something is due", c.progress(ctx, p.tag)); err != nil {
				return err
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

// progress is how far the workers have come with a scenario.
func (c conductor[Tx]) progress(ctx context.Context, tag string) string {
	var attempts, undone, deadlines sql.NullInt64
	err := c.sql.QueryRowContext(ctx, `SELECT (SELECT sum(attempts) FROM fsm_outbox WHERE correlation = '`+tag+`'),
		(SELECT count(*) FROM fsm_outbox WHERE correlation = '`+tag+`' AND state <> 'delivered'),
		(SELECT count(*) FROM fsm_deadlines WHERE correlation = '`+tag+`')`).Scan(&attempts, &undone, &deadlines)
	return fmt.Sprint(attempts.Int64, undone.Int64, deadlines.Int64, c.fleet.killed(), err)
}

// look reports whether a worker has, or may find, something to do for a scenario,
// and which dead ones hold something.
func (c conductor[Tx]) look(ctx context.Context, tag string) (busy bool, orphans []string, err error) {
	now := c.clock.Now()
	due := func(text string) error {
		at, err := parseTime(text)
		busy = busy || !at.After(now)
		return err
	}
	held := func(worker, until string) error {
		at, err := parseTime(until)
		if c.fleet.isDead(worker) && at.After(now) {
			orphans = append(orphans, worker)
		} else {
			busy = true
		}
		return err
	}
	err = scan(ctx, c.sql, heads(tag, now), func(rows *sql.Rows) error {
		var state, worker, until, available string
		err := rows.Scan(&state, &worker, &until, &available)
		switch {
		case err != nil:
		case state == "delivering":
			err = held(worker, until)
		case state != "dead_letter":
			err = due(available)
		}
		return err
	})
	if err != nil {
		return false, nil, err
	}
	err = scan(ctx, c.sql, "SELECT CAST(due_at AS text), COALESCE(worker, ''), COALESCE(CAST(lease_until AS text), '') FROM fsm_deadlines WHERE correlation = '"+tag+"'", func(rows *sql.Rows) error {
		var at, worker, until string
		err := rows.Scan(&at, &worker, &until)
		if err == nil && until != "" {
			return held(worker, until)
		}
		if err == nil {
			err = due(at)
		}
		return err
	})
	return busy, orphans, err
}

// heads finds what is not done and has nothing before it in its lane.
func heads(tag string, now time.Time) string {
	open := func(row string) string {
		condition := "R.state <> 'delivered' AND R.discarded_at IS NULL AND (CAST(R.cancelled AS text) IN ('0', 'false') OR R.state = 'delivering' AND R.lease_until > 'NOW')"
		return strings.NewReplacer("R.", row+".", "NOW", now.UTC().Format(fsm.TimeLayout)).Replace(condition)
	}
	return `SELECT o.state, COALESCE(o.worker, ''), COALESCE(CAST(o.lease_until AS text), ''), COALESCE(CAST(o.available_at AS text), '')
		FROM fsm_outbox AS o
		WHERE o.correlation = '` + tag + `' AND ` + open("o") + ` AND NOT EXISTS (SELECT 1 FROM fsm_outbox AS b
			WHERE b.machine = o.machine AND b.record_id = o.record_id AND b.lane = o.lane AND (b.version, b.seq) < (o.version, o.seq) AND ` + open("b") + `)`
}
