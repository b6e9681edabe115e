package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// The messages of a destination that are due and not parked. ?2 is now. Suspects and the
// rest are found separately.
// The conditions that look redundant are those of the indices, word for word. The
// indices are named because statistics (ANALYZE) mislead the planner: of all rows
// many may be due, and yet the first of them is all that is looked for.
// The two lists are those of the effects and of the states that the worker knows.
//
// Here and in cancelWork parameters stand behind a plus. Where statistics are there, SQLite
// plans a statement again whenever a parameter changes that it compares an indexed column
// with, which took a quarter of a worker's time. An expression is not looked into.
const dueOf = ` AND coalesce(lease_until, available_at) <= +?2
		AND parked = 0 AND cancelled = 0 AND state IN ('pending', 'retry_wait', 'delivering')
		AND effect IN (SELECT value FROM json_each(%s)) AND (record_state IS NULL OR record_state IN (SELECT value FROM json_each(%s)))`

// The same of deadlines: the lists are those of events and of states.
const overdueOf = `max(due_at, coalesce(lease_until, due_at)) <= +?2
		AND event IN (SELECT value FROM json_each(%s)) AND (record_state IS NULL OR record_state IN (SELECT value FROM json_each(%s)))`

// An open message before o of the same ordering key.
const before = `SELECT 1 FROM fsm_outbox AS p INDEXED BY fsm_outbox_ordering_key
			WHERE p.machine = o.machine AND p.record_id = o.record_id AND p.destination = o.destination AND (p.version, p.seq) < (o.version, o.seq)
				AND p.state <> 'delivered' AND (p.cancelled = 0 OR p.state = 'delivering')`

var (
	// dueEffects are at most ?3 messages of destination ?5 of machine ?1, oldest first: suspects
	// or the rest, as ?6 says, with the effects ?4 and the states ?7; and for each whether
	// a row before it is open and not cancelled, and whether a cancelled one is under way.
	dueEffects = "SELECT " + outboxColumns + `, coalesce(lease_until, available_at),
		EXISTS (` + before + ` AND p.cancelled = 0 AND (p.state <> 'dead_letter' OR p.discarded_at IS NULL)),
		EXISTS (` + before + ` AND p.cancelled = 1 AND p.lease_until > ?2)
	FROM fsm_outbox AS o INDEXED BY fsm_outbox_due
	WHERE machine = +?1 AND destination = +?5 AND (state = 'delivering' AND cut > 0) = +?6` + fmt.Sprintf(dueOf, "?4", "?7") + `
	ORDER BY coalesce(lease_until, available_at), version, seq
	LIMIT ?3`

	// The places, in the list ?1, of the destinations with a due message.
	destinationsWithEffects = `SELECT l.key FROM json_each(?1) AS l
	WHERE EXISTS (SELECT 1 FROM fsm_outbox INDEXED BY fsm_outbox_due
		WHERE machine = l.value ->> 'Machine' AND destination = l.value ->> 'Name'
			AND (state = 'delivering' AND cut > 0) = (l.value ->> 'Suspects')` + fmt.Sprintf(dueOf, "l.value, '$.Effects'", "l.value, '$.States'") + `)`

	// dueDeadlines are at most ?3 deadlines of machine ?1, oldest first, of the
	// events ?4 and the states ?5.
	dueDeadlines = `SELECT machine, record_id, kind, version, due_at, event, payload, record_state, correlation, max(due_at, coalesce(lease_until, due_at))
	FROM fsm_deadlines INDEXED BY fsm_deadlines_due
	WHERE machine = +?1 AND ` + fmt.Sprintf(overdueOf, "?4", "?5") + `
	ORDER BY max(due_at, coalesce(lease_until, due_at))
	LIMIT ?3`

	// The places, in the list ?1, of the machines of which something is due.
	machinesWithDeadlines = `SELECT m.key FROM json_each(?1) AS m
	WHERE EXISTS (SELECT 1 FROM fsm_deadlines INDEXED BY fsm_deadlines_due
		WHERE machine = m.value ->> 'Machine' AND ` + fmt.Sprintf(overdueOf, "m.value, '$.Names'", "m.value, '$.States'") + `)`
)

const (
	leaseEffect = `UPDATE fsm_outbox
		SET state = 'delivering', attempts = attempts + 1, cut = cut + (state = 'delivering'), lease_token = ?, lease_until = ?, worker = ?
		WHERE message_id = ?`
	park          = "UPDATE fsm_outbox SET parked = 1 WHERE message_id = ?"
	leaseDeadline = `UPDATE fsm_deadlines SET lease_token = ?, lease_until = ?, worker = ?
		WHERE machine = ? AND record_id = ? AND kind = ?`
)

// Claim leases due work. One transaction writes at a time, so two workers never see the same row
// as free.
func (s *Store) Claim(ctx context.Context, c store.Claim) ([]store.Task, error) {
	if err := s.current(ctx, s.readers); err != nil {
		return nil, err
	}
	if c.Again {
		return s.claimedBefore(ctx, c)
	}
	// Looking takes no lock, so idle workers do not block others.
	destinations, err := dueAmong(ctx, s.readers, destinationsWithEffects, c, c.Effects, places(c))
	if err != nil {
		return nil, wrap("claim", err)
	}
	events, err := dueAmong(ctx, s.readers, machinesWithDeadlines, c, c.Deadlines, c.Events)
	if err != nil {
		return nil, wrap("claim", err)
	}
	found := newSearch(c, destinations)
	for len(found.destinations)+len(events) > 0 {
		var tasks []store.Task
		err := s.inTx(ctx, func(tx *sql.Tx) error {
			effects, err := found.claim(ctx, tx)
			if err != nil {
				return err
			}
			tasks, err = claimDeadlines(ctx, tx, c, events)
			tasks = append(effects, tasks...)
			return err
		})
		if err != nil {
			return nil, wrap("claim", err)
		}
		events = nil
		if len(tasks) > 0 {
			if len(found.destinations) > 0 {
				s.tell() // there may be more
			}
			return tasks, nil
		}
	}
	return nil, nil
}

// What carries a token is among the rows that some worker holds.
const (
	selectClaimed = "SELECT " + outboxColumns + ` FROM fsm_outbox INDEXED BY fsm_outbox_due
		WHERE cancelled = 0 AND parked = 0 AND state IN ('pending', 'retry_wait', 'delivering') AND lease_token = ?`
	prolong = "UPDATE fsm_outbox SET lease_until = ? WHERE lease_token = ? AND message_id = ?"
)

// claimedBefore returns what an earlier claim with this token was granted.
func (s *Store) claimedBefore(ctx context.Context, c store.Claim) (tasks []store.Task, err error) {
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		err := each(ctx, tx, func(row *cells) {
			t := store.Task{Kind: store.TaskEffect, Token: c.Token}
			t.Effect, t.Err = readOutbox(row)
			t.Effect.MessageState = t.Effect.BeforeClaim()
			tasks = append(tasks, t)
		}, selectClaimed, c.Token.String())
		for _, t := range tasks {
			if err == nil {
				_, err = tx.ExecContext(ctx, prolong, instant(c.Until), c.Token.String(), t.Effect.MessageID)
			}
		}
		return err
	})
	return tasks, wrap("claim", err)
}

// dueAmong returns those of the list of which something is due, if any of it is asked
// for.
func dueAmong[T any](ctx context.Context, q querier, query string, c store.Claim, limit int, list []T) (found []T, err error) {
	if limit <= 0 || len(list) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	err = each(ctx, q, func(row *cells) { found = append(found, list[row.int()]) }, query, string(text), instant(c.Now))
	return found, err
}

// due is a task with when a worker could claim it, which decides what is claimed
// first, and with what the claimed ones are ordered by.
type due struct {
	store.Task
	since, at time.Time
}

// oldest returns those that are due for the longest time, oldest first.
func oldest(found []due, limit int, token fsm.UUID) []store.Task {
	sort := func(by func(due) time.Time) {
		slices.SortStableFunc(found, func(a, b due) int {
			return cmp.Or(by(a).Compare(by(b)), cmp.Compare(a.Effect.Version, b.Effect.Version), cmp.Compare(a.Effect.Seq, b.Effect.Seq))
		})
	}
	sort(func(d due) time.Time { return d.since })
	found = found[:min(limit, len(found))]
	sort(func(d due) time.Time { return d.at })
	tasks := make([]store.Task, len(found))
	for i := range tasks {
		tasks[i] = found[i].Task
		tasks[i].Token = token
	}
	return tasks
}

func claimDeadlines(ctx context.Context, tx *sql.Tx, c store.Claim, events []store.Events) ([]store.Task, error) {
	var found []due
	for _, e := range events {
		err := each(ctx, tx, func(row *cells) { found = append(found, readDue(row)) }, dueDeadlines, e.Machine, instant(c.Now), c.Deadlines, jsonList(e.Names), jsonList(e.States))
		if err != nil {
			return nil, err
		}
	}
	tasks := oldest(found, c.Deadlines, c.Token)
	for _, t := range tasks {
		d := t.Deadline
		if _, err := tx.ExecContext(ctx, leaseDeadline, c.Token.String(), instant(c.Until), null(c.Worker), d.Machine, d.RecordID, string(d.Kind)); err != nil {
			return nil, fmt.Errorf("lease the deadline of %s %s: %w", d.Machine, d.RecordID, cause(ctx, err))
		}
	}
	return tasks, nil
}

// readDue reads a row of dueDeadlines.
func readDue(row *cells) due {
	t := store.Deadline{
		Machine: row.text(), RecordID: row.text(), Kind: store.DeadlineKind(row.text()), Version: row.int(), DueAt: row.time(),
		Event: fsm.Event{Name: row.text(), Payload: row.json()}, RecordState: row.text(), Correlation: row.text(),
	}
	d := due{Task: store.Task{Kind: store.TaskDeadline, Deadline: t}, since: row.time(), at: t.DueAt}
	if row.err != nil {
		d.Err = &store.CorruptError{Machine: t.Machine, ID: t.RecordID, Err: row.err}
	}
	return d
}

// jsonList is a list of names as json_each reads it.
func jsonList(names []string) string {
	text, _ := json.Marshal(names) // strings never fail
	return string(text)
}
