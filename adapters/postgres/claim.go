package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

const letterColumns = `message_id::text, machine, record_id, version, seq, effect, lane, delivery, work, payload, correlation, created_at,
	state, attempts, available_at, delivered_at, discarded_at, last_error, resolution, cancelled`

// Both statements find their rows in an index that holds nothing that is done,
// lock them, and change them by their keys. The keys go through arrays because
// the planner, which can't see the limit, would expect too many rows from a
// join and scan the table; row addresses (ctid) would be wrong for a row that
// another transaction changed after the snapshot.
const (
	// A row that is due and the head of its lane: nothing open before it. Rows
	// in the hands of another worker are skipped; one that it has just claimed
	// is not due any more when its lock is free.
	claimEffects = `WITH due AS (
		SELECT o.*
		FROM fsm_outbox AS o
		WHERE o.due_at <= $1 AND o.machine = ANY($2)
			AND NOT EXISTS (
				SELECT FROM fsm_outbox AS b
				WHERE b.open AND b.machine = o.machine AND b.record_id = o.record_id AND b.lane = o.lane
					AND (b.version, b.seq) < (o.version, o.seq)
					AND (NOT b.cancelled OR b.lease_until > $1))
		ORDER BY o.due_at, o.version, o.seq
		LIMIT $3
		FOR UPDATE SKIP LOCKED
	), claimed AS (
		UPDATE fsm_outbox
		SET state = 'delivering', attempts = attempts + 1, lease_token = $4, lease_until = $5, worker = $6
		WHERE message_id = ANY(ARRAY(SELECT message_id FROM due))
	)
	SELECT ` + letterColumns + ` FROM due`

	claimDeadlines = `WITH due AS (
		SELECT *
		FROM fsm_deadlines
		WHERE claim_at <= $1 AND machine = ANY($2)
		ORDER BY claim_at
		LIMIT $3
		FOR UPDATE SKIP LOCKED
	), claimed AS (
		UPDATE fsm_deadlines AS d
		SET lease_token = $4, lease_until = $5, worker = $6
		FROM unnest(ARRAY(SELECT machine FROM due), ARRAY(SELECT record_id FROM due), ARRAY(SELECT kind FROM due)) AS c (machine, record_id, kind)
		WHERE d.machine = c.machine AND d.record_id = c.record_id AND d.kind = c.kind
	)
	SELECT machine, record_id, kind, version, due_at, event, payload, correlation FROM due`
)

// Claim leases what is due, in one round trip.
func (s *Store) Claim(ctx context.Context, c engine.Claim) ([]engine.Task, error) {
	if err := s.current(ctx, s.pool); err != nil {
		return nil, err
	}
	b := &pgx.Batch{}
	if c.Effects > 0 {
		b.Queue(claimEffects, c.Now, c.Machines, c.Effects, c.Token.String(), c.Until, nullable(c.Worker))
	}
	if c.Deadlines > 0 {
		b.Queue(claimDeadlines, c.Now, c.Machines, c.Deadlines, c.Token.String(), c.Until, nullable(c.Worker))
	}
	if b.Len() == 0 {
		return nil, nil
	}
	results := s.pool.SendBatch(ctx, b) // one implicit transaction
	tasks, err := claimed(results, c)
	if closing := results.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, wrap("claim", err)
	}
	return tasks, nil
}

func claimed(results pgx.BatchResults, c engine.Claim) (tasks []engine.Task, err error) {
	if c.Effects > 0 {
		err = each(results, func(rows pgx.Rows) error {
			t := engine.Task{Kind: engine.TaskEffect, Token: c.Token}
			t.Effect, t.Err = scanLetter(rows)
			tasks = append(tasks, t)
			return nil
		})
		slices.SortFunc(tasks, func(a, b engine.Task) int {
			return cmp.Or(a.Effect.AvailableAt.V.Compare(b.Effect.AvailableAt.V), cmp.Compare(a.Effect.Version, b.Effect.Version), cmp.Compare(a.Effect.Seq, b.Effect.Seq))
		})
	}
	effects := len(tasks)
	if err == nil && c.Deadlines > 0 {
		err = each(results, func(rows pgx.Rows) error {
			t := engine.Task{Kind: engine.TaskDeadline, Token: c.Token}
			t.Deadline, t.Err = scanTimer(rows)
			tasks = append(tasks, t)
			return nil
		})
		slices.SortFunc(tasks[effects:], func(a, b engine.Task) int { return a.Deadline.DueAt.Compare(b.Deadline.DueAt) })
	}
	return tasks, err
}

// scanLetter reads letterColumns. What it could read is returned with the error.
func scanLetter(rows pgx.Rows) (r engine.OutboxRow, err error) {
	var payload []byte
	var seq int64
	var delivery string
	err = scan(rows, &r.MessageID, &r.Machine, &r.RecordID, &r.Version, &seq, &r.Effect, &r.Lane, &delivery, &r.Work,
		&payload, text{&r.Correlation}, instant(&r.CreatedAt), &r.State, &r.Attempts,
		optionalInstant(&r.AvailableAt), optionalInstant(&r.DeliveredAt), optionalInstant(&r.DiscardedAt),
		text{&r.LastError}, text{&r.Resolution}, &r.Cancelled)
	r.Payload, r.Seq, r.Delivery = payload, int(seq), fsm.Delivery(delivery)
	if err != nil {
		err = &engine.CorruptError{Machine: r.Machine, ID: r.RecordID, Err: fmt.Errorf("message %s: %w", r.MessageID, err)}
	}
	return r, err
}

func scanTimer(rows pgx.Rows) (r engine.TimerRow, err error) {
	var payload []byte
	var kind string
	err = scan(rows, &r.Machine, &r.RecordID, &kind, &r.Version, instant(&r.DueAt), &r.Event.Name, &payload, text{&r.Correlation})
	r.Event.Payload, r.Kind = payload, engine.TimerKind(kind)
	if err != nil {
		err = &engine.CorruptError{Machine: r.Machine, ID: r.RecordID, Err: fmt.Errorf("deadline: %w", err)}
	}
	return r, err
}
