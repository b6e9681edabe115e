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

// dueOf finds the messages of a destination that are due at time ?2 and not parked. Its two lists
// are the effects and the states that the worker knows. Suspects and other messages are found
// separately.
//
// The conditions that seem redundant repeat those of the index, which SQLite requires. INDEXED BY
// names the index because statistics (ANALYZE) mislead the planner: many rows may be due, but only
// the first ones are wanted.
//
// Here and in cancelWork there is a plus before each parameter. If there are statistics, SQLite
// plans a statement again when a parameter changes that it compares with an indexed column. That
// took a quarter of a worker's time. With the plus it compares with an expression, and does not.
const dueOf = ` AND coalesce(lease_until, available_at) <= +?2
		AND parked = 0 AND cancelled = 0 AND state IN ('pending', 'retry_wait', 'delivering')
		AND effect IN (SELECT value FROM json_each(%s)) AND (record_state IS NULL OR record_state IN (SELECT value FROM json_each(%s)))`

// overdueOf finds the deadlines that are due at time ?2. Its lists are events and states.
const overdueOf = `max(due_at, coalesce(lease_until, due_at)) <= +?2
		AND event IN (SELECT value FROM json_each(%s)) AND (record_state IS NULL OR record_state IN (SELECT value FROM json_each(%s)))`

// before finds the open messages before o with the same ordering key.
const before = `SELECT 1 FROM fsm_outbox AS p INDEXED BY fsm_outbox_ordering_key
			WHERE p.machine = o.machine AND p.record_id = o.record_id AND p.destination = o.destination AND (p.version, p.seq) < (o.version, o.seq)
				AND p.state <> 'delivered' AND (p.cancelled = 0 OR p.state = 'delivering')`

var (
	// dueEffects returns at most ?3 messages of destination ?5 of machine ?1 with the effects ?4
	// and the states ?7, oldest first: suspects if ?6, else the others. For each it returns whether
	// an open message before it is not cancelled, and whether a cancelled one is still leased.
	dueEffects = "SELECT " + outboxColumns + `, coalesce(lease_until, available_at),
		EXISTS (` + before + ` AND p.cancelled = 0 AND (p.state <> 'dead_letter' OR p.discarded_at IS NULL)),
		EXISTS (` + before + ` AND p.cancelled = 1 AND p.lease_until > ?2)
	FROM fsm_outbox AS o INDEXED BY fsm_outbox_due
	WHERE machine = +?1 AND destination = +?5 AND (state = 'delivering' AND cut > 0) = +?6` + fmt.Sprintf(dueOf, "?4", "?7") + `
	ORDER BY coalesce(lease_until, available_at), version, seq
	LIMIT ?3`

	// destinationsWithEffects returns the indices in the list ?1 of places with a due message.
	destinationsWithEffects = `SELECT l.key FROM json_each(?1) AS l
	WHERE EXISTS (SELECT 1 FROM fsm_outbox INDEXED BY fsm_outbox_due
		WHERE machine = l.value ->> 'Machine' AND destination = l.value ->> 'Name'
			AND (state = 'delivering' AND cut > 0) = (l.value ->> 'Suspects')` + fmt.Sprintf(dueOf, "l.value, '$.Effects'", "l.value, '$.States'") + `)`

	// dueDeadlines returns at most ?3 deadlines of machine ?1 with the events ?4 and the states ?5,
	// oldest first.
	dueDeadlines = `SELECT machine, record_id, kind, version, due_at, event, payload, record_state, correlation, max(due_at, coalesce(lease_until, due_at))
	FROM fsm_deadlines INDEXED BY fsm_deadlines_due
	WHERE machine = +?1 AND ` + fmt.Sprintf(overdueOf, "?4", "?5") + `
	ORDER BY max(due_at, coalesce(lease_until, due_at))
	LIMIT ?3`

	// machinesWithDeadlines returns the indices in the list ?1 of machines with a due deadline.
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

// Claim implements store.Store. Since one transaction writes at a time, two workers never claim the
// same row. A claim that finds nothing takes no lock.
func (s *Store) Claim(ctx context.Context, c store.Claim) ([]store.Task, error) {
	if err := s.current(ctx, s.readers); err != nil {
		return nil, err
	}
	if c.Again {
		return s.claimedBefore(ctx, c)
	}
	// These reads take no lock, so idle workers do not block others.
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

// The statements of a repeated claim. Rows with a token are leased, so they are in the index of
// rows that are due or leased.
const (
	selectClaimed = "SELECT " + outboxColumns + ` FROM fsm_outbox INDEXED BY fsm_outbox_due
		WHERE cancelled = 0 AND parked = 0 AND state IN ('pending', 'retry_wait', 'delivering') AND lease_token = ?`
	prolong = "UPDATE fsm_outbox SET lease_until = ? WHERE lease_token = ? AND message_id = ?"
)

// claimedBefore returns the messages that an earlier claim with this token leased, and renews their
// leases.
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

// dueAmong returns the elements of the list with due work. It returns none if the limit is 0.
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

// due is a task that can be claimed. since is when it became claimable: earlier ones are claimed
// first. at is its own time, by which a claim orders its tasks.
type due struct {
	store.Task
	since, at time.Time
}

// oldest returns the tasks that have been claimable for the longest time, at most limit, ordered
// by their own time.
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

// jsonList returns names as a JSON array for json_each.
func jsonList(names []string) string {
	text, _ := json.Marshal(names) // strings never fail
	return string(text)
}
