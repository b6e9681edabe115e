package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Settle stores the outcome of a task.
func (s *Store) Settle(ctx context.Context, tx pgx.Tx, done engine.Settlement) error {
	p := &pipeline{}
	c := &engine.Commit{Machine: done.Machine, ID: done.RecordID, Task: &done}
	p.tasks([]*engine.Commit{c})
	if err := p.send(tx.SendBatch(ctx, &p.batch)); err != nil {
		return err
	}
	if own, ok := tx.(*transaction); ok {
		own.work = own.work || p.work
	}
	return nil
}

const (
	letter = `UPDATE fsm_outbox SET state = $3, attempts = $4, available_at = $5, delivered_at = $6, discarded_at = $7,
		last_error = $8, resolution = $9, lease_token = NULL, lease_until = NULL, worker = NULL WHERE message_id = $1`

	// The worker that holds the row ends its task.
	settleEffect = `WITH r AS (` + letter + ` AND state = 'delivering' AND lease_token = $2 RETURNING 1)
		SELECT fsm_lease_lost($1::text) WHERE NOT EXISTS (SELECT FROM r)`

	// A person decides about a row that nobody holds and that is in state $2.
	settleByHand = `WITH r AS (` + letter + ` AND state = $2 AND lease_token IS NULL AND NOT cancelled RETURNING 1)
		SELECT fsm_letter_moved($1::text) WHERE NOT EXISTS (SELECT FROM r)`

	renewEffect = `WITH r AS (UPDATE fsm_outbox SET lease_until = $3 WHERE message_id = $1 AND state = 'delivering' AND lease_token = $2 RETURNING 1)
		SELECT fsm_lease_lost($1::text) WHERE NOT EXISTS (SELECT FROM r)`

	settleDeadline = `WITH r AS (DELETE FROM fsm_deadlines WHERE machine = $1 AND record_id = $2 AND kind = $3 AND lease_token = $4 RETURNING 1)
		SELECT fsm_lease_lost($1::text || ' ' || $2::text) WHERE NOT EXISTS (SELECT FROM r)`

	renewDeadline = `WITH r AS (UPDATE fsm_deadlines SET lease_until = $5 WHERE machine = $1 AND record_id = $2 AND kind = $3 AND lease_token = $4 RETURNING 1)
		SELECT fsm_lease_lost($1::text || ' ' || $2::text) WHERE NOT EXISTS (SELECT FROM r)`
)

// tasks queues the settlements of a wave.
func (p *pipeline) tasks(wave []*engine.Commit) {
	for _, c := range wave {
		if c.Task != nil {
			p.settle(subject{commit: c}, *c.Task)
		}
	}
}

func (p *pipeline) settle(about subject, t engine.Settlement) {
	renew := !t.Renew.IsZero()
	if t.Kind == engine.TaskDeadline {
		args := []any{t.Machine, t.RecordID, string(t.Timer), t.Token.String()}
		if renew {
			p.add(about, renewDeadline, append(args, t.Renew)...)
			return
		}
		p.add(about, settleDeadline, args...)
		return
	}
	if renew {
		p.add(about, renewEffect, t.MessageID, t.Token.String(), t.Renew)
		return
	}
	sql, holder := settleEffect, any(t.Token.String())
	if t.Token == (fsm.UUID{}) {
		sql, holder = settleByHand, t.From
	}
	l := t.Letter
	p.add(about, sql, t.MessageID, holder, l.State, l.Attempts, nullableInstant(l.AvailableAt), nullableInstant(l.DeliveredAt),
		nullableInstant(l.DiscardedAt), nullable(l.LastError), nullable(l.Resolution))
	// The lane goes on: what is behind this row may be due.
	p.work = true
}
