package postgres

import (
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/engine"
)

// cancelWork leaves alone what is done: see the column open.
const cancelWork = `UPDATE fsm_outbox AS o SET cancelled = true
	FROM unnest($1::text[], $2::text[]) AS c (machine, record_id)
	WHERE o.machine = c.machine AND o.record_id = c.record_id AND o.open AND o.work AND NOT o.cancelled`

// cancel queues the end of the work of the records whose state was left.
func (p *pipeline) cancel(wave []*engine.Commit) {
	left := slices.DeleteFunc(slices.Clone(wave), func(c *engine.Commit) bool { return !c.CancelWork })
	if len(left) == 0 {
		return
	}
	p.add(subject{commit: left[0]}, cancelWork,
		column(left, func(c *engine.Commit) string { return c.Machine }),
		column(left, func(c *engine.Commit) string { return c.ID }))
}

const insertOutbox = `INSERT INTO fsm_outbox (message_id, machine, record_id, version, seq, effect, lane, delivery, work, payload,
		correlation, created_at, state, attempts, available_at, delivered_at, discarded_at, last_error, resolution, cancelled)
	SELECT message_id::uuid, machine, record_id, version, seq, effect, lane, delivery, work, payload::json,
		correlation, created_at, state, attempts, available_at, delivered_at, discarded_at, last_error, resolution, cancelled
	FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::boolean[], $10::text[],
		$11::text[], $12::timestamptz[], $13::text[], $14::bigint[], $15::timestamptz[], $16::timestamptz[], $17::timestamptz[], $18::text[], $19::text[], $20::boolean[])
		AS r (message_id, machine, record_id, version, seq, effect, lane, delivery, work, payload,
		correlation, created_at, state, attempts, available_at, delivered_at, discarded_at, last_error, resolution, cancelled)`

// outbox queues the effects to be delivered.
func (p *pipeline) outbox(wave []*engine.Commit) {
	rows := collect(wave, func(c *engine.Commit) []engine.OutboxRow { return c.Outbox })
	if len(rows) == 0 {
		return
	}
	p.work = true
	type row = engine.OutboxRow
	p.add(subject{commit: wave[0]}, insertOutbox,
		column(rows, func(r row) string { return r.MessageID }),
		column(rows, func(r row) string { return r.Machine }),
		column(rows, func(r row) string { return r.RecordID }),
		column(rows, func(r row) int64 { return r.Version }),
		column(rows, func(r row) int64 { return int64(r.Seq) }),
		column(rows, func(r row) string { return r.Effect }),
		column(rows, func(r row) string { return r.Lane }),
		column(rows, func(r row) string { return string(r.Delivery) }),
		column(rows, func(r row) bool { return r.Work }),
		column(rows, func(r row) *string { return nullable(r.Payload) }),
		column(rows, func(r row) *string { return nullable(r.Correlation) }),
		column(rows, func(r row) time.Time { return r.CreatedAt }),
		column(rows, func(r row) string { return r.State }),
		column(rows, func(r row) int64 { return r.Attempts }),
		column(rows, func(r row) *time.Time { return nullableInstant(r.AvailableAt) }),
		column(rows, func(r row) *time.Time { return nullableInstant(r.DeliveredAt) }),
		column(rows, func(r row) *time.Time { return nullableInstant(r.DiscardedAt) }),
		column(rows, func(r row) *string { return nullable(r.LastError) }),
		column(rows, func(r row) *string { return nullable(r.Resolution) }),
		column(rows, func(r row) bool { return r.Cancelled }))
}

const (
	disarm = `DELETE FROM fsm_deadlines AS d
	USING unnest($1::text[], $2::text[], $3::text[]) AS c (machine, record_id, kind)
	WHERE d.machine = c.machine AND d.record_id = c.record_id AND d.kind = c.kind`

	arm = `INSERT INTO fsm_deadlines (machine, record_id, kind, version, due_at, event, payload, correlation)
	SELECT machine, record_id, kind, version, due_at, event, payload::json, correlation
	FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::timestamptz[], $6::text[], $7::text[], $8::text[])
		AS r (machine, record_id, kind, version, due_at, event, payload, correlation)
	ON CONFLICT (machine, record_id, kind) DO UPDATE SET version = EXCLUDED.version, due_at = EXCLUDED.due_at,
		event = EXCLUDED.event, payload = EXCLUDED.payload, correlation = EXCLUDED.correlation,
		lease_token = NULL, lease_until = NULL, worker = NULL`
)

// deadlines queues what is disarmed and what is armed. What is armed again is
// replaced, and not deleted first.
func (p *pipeline) deadlines(wave []*engine.Commit) {
	type timer struct {
		machine, id string
		kind        engine.TimerKind
	}
	gone := collect(wave, func(c *engine.Commit) (out []timer) {
		for _, kind := range c.Disarm {
			if !slices.ContainsFunc(c.Arm, func(t engine.TimerRow) bool { return t.Kind == kind }) {
				out = append(out, timer{c.Machine, c.ID, kind})
			}
		}
		return out
	})
	if len(gone) > 0 {
		p.add(subject{commit: wave[0]}, disarm,
			column(gone, func(t timer) string { return t.machine }),
			column(gone, func(t timer) string { return t.id }),
			column(gone, func(t timer) string { return string(t.kind) }))
	}
	rows := collect(wave, func(c *engine.Commit) []engine.TimerRow { return c.Arm })
	if len(rows) == 0 {
		return
	}
	// What is raised is due at once; a timeout is found by polling.
	p.work = p.work || slices.ContainsFunc(rows, func(t engine.TimerRow) bool { return t.Kind == engine.TimerRaise })
	type row = engine.TimerRow
	p.add(subject{commit: wave[0]}, arm,
		column(rows, func(r row) string { return r.Machine }),
		column(rows, func(r row) string { return r.RecordID }),
		column(rows, func(r row) string { return string(r.Kind) }),
		column(rows, func(r row) int64 { return r.Version }),
		column(rows, func(r row) time.Time { return r.DueAt }),
		column(rows, func(r row) string { return r.Event.Name }),
		column(rows, func(r row) *string { return nullable(r.Event.Payload) }),
		column(rows, func(r row) *string { return nullable(r.Correlation) }))
}

const insertKeys = `INSERT INTO fsm_keys (machine, key, record_id, event, version, created_at)
	SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::timestamptz[])`

// keys queues the idempotency keys.
func (p *pipeline) keys(wave []*engine.Commit) {
	rows := collect(wave, func(c *engine.Commit) []engine.KeyRow { return c.Keys })
	if len(rows) == 0 {
		return
	}
	type row = engine.KeyRow
	p.add(subject{commit: wave[0], keys: rows}, insertKeys,
		column(rows, func(r row) string { return r.Machine }),
		column(rows, func(r row) string { return r.Key }),
		column(rows, func(r row) string { return r.RecordID }),
		column(rows, func(r row) string { return r.Event }),
		column(rows, func(r row) int64 { return r.Version }),
		column(rows, func(r row) time.Time { return r.CreatedAt }))
}
