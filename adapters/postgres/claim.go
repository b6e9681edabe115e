package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

const messageColumns = `message_id::text, machine, record_id, version, seq, effect, destination, delivery, work, payload, record_state, correlation, created_at,
	state, attempts, cut, available_at, delivered_at, discarded_at, last_error, resolution, cancelled`

// Both statements find their rows in an index that holds nothing that is done,
// lock them, and change them by their keys. The keys go through arrays because
// the planner, which can't see the limit, would expect too many rows from a
// join and scan the table; row addresses (ctid) would be wrong for a row that
// another transaction changed after the snapshot.
const (
	// Of each destination the oldest due rows are looked at: suspects and the rest have
	// a place each. Rows that another worker is claiming are skipped; one that it has just
	// claimed is not due any more when its lock is free.
	//
	// Rows are locked one by one until there are as many as depth. The limit that is
	// a number is for the planner: without it a destination with many rows seems so
	// expensive that the server compiles the statement (jit), which takes longer than to
	// run it.
	//
	// A row with nothing open before it is a head and is claimed. Any other is
	// parked, if there is a row before it that can be locked and is open and not
	// cancelled under that lock: a transaction that closes that row waits for this
	// transaction, and then finds the parked row (see migration 0005). The locks
	// come before the claims, since a row that this statement has changed can't be
	// locked by it.
	claimEffects = `WITH due AS MATERIALIZED (
		SELECT o.*, l.place, l.most, l.suspects, NOT EXISTS (
				SELECT FROM fsm_outbox AS b
				WHERE b.open AND b.machine = o.machine AND b.record_id = o.record_id AND b.destination = o.destination
					AND (b.version, b.seq) < (o.version, o.seq)
					AND (NOT b.cancelled OR b.lease_until > $1)) AS head
		FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::boolean[], $7::bigint[], $8::bigint[])
			WITH ORDINALITY AS l (machine, destination, effects, states, suspects, most, depth, place)
		CROSS JOIN LATERAL (
			SELECT *
			FROM (
				SELECT *
				FROM fsm_outbox AS d
				WHERE d.machine = l.machine AND d.destination = l.destination AND (d.state = 'delivering' AND d.cut > 0) = l.suspects
					AND d.due_at <= $1 AND NOT d.parked AND d.effect = ANY(l.effects::text[])
					AND (d.record_state IS NULL OR d.record_state = ANY(l.states::text[]))
				ORDER BY d.due_at, d.version, d.seq
				LIMIT 2000 -- deepest
				FOR UPDATE SKIP LOCKED
			) AS d
			LIMIT l.depth
		) AS o
	), heads AS MATERIALIZED (
		SELECT message_id
		FROM (
			SELECT *, row_number() OVER (PARTITION BY machine, destination ORDER BY due_at, version, seq) AS nth
			FROM (SELECT *, row_number() OVER (PARTITION BY suspects ORDER BY due_at, version, seq) AS turn FROM due WHERE head) AS h
			WHERE NOT suspects OR turn <= $9
		) AS h
		WHERE nth <= most
		ORDER BY due_at, version, seq
		LIMIT $10
	), waiting AS MATERIALIZED (
		SELECT o.message_id
		FROM due AS o
		CROSS JOIN LATERAL (
			SELECT FROM fsm_outbox AS b
			WHERE b.open AND NOT b.cancelled AND b.machine = o.machine AND b.record_id = o.record_id AND b.destination = o.destination
				AND (b.version, b.seq) < (o.version, o.seq)
			ORDER BY b.version, b.seq
			LIMIT 1
			FOR SHARE SKIP LOCKED
		) AS b
		WHERE NOT o.head
	), parked AS (
		UPDATE fsm_outbox SET parked = true
		WHERE message_id = ANY(ARRAY(SELECT message_id FROM waiting))
	), claimed AS (
		UPDATE fsm_outbox
		SET state = 'delivering', attempts = attempts + 1, cut = cut + (state = 'delivering')::integer,
			lease_token = $11, lease_until = $12, worker = $13
		WHERE message_id = ANY(ARRAY(SELECT message_id FROM heads)) AND (SELECT count(*) FROM waiting) >= 0
	)
	SELECT ` + messageColumns + `, place, message_id IN (SELECT message_id FROM heads), message_id IN (SELECT message_id FROM waiting) FROM due`

	// What carries a token is among the rows that some worker holds.
	claimedBefore = `UPDATE fsm_outbox SET lease_until = $2
		WHERE message_id = ANY(ARRAY(
			SELECT message_id FROM fsm_outbox WHERE due_at IS NOT NULL AND NOT parked AND lease_token = $1))
		RETURNING ` + messageColumns

	claimDeadlines = `WITH due AS (
		SELECT *
		FROM fsm_deadlines
		WHERE claim_at <= $1 AND ((machine, event) IN (SELECT * FROM unnest($2::text[], $3::text[]))) IS TRUE
			AND (record_state IS NULL OR (machine, record_state) IN (SELECT * FROM unnest($4::text[], $5::text[])))
		ORDER BY claim_at
		LIMIT $6
		FOR UPDATE SKIP LOCKED
	), claimed AS (
		UPDATE fsm_deadlines AS d
		SET lease_token = $7, lease_until = $8, worker = $9
		FROM unnest(ARRAY(SELECT machine FROM due), ARRAY(SELECT record_id FROM due), ARRAY(SELECT kind FROM due)) AS c (machine, record_id, kind)
		WHERE d.machine = c.machine AND d.record_id = c.record_id AND d.kind = c.kind
	)
	SELECT machine, record_id, kind, version, due_at, event, payload, record_state, correlation FROM due`
)

// Claim implements store.Store. It takes one round trip, and further ones only while all messages
// that it reads wait behind others.
func (s *Store) Claim(ctx context.Context, c store.Claim) ([]store.Task, error) {
	if err := s.current(ctx, s.pool); err != nil {
		return nil, err
	}
	if c.Again {
		return s.claimedBefore(ctx, c)
	}
	found := newSearch(c)
	for {
		b := &pgx.Batch{}
		found.queue(b)
		if b.Len() == 0 {
			return found.tasks, nil
		}
		results := s.pool.SendBatch(ctx, b) // one implicit transaction
		err := found.read(results)
		if closing := results.Close(); err == nil {
			err = closing
		}
		if err != nil {
			return nil, wrap("claim", err)
		}
		if len(found.tasks) > 0 {
			if len(found.destinations) > 0 {
				s.listener.wakeAll() // for the rest
			}
			return found.tasks, nil
		}
	}
}

// claimedBefore returns what an earlier claim with this token was granted.
func (s *Store) claimedBefore(ctx context.Context, c store.Claim) (tasks []store.Task, err error) {
	rows, err := s.pool.Query(ctx, claimedBefore, c.Token.String(), c.Until)
	err = scanAll(rows, err, func(rows pgx.Rows) error {
		t := store.Task{Kind: store.TaskEffect, Token: c.Token}
		t.Effect, t.Err = scanMessage(rows)
		t.Effect.MessageState = t.Effect.BeforeClaim()
		tasks = append(tasks, t)
		return nil
	})
	return tasks, wrap("claim", err)
}

// scanMessage reads messageColumns, and more. What it could read is returned with the
// error.
func scanMessage(rows pgx.Rows, more ...any) (r store.OutboxMessage, err error) {
	var payload []byte
	var seq int64
	var delivery string
	err = scan(rows, append([]any{&r.MessageID, &r.Machine, &r.RecordID, &r.Version, &seq, &r.Effect, &r.Destination, &delivery, &r.Work,
		&payload, text{&r.RecordState}, text{&r.Correlation}, instant(&r.CreatedAt), &r.State, &r.Attempts, &r.Cut,
		optionalInstant(&r.AvailableAt), optionalInstant(&r.DeliveredAt), optionalInstant(&r.DiscardedAt),
		text{&r.LastError}, text{&r.Resolution}, &r.Cancelled}, more...)...)
	r.Payload, r.Seq, r.Delivery = payload, int(seq), fsm.Delivery(delivery)
	if err != nil {
		err = &store.CorruptError{Machine: r.Machine, ID: r.RecordID, Err: fmt.Errorf("message %s: %w", r.MessageID, err)}
	}
	return r, err
}

func scanDeadline(rows pgx.Rows) (r store.Deadline, err error) {
	var payload []byte
	var kind string
	err = scan(rows, &r.Machine, &r.RecordID, &kind, &r.Version, instant(&r.DueAt), &r.Event.Name, &payload, text{&r.RecordState}, text{&r.Correlation})
	r.Event.Payload, r.Kind = payload, store.DeadlineKind(kind)
	if err != nil {
		err = &store.CorruptError{Machine: r.Machine, ID: r.RecordID, Err: fmt.Errorf("deadline: %w", err)}
	}
	return r, err
}
