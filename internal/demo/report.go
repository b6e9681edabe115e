package main

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/engine"
)

// report prints what has become of the records, and whether all of it is sound.
func report(ctx context.Context, t *transcript, a *app, r *demoRun) error {
	t.title("What the database holds")
	t.line("%s %8s %12s %8s %8s %8s %13s", pad("machine", 14), "records", "transitions", "refused", "effects", "retries", "dead letters")
	for i, m := range a.machines {
		f, err := a.measure(ctx, m)
		if err != nil {
			return err
		}
		t.line("%s %8d %12d %8d %8d %8d %13d", t.paint(bold, pad(m.Name(), 14)), f.records, f.transitions, r.callers[i].Seen().Refused, f.delivered, f.retries, f.dead)
		t.line("               %s", t.paint(faint, f.line(m.States())))
	}
	dead, err := a.engine.DeadLetters(ctx, engine.Filter{}, "", 0)
	if err != nil {
		return err
	}
	t.title("Dead letters, waiting for a person")
	for _, m := range dead {
		t.line("%s %s %s", t.paint(bold, pad(m.Machine, 14)), pad(m.Effect, 20), m.LastError)
	}
	t.title("Is it sound")
	sound := true
	for _, c := range append(a.checks(), recovered(r.cut)) {
		problems, says, err := a.made(ctx, c)
		if err != nil {
			return err
		}
		mark := t.paint(green, "ok")
		if problems > 0 {
			mark, sound = t.paint(red, fmt.Sprintf("%d problems", problems)), false
		}
		t.line("%s  %s", mark, says)
	}
	t.title("Look into it")
	t.line("%s   (log: %s)", t.paint(bold, a.database()), a.logFile())
	t.line(`sqlite3 %s "SELECT version, from_status, event_type, to_status, actor_role FROM deal_events WHERE deal_id LIKE '%%03' ORDER BY version"`, a.database())
	t.line(`sqlite3 %s "SELECT machine, effect, state, attempts, last_error FROM fsm_outbox WHERE attempts > 1 OR state = 'dead_letter'"`, a.database())
	if !sound {
		return fmt.Errorf("the records are not sound: see %s", a.database())
	}
	t.ended("The durable part took %s.", time.Since(r.began).Round(100*time.Millisecond))
	return nil
}

// figures are one row of the end table.
type figures struct {
	states                                         map[string]int // how many records are in each
	records, transitions, delivered, retries, dead int
}

// measure counts what the database holds of a machine.
func (a *app) measure(ctx context.Context, m engine.Machine[*sql.Tx]) (figures, error) {
	t, f := m.Tables(), figures{states: map[string]int{}}
	err := a.rows(ctx, func(r *sql.Rows) error {
		var state string
		var n int
		err := r.Scan(&state, &n)
		f.states[state] = n
		f.records += n
		return err
	}, fmt.Sprintf(`SELECT "%s", count(*) FROM "%s" GROUP BY 1`, t.State, t.Record))
	if err != nil {
		return f, err
	}
	err = a.rows(ctx, func(r *sql.Rows) error { return r.Scan(&f.transitions, &f.delivered, &f.retries, &f.dead) }, fmt.Sprintf(`
		SELECT (SELECT count(*) FROM "%s"), count(*) FILTER (WHERE state = 'delivered'),
			coalesce(sum(attempts - 1) FILTER (WHERE attempts > 1), 0), count(*) FILTER (WHERE state = 'dead_letter' AND cancelled = 0)
		FROM fsm_outbox WHERE machine = ?`, t.History), m.Name())
	return f, err
}

// line writes how many records are in each of the states that have some.
func (f figures) line(states []string) string {
	var words []string
	for _, state := range states {
		if n := f.states[state]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, state))
		}
	}
	return strings.Join(words, ", ")
}

// classes counts effects by how they may be delivered.
func classes(cut []cutEffect) string {
	var names []string
	counts := map[string]int{}
	for _, c := range cut {
		if counts[c.delivery]++; !slices.Contains(names, c.delivery) {
			names = append(names, c.delivery)
		}
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%d %s", counts[name], name)
	}
	return strings.Join(names, ", ")
}
