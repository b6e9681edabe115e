package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// The heads of lanes that are due, of one machine; ?2 is now. The conditions
// that look redundant are those of the indices, word for word. The indices are
// named because statistics (ANALYZE) mislead the planner: of all rows many may
// be due, and yet the first of them is all that is looked for.
const dueHeads = ` AND coalesce(lease_until, available_at) <= ?2
		AND cancelled = 0 AND state IN ('pending', 'retry_wait', 'delivering')
		AND NOT EXISTS (
			SELECT 1 FROM fsm_outbox AS p INDEXED BY fsm_outbox_lane
			WHERE p.machine = o.machine AND p.record_id = o.record_id AND p.lane = o.lane AND (p.version, p.seq) < (o.version, o.seq)
				AND p.state <> 'delivered' AND (p.cancelled = 0 OR p.state = 'delivering')
				AND (p.cancelled = 0 OR p.lease_until > ?2)
				AND (p.state <> 'dead_letter' OR p.discarded_at IS NULL))`

// What is due of machine ?1, oldest first, at most ?3.
const (
	dueEffects = "SELECT " + outboxColumns + `
	FROM fsm_outbox AS o INDEXED BY fsm_outbox_due
	WHERE machine = ?1` + dueHeads + `
	ORDER BY coalesce(lease_until, available_at), version, seq
	LIMIT ?3`

	dueDeadlines = `SELECT machine, record_id, kind, version, due_at, event, payload, correlation
	FROM fsm_deadlines INDEXED BY fsm_deadlines_due
	WHERE machine = ?1 AND max(due_at, coalesce(lease_until, due_at)) <= ?2
	ORDER BY max(due_at, coalesce(lease_until, due_at))
	LIMIT ?3`
)

// Those of the machines in the list ?1 of which something is due.
const (
	machinesWithEffects = `SELECT m.value FROM json_each(?1) AS m
	WHERE (SELECT 1 FROM fsm_outbox AS o INDEXED BY fsm_outbox_due WHERE machine = m.value` + dueHeads + " LIMIT 1)"

	machinesWithDeadlines = `SELECT m.value FROM json_each(?1) AS m
	WHERE (SELECT 1 FROM fsm_deadlines INDEXED BY fsm_deadlines_due
		WHERE machine = m.value AND max(due_at, coalesce(lease_until, due_at)) <= ?2 LIMIT 1)`
)

const (
	leaseEffect = `UPDATE fsm_outbox
		SET state = 'delivering', attempts = attempts + 1, lease_token = ?, lease_until = ?, worker = ?
		WHERE message_id = ?`
	leaseDeadline = `UPDATE fsm_deadlines SET lease_token = ?, lease_until = ?, worker = ?
		WHERE machine = ? AND record_id = ? AND kind = ?`
)

// Claim leases due work. One transaction writes at a time, so two workers never
// see the same row as free.
func (s *Store) Claim(ctx context.Context, c engine.Claim) ([]engine.Task, error) {
	if err := s.current(ctx, s.readers); err != nil {
		return nil, err
	}
	// Looking costs no lock, so many idle workers are in nobody's way.
	effects, err := s.machinesWith(ctx, machinesWithEffects, c, c.Effects)
	if err != nil {
		return nil, wrap("claim", err)
	}
	deadlines, err := s.machinesWith(ctx, machinesWithDeadlines, c, c.Deadlines)
	if err != nil || len(effects)+len(deadlines) == 0 {
		return nil, wrap("claim", err)
	}
	var tasks []engine.Task
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		found, err := claimEffects(ctx, tx, c, effects)
		if err != nil {
			return err
		}
		tasks, err = claimDeadlines(ctx, tx, c, deadlines)
		tasks = append(found, tasks...)
		return err
	})
	if err != nil {
		return nil, wrap("claim", err)
	}
	return tasks, nil
}

// machinesWith returns the machines of which something is due, if any of it is
// asked for.
func (s *Store) machinesWith(ctx context.Context, query string, c engine.Claim, limit int) ([]string, error) {
	if limit <= 0 {
		return nil, nil
	}
	list, err := json.Marshal(c.Machines)
	if err != nil {
		return nil, err
	}
	return texts(ctx, s.readers, query, string(list), instant(c.Now))
}

// due is a task with what it is ordered by.
type due struct {
	engine.Task
	at time.Time
}

// find returns the oldest due rows of the machines.
func find(ctx context.Context, tx *sql.Tx, c engine.Claim, machines []string, limit int, query string, read func(*cells) due) ([]engine.Task, error) {
	var found []due
	for _, machine := range machines {
		err := each(ctx, tx, func(row *cells) { found = append(found, read(row)) }, query, machine, instant(c.Now), limit)
		if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(found, func(a, b due) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.Effect.Version, b.Effect.Version), cmp.Compare(a.Effect.Seq, b.Effect.Seq))
	})
	tasks := make([]engine.Task, min(limit, len(found)))
	for i := range tasks {
		tasks[i] = found[i].Task
		tasks[i].Token = c.Token
	}
	return tasks, nil
}

func claimEffects(ctx context.Context, tx *sql.Tx, c engine.Claim, machines []string) ([]engine.Task, error) {
	tasks, err := find(ctx, tx, c, machines, c.Effects, dueEffects, func(row *cells) due {
		r, err := readOutbox(row)
		return due{Task: engine.Task{Kind: engine.TaskEffect, Effect: r, Err: err}, at: r.AvailableAt.V}
	})
	if err != nil {
		return nil, err
	}
	for _, t := range tasks {
		if _, err := tx.ExecContext(ctx, leaseEffect, c.Token.String(), instant(c.Until), null(c.Worker), t.Effect.MessageID); err != nil {
			return nil, fmt.Errorf("lease %s: %w", t.Effect.MessageID, cause(ctx, err))
		}
	}
	return tasks, nil
}

func claimDeadlines(ctx context.Context, tx *sql.Tx, c engine.Claim, machines []string) ([]engine.Task, error) {
	tasks, err := find(ctx, tx, c, machines, c.Deadlines, dueDeadlines, func(row *cells) due {
		t := engine.TimerRow{
			Machine: row.text(), RecordID: row.text(), Kind: engine.TimerKind(row.text()), Version: row.int(), DueAt: row.time(),
			Event: fsm.Event{Name: row.text(), Payload: row.json()}, Correlation: row.text(),
		}
		d := due{Task: engine.Task{Kind: engine.TaskDeadline, Deadline: t}, at: t.DueAt}
		if row.err != nil {
			d.Err = &engine.CorruptError{Machine: t.Machine, ID: t.RecordID, Err: row.err}
		}
		return d
	})
	if err != nil {
		return nil, err
	}
	for _, t := range tasks {
		d := t.Deadline
		if _, err := tx.ExecContext(ctx, leaseDeadline, c.Token.String(), instant(c.Until), null(c.Worker), d.Machine, d.RecordID, string(d.Kind)); err != nil {
			return nil, fmt.Errorf("lease the deadline of %s %s: %w", d.Machine, d.RecordID, cause(ctx, err))
		}
	}
	return tasks, nil
}
