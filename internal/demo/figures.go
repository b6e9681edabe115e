package main

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/engine"
)

// unfinished selects rows o of the outbox that a worker may still carry out.
const unfinished = `o.cancelled = 0 AND o.state IN ('pending', 'retry_wait', 'delivering') AND NOT ` + keptBack

// keptBack selects rows o of the outbox that stand behind a dead letter.
const keptBack = `EXISTS (SELECT 1 FROM fsm_outbox d WHERE d.machine = o.machine AND d.record_id = o.record_id AND d.destination = o.destination
	AND (d.version, d.seq) < (o.version, o.seq) AND d.state = 'dead_letter' AND d.cancelled = 0 AND d.discarded_at IS NULL)`

// figures are one row of the end table.
type figures struct {
	machine                                        string
	states                                         []tally // in the order of the spec, without empty ones
	records, transitions, delivered, retries, dead int
}

// tally is how many records are in a state.
type tally struct {
	state string
	n     int
}

// measure counts what the database holds of a machine.
func measure(ctx context.Context, a *app, m engine.Machine[*sql.Tx]) (figures, error) {
	t := m.Tables()
	f := figures{machine: m.Name()}
	counts := map[string]int{}
	err := a.rows(ctx, func(r *sql.Rows) error {
		var state string
		var n int
		err := r.Scan(&state, &n)
		counts[state] = n
		f.records += n
		return err
	}, fmt.Sprintf(`SELECT "%s", count(*) FROM "%s" GROUP BY 1`, t.State, t.Record))
	if err != nil {
		return f, err
	}
	for _, state := range m.States() {
		if counts[state] > 0 {
			f.states = append(f.states, tally{state, counts[state]})
		}
	}
	const outbox = `SELECT count(*) FILTER (WHERE state = 'delivered'), coalesce(sum(attempts - 1) FILTER (WHERE attempts > 1), 0),
		count(*) FILTER (WHERE state = 'dead_letter' AND cancelled = 0) FROM fsm_outbox WHERE machine = ?`
	err = a.rows(ctx, func(r *sql.Rows) error { return r.Scan(&f.delivered, &f.retries, &f.dead) }, outbox, m.Name())
	if err != nil {
		return f, err
	}
	f.transitions, err = a.number(ctx, fmt.Sprintf(`SELECT count(*) FROM "%s"`, t.History))
	return f, err
}

// line writes the states of f.
func (f figures) line() string {
	var words []string
	for _, s := range f.states {
		words = append(words, fmt.Sprintf("%d %s", s.n, s.state))
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
