package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// Settle implements store.Store.
func (s *Store) Settle(ctx context.Context, tx pgx.Tx, done store.Settlement) error {
	p := &pipeline{}
	if done.ShortLockWait {
		p.add(subject{commit: &store.Commit{Machine: done.Machine, ID: done.RecordID}}, shortLocks, shortLockWait)
	}
	c := &store.Commit{Machine: done.Machine, ID: done.RecordID, Task: &done}
	p.tasks([]*store.Commit{c})
	if err := p.send(tx.SendBatch(ctx, &p.batch)); err != nil {
		return err
	}
	if own, ok := tx.(*transaction); ok {
		own.work = own.work || p.work
	}
	return nil
}

const (
	updateMessage = `UPDATE fsm_outbox SET state = $3, attempts = $4, available_at = $5, delivered_at = $6, discarded_at = $7,
		last_error = $8, resolution = $9, lease_token = NULL, lease_until = NULL, worker = NULL`

	// The worker that holds the row ends its task.
	settleEffect = `WITH r AS (` + updateMessage + ` WHERE message_id = $1 AND state = 'delivering' AND lease_token = $2 RETURNING 1)
		SELECT fsm_lease_lost($1::text) WHERE NOT EXISTS (SELECT FROM r)`

	// An operator decides about a message that is not leased and is in state $2.
	settleByHand = `WITH r AS (` + updateMessage + `, cut = $10 WHERE message_id = $1 AND state = $2 AND lease_token IS NULL AND NOT cancelled RETURNING 1)
		SELECT fsm_letter_moved($1::text) WHERE NOT EXISTS (SELECT FROM r)`

	renewEffect = `WITH r AS (UPDATE fsm_outbox SET lease_until = $3 WHERE message_id = $1 AND state = 'delivering' AND lease_token = $2
			AND (NOT cancelled OR lease_until > $4) RETURNING 1)
		SELECT fsm_lease_lost($1::text) WHERE NOT EXISTS (SELECT FROM r)`

	settleDeadline = `WITH r AS (DELETE FROM fsm_deadlines WHERE machine = $1 AND record_id = $2 AND kind = $3 AND lease_token = $4 RETURNING 1)
		SELECT fsm_lease_lost($1::text || ' ' || $2::text) WHERE NOT EXISTS (SELECT FROM r)`

	renewDeadline = `WITH r AS (UPDATE fsm_deadlines SET lease_until = $5 WHERE machine = $1 AND record_id = $2 AND kind = $3 AND lease_token = $4 RETURNING 1)
		SELECT fsm_lease_lost($1::text || ' ' || $2::text) WHERE NOT EXISTS (SELECT FROM r)`
)

// settleEffects is settleEffect for several rows: one that is not held by its
// token fails them all. A row that carries a token is delivering, as a CHECK
// says; to ask for that too would make the planner, which has seen few such
// rows, compare each with each. The LIMIT is that of arraysText.
const settleEffects = `WITH s AS (
		SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::bigint[], $5::timestamptz[], $6::timestamptz[], $7::timestamptz[], $8::text[], $9::text[])
			AS s (message_id, token, state, attempts, available_at, delivered_at, discarded_at, last_error, resolution)
		LIMIT cardinality($1::uuid[])
	), r AS (
		UPDATE fsm_outbox AS o SET state = s.state, attempts = s.attempts, available_at = s.available_at, delivered_at = s.delivered_at,
			discarded_at = s.discarded_at, last_error = s.last_error, resolution = s.resolution, lease_token = NULL, lease_until = NULL, worker = NULL
		FROM s
		WHERE o.message_id = s.message_id AND o.lease_token = s.token
		RETURNING o.message_id
	)
	SELECT fsm_lease_lost(s.message_id::text) FROM s WHERE s.message_id NOT IN (SELECT message_id FROM r)`

// tasks queues the settlements of a wave.
func (p *pipeline) tasks(wave []*store.Commit) {
	var effects []*store.Commit
	for _, c := range wave {
		switch {
		case c.Task == nil:
		case c.Task.Kind == store.TaskEffect && c.Task.Renew.IsZero() && c.Task.Token != (fsm.UUID{}):
			effects = append(effects, c)
		default:
			p.settle(subject{commit: c}, *c.Task)
		}
	}
	switch len(effects) {
	case 0:
	case 1:
		p.settle(subject{commit: effects[0]}, *effects[0].Task)
	default:
		p.settleAll(effects)
	}
}

// settleAll ends the tasks of effects that this worker holds.
func (p *pipeline) settleAll(of []*store.Commit) {
	p.work = true
	p.add(subject{commit: of[0]}, settleEffects,
		column(of, func(c *store.Commit) string { return c.Task.MessageID }),
		column(of, func(c *store.Commit) string { return c.Task.Token.String() }),
		column(of, func(c *store.Commit) string { return c.Task.MessageState.State }),
		column(of, func(c *store.Commit) int64 { return c.Task.MessageState.Attempts }),
		column(of, func(c *store.Commit) any { return nullableInstant(c.Task.MessageState.AvailableAt) }),
		column(of, func(c *store.Commit) any { return nullableInstant(c.Task.MessageState.DeliveredAt) }),
		column(of, func(c *store.Commit) any { return nullableInstant(c.Task.MessageState.DiscardedAt) }),
		column(of, func(c *store.Commit) any { return nullable(c.Task.MessageState.LastError) }),
		column(of, func(c *store.Commit) any { return nullable(c.Task.MessageState.Resolution) }))
}

func (p *pipeline) settle(about subject, t store.Settlement) {
	renew := !t.Renew.IsZero()
	if t.Kind == store.TaskDeadline {
		args := []any{t.Machine, t.RecordID, string(t.Deadline), t.Token.String()}
		if renew {
			p.add(about, renewDeadline, append(args, t.Renew)...)
			return
		}
		p.add(about, settleDeadline, args...)
		return
	}
	if renew {
		p.add(about, renewEffect, t.MessageID, t.Token.String(), t.Renew, t.Now)
		return
	}
	l := t.MessageState
	args := []any{t.MessageID, t.Token.String(), l.State, l.Attempts, nullableInstant(l.AvailableAt), nullableInstant(l.DeliveredAt),
		nullableInstant(l.DiscardedAt), nullable(l.LastError), nullable(l.Resolution)}
	if t.Token == (fsm.UUID{}) {
		args[1] = t.From
		p.add(about, settleByHand, append(args, l.Cut)...)
	} else {
		p.add(about, settleEffect, args...)
	}
	// The next message of the ordering key may be due.
	p.work = true
}
