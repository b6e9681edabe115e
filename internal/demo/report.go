package main

import (
	"context"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/runtime/engine"
)

// report prints what has become of the records, and whether all of it is sound.
func report(ctx context.Context, t *transcript, st *stage, d *director) error {
	t.title("What the database holds")
	t.line("%s %8s %12s %8s %8s %8s %13s", pad("machine", 14), "records", "transitions", "refused", "effects", "retries", "dead letters")
	for i, role := range st.cast {
		f, err := measure(ctx, st, role)
		if err != nil {
			return err
		}
		t.line("%s %8d %12d %8d %8d %8d %13d", t.paint(bold, pad(f.machine, 14)), f.records, f.transitions, d.customers[i].seen().refused, f.delivered, f.retries, f.dead)
		t.line("               %s", t.paint(faint, f.line()))
	}
	if err := deadLetters(ctx, t, st); err != nil {
		return err
	}
	t.title("Is it sound")
	sound := true
	for _, check := range checks(st, d) {
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
	t.line("%s   (log: %s)", t.paint(bold, st.database()), st.logFile())
	t.line(`sqlite3 %s "SELECT version, from_status, event_type, to_status, actor_role FROM deal_events WHERE deal_id LIKE '%%03' ORDER BY version"`, st.database())
	t.line(`sqlite3 %s "SELECT machine, effect, state, attempts, last_error FROM fsm_outbox WHERE attempts > 1 OR state = 'dead_letter'"`, st.database())
	if !sound {
		return fmt.Errorf("the records are not sound: see %s", st.database())
	}
	t.ended("The durable act took %s.", time.Since(d.began).Round(100*time.Millisecond))
	return nil
}

// deadLetters lists what waits for a person.
func deadLetters(ctx context.Context, t *transcript, st *stage) error {
	letters, err := st.engine.DeadLetters(ctx, engine.Filter{}, "", 0)
	if err != nil {
		return err
	}
	t.title("Dead letters, waiting for a person")
	for _, l := range letters {
		t.line("%s %s %s", t.paint(bold, pad(l.Machine, 14)), pad(l.Effect, 20), l.LastError)
	}
	return nil
}
