package crashtest

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
	c := conductor[Tx]{s, f, &trap{dir: dir}, hands}
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
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	killed := c.fleet.killed()
	p, err := c.playOf(sc.Tag)
	if err == nil {
		err = c.setBack(ctx, sc.Script.Epoch)
	}
	if err == nil {
		err = p.write(entry{Entry: began})
	}
	if err == nil {
		err = c.steps(ctx, p, c.rest)
	}
	// Who has committed its last word may be about to be killed; on a machine that is
	// busy with other things that takes its time.
	const patience = 20 * time.Second
	for late := time.Now().Add(patience); err == nil && c.fleet.killed() == killed && time.Now().Before(late); {
		time.Sleep(time.Millisecond)
	}
	if err == nil {
		err = c.rest(ctx, p)
	}
	if err != nil {
		return err
	}
	return c.end(ctx, p)
}

// setBack begins at an epoch. Every worker knows it before anything happens:
// one whose clock is ahead takes over what others have just leased.
func (c conductor[Tx]) setBack(ctx context.Context, epoch time.Time) error {
	if err := c.hands.set(epoch); err != nil {
		return err
	}
	for slices.ContainsFunc(c.fleet.names(), func(name string) bool { return !c.hands.seenBy(name) }) {
		if ctx.Err() != nil {
			return fmt.Errorf("a worker does not look at the clock: %w", ctx.Err())
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

// rest waits until the workers have nothing to do. Time passes meanwhile only
// where they wait for it: for the end of a dead worker's lease, or for the time
// of a repeat.
func (c conductor[Tx]) rest(ctx context.Context, p *play) error {
	for {
		busy, orphaned, err := c.look(ctx, p.tag)
		if err != nil {
			return err
		}
		if busy {
			time.Sleep(2 * time.Millisecond)
			continue
		}
		next := c.clock.Now().Add(downtime(lease))
		if !orphaned {
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

// look reports whether a worker has, or may find, something to do for a scenario,
// and whether a dead one holds something.
func (c conductor[Tx]) look(ctx context.Context, tag string) (busy, orphaned bool, err error) {
	now := c.clock.Now()
	due := func(text string) error {
		at, err := parseTime(text)
		busy = busy || !at.After(now)
		return err
	}
	held := func(worker, until string) error {
		at, err := parseTime(until)
		if c.fleet.isDead(worker) && at.After(now) {
			orphaned = true
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
		return false, false, err
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
	return busy, orphaned, err
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
