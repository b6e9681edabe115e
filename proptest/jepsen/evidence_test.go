//go:build unix

package jepsen_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"
)

// evidence is what the checker reads: the table, the database, the books of the
// outside world, the journals of the processes, and what befell these.
type evidence struct {
	table    table
	records  map[string]record
	history  []step    // by record and version
	messages []message // by record, version and place
	booked   []booked
	leases   []leased
	books    []booking      // of the outside world, as calls arrived
	calls    map[string]int // of the outside world, by what became of them
	begun    []call         // calls that a process was about to make
	fired    []fired        // the last word on each event of a loader
	spans    []span         // when processes could not act
	failures []string       // what went wrong with processes for no reason
	excused  *excuses
}

// excuses counts what would be wrong if no worker had been stopped.
type excuses struct{ n int }

type record struct {
	state   string
	version int64
}

type step struct {
	record, transition, from, event, to, payload string
	version                                      int64
}

type message struct {
	id, record, effect, destination, delivery, state, lastError string
	version                                                     int64
	seq                                                         int
	cancelled, discarded, resolved                              bool // resolved: an operator has decided on it
}

// booked is a row that a transaction effect wrote.
type booked struct {
	record, effect string
	version        int64
}

// leased is a lease of a message.
type leased struct {
	message, worker string
	at              time.Time
}

// collect reads everything.
func collect(t testing.TB, s stage, o *outside, processes []*process) evidence {
	t.Helper()
	e := evidence{table: readTable(t), records: map[string]record{}, excused: &excuses{}}
	e.books, e.calls = o.read()
	e.readDatabase(t, s.sql)
	last := map[string]int{}
	for _, p := range processes {
		e.spans = append(e.spans, p.spans...)
		e.failures = append(append(e.failures, p.failures...), p.races()...)
		for _, name := range p.names() {
			entries, err := readJournal(p.journal(name))
			must(t, err)
			for _, entry := range entries {
				e.add(entry, last)
			}
		}
	}
	return e
}

// add takes an entry of a journal; last is where each event of a loader stands.
func (e *evidence) add(n entry, last map[string]int) {
	if n.Call != nil {
		e.begun = append(e.begun, *n.Call)
	}
	if n.Fired == nil {
		return
	}
	if at, ok := last[n.Fired.Ref]; ok {
		e.fired[at] = *n.Fired
		return
	}
	last[n.Fired.Ref] = len(e.fired)
	e.fired = append(e.fired, *n.Fired)
}

func (e *evidence) readDatabase(t testing.TB, db *sql.DB) {
	t.Helper()
	read(t, db, "SELECT CAST(payment_id AS text), state, version FROM payment_records", func(scan scanner) {
		var id string
		var r record
		scan(&id, &r.state, &r.version)
		e.records[id] = r
	})
	read(t, db, `SELECT CAST(payment_id AS text), version, event_type, COALESCE(from_state, ''), to_state, transition, COALESCE(CAST(payload AS text), '')
		FROM payment_history ORDER BY payment_id, version`, func(scan scanner) {
		var h step
		scan(&h.record, &h.version, &h.event, &h.from, &h.to, &h.transition, &h.payload)
		e.history = append(e.history, h)
	})
	read(t, db, `SELECT CAST(message_id AS text), record_id, version, seq, effect, destination, delivery, state, cancelled, discarded_at IS NOT NULL, resolution IS NOT NULL, COALESCE(last_error, '')
		FROM fsm_outbox ORDER BY record_id, version, seq`, func(scan scanner) {
		var m message
		scan(&m.id, &m.record, &m.version, &m.seq, &m.effect, &m.destination, &m.delivery, &m.state, &m.cancelled, &m.discarded, &m.resolved, &m.lastError)
		e.messages = append(e.messages, m)
	})
	read(t, db, "SELECT record_id, version, effect FROM jepsen_ledger", func(scan scanner) {
		var b booked
		scan(&b.record, &b.version, &b.effect)
		e.booked = append(e.booked, b)
	})
	read(t, db, "SELECT message_id, worker, at FROM jepsen_leases", func(scan scanner) {
		var l leased
		var at int64
		scan(&l.message, &l.worker, &at)
		l.at = time.UnixMilli(at)
		e.leases = append(e.leases, l)
	})
}

type scanner func(into ...any)

// read hands each row of a query to f.
func read(t testing.TB, db *sql.DB, query string, f func(scanner)) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		f(func(into ...any) {
			t.Helper()
			must(t, rows.Scan(into...))
		})
	}
	must(t, rows.Err())
}

// openWork names what is still open, and returns everything that changes while
// there is progress. Nothing open is an empty text.
func openWork(ctx context.Context, db *sql.DB) (open, state string) {
	var found, all []string
	for _, q := range []struct{ what, where string }{
		{"message", `SELECT CAST(message_id AS text) || ' ' || effect || ' ' || state || ' of ' || record_id FROM fsm_outbox
			WHERE state <> 'delivered' AND NOT cancelled AND discarded_at IS NULL LIMIT 5`},
		{"deadline", "SELECT kind || ' of ' || record_id FROM fsm_deadlines LIMIT 5"},
		{"record", "SELECT CAST(payment_id AS text) || ' ' || state FROM payment_records WHERE state IN ('opened', 'reserved', 'paying', 'paid', 'sealing') LIMIT 5"},
	} {
		lines, err := texts(ctx, db, q.where)
		if err != nil {
			found = append(found, err.Error())
		}
		for _, l := range lines {
			found = append(found, q.what+" "+l)
		}
	}
	for _, q := range []string{
		"SELECT state || ' ' || CAST(count(*) AS text) || ' ' || CAST(sum(attempts) AS text) FROM fsm_outbox GROUP BY state ORDER BY state",
		"SELECT CAST(count(*) AS text) FROM payment_history",
		"SELECT CAST(count(*) AS text) FROM fsm_deadlines",
	} {
		lines, err := texts(ctx, db, q)
		all = append(append(all, fmt.Sprint(err)), lines...)
	}
	return strings.Join(found, "; "), strings.Join(all, "; ")
}

func texts(ctx context.Context, db *sql.DB, query string) (all []string, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}
