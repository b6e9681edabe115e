package main

import (
	"context"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/runtime/engine"
)

// report prints what has become of the records, and whether all of it is sound.
func report(ctx context.Context, t *transcript, a *app, r *demoRun) error {
	t.title("What the database holds")
	t.line("%s %8s %12s %8s %8s %8s %13s", pad("machine", 14), "records", "transitions", "refused", "effects", "retries", "dead letters")
	for i, m := range a.machines {
		f, err := measure(ctx, a, m)
		if err != nil {
			return err
		}
		t.line("%s %8d %12d %8d %8d %8d %13d", t.paint(bold, pad(f.machine, 14)), f.records, f.transitions, r.callers[i].Seen().Refused, f.delivered, f.retries, f.dead)
		t.line("               %s", t.paint(faint, f.line()))
	}
	if err := deadLetters(ctx, t, a); err != nil {
		return err
	}
	t.title("Is it sound")
	sound := true
	for _, check := range checks(a, r) {
		findings, err := check(ctx)
		if err != nil {
			return err
		}
		mark := t.paint(green, "ok")
		if findings.problems > 0 {
			mark, sound = t.paint(red, fmt.Sprintf("%d problems", findings.problems)), false
		}
		t.line("%s  %s", mark, findings.text)
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

// deadLetters lists what waits for a person.
func deadLetters(ctx context.Context, t *transcript, a *app) error {
	dead, err := a.engine.DeadLetters(ctx, engine.Filter{}, "", 0)
	if err != nil {
		return err
	}
	t.title("Dead letters, waiting for a person")
	for _, m := range dead {
		t.line("%s %s %s", t.paint(bold, pad(m.Machine, 14)), pad(m.Effect, 20), m.LastError)
	}
	return nil
}
