package postgres

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/engine"
)

// target is a table of the engine that rows of type R are inserted into.
type target[R any] struct {
	few  []string // for one row, for two and so on, with plain parameters
	many string   // for any number, with an array a column
	// values of a row, in the order of the columns
	values []func(R) any
}

// field is a column of a target.
type field[R any] struct {
	name, typ string
	value     func(R) any
}

// newTarget makes the statements. A few rows, as one event has them, have their
// own because PostgreSQL plans one with arrays anew each time, hoping to gain
// from their length, and that takes longer than the insertion.
func newTarget[R any](table, conflict string, fields ...field[R]) (t target[R]) {
	var names, arrays []string
	for i, f := range fields {
		names = append(names, f.name)
		arrays = append(arrays, fmt.Sprintf("$%d::%s[]", i+1, f.typ))
		t.values = append(t.values, f.value)
	}
	into := "INSERT INTO " + table + " (" + strings.Join(names, ", ") + ") "
	var rows []string
	for n := range several {
		rows = append(rows, "("+places("$", n*len(fields)+1, len(fields))+")")
		t.few = append(t.few, into+"VALUES "+strings.Join(rows, ", ")+conflict)
	}
	t.many = into + "SELECT * FROM unnest(" + strings.Join(arrays, ", ") + ")" + conflict
	return t
}

// insert queues rows in one statement.
func insert[R any](p *pipeline, about subject, t target[R], rows []R) {
	args := make([]any, 0, len(t.values)*min(len(rows), len(t.few)))
	if len(rows) <= len(t.few) {
		for _, row := range rows {
			for _, value := range t.values {
				args = append(args, value(row))
			}
		}
		p.add(about, t.few[len(rows)-1], args...)
		return
	}
	for _, value := range t.values {
		args = append(args, column(rows, value))
	}
	p.add(about, t.many, args...)
}

// outbox queues the effects to be delivered.
func (p *pipeline) outbox(wave []*engine.Commit) {
	rows := collect(wave, func(c *engine.Commit) []engine.OutboxRow { return c.Outbox })
	if len(rows) == 0 {
		return
	}
	p.work = true
	insert(p, subject{commit: wave[0]}, outboxTarget, rows)
}

var outboxTarget = newTarget("fsm_outbox", "",
	field[engine.OutboxRow]{"message_id", "uuid", func(r engine.OutboxRow) any { return r.MessageID }},
	field[engine.OutboxRow]{"machine", "text", func(r engine.OutboxRow) any { return r.Machine }},
	field[engine.OutboxRow]{"record_id", "text", func(r engine.OutboxRow) any { return r.RecordID }},
	field[engine.OutboxRow]{"version", "bigint", func(r engine.OutboxRow) any { return r.Version }},
	field[engine.OutboxRow]{"seq", "integer", func(r engine.OutboxRow) any { return int32(r.Seq) }},
	field[engine.OutboxRow]{"effect", "text", func(r engine.OutboxRow) any { return r.Effect }},
	field[engine.OutboxRow]{"lane", "text", func(r engine.OutboxRow) any { return r.Lane }},
	field[engine.OutboxRow]{"delivery", "text", func(r engine.OutboxRow) any { return string(r.Delivery) }},
	field[engine.OutboxRow]{"work", "boolean", func(r engine.OutboxRow) any { return r.Work }},
	field[engine.OutboxRow]{"payload", "json", func(r engine.OutboxRow) any { return nullable(r.Payload) }},
	field[engine.OutboxRow]{"correlation", "text", func(r engine.OutboxRow) any { return nullable(r.Correlation) }},
	field[engine.OutboxRow]{"created_at", "timestamptz", func(r engine.OutboxRow) any { return r.CreatedAt }},
	field[engine.OutboxRow]{"state", "text", func(r engine.OutboxRow) any { return r.State }},
	field[engine.OutboxRow]{"attempts", "bigint", func(r engine.OutboxRow) any { return r.Attempts }},
	field[engine.OutboxRow]{"available_at", "timestamptz", func(r engine.OutboxRow) any { return nullableInstant(r.AvailableAt) }},
	field[engine.OutboxRow]{"delivered_at", "timestamptz", func(r engine.OutboxRow) any { return nullableInstant(r.DeliveredAt) }},
	field[engine.OutboxRow]{"discarded_at", "timestamptz", func(r engine.OutboxRow) any { return nullableInstant(r.DiscardedAt) }},
	field[engine.OutboxRow]{"last_error", "text", func(r engine.OutboxRow) any { return nullable(r.LastError) }},
	field[engine.OutboxRow]{"resolution", "text", func(r engine.OutboxRow) any { return nullable(r.Resolution) }},
	field[engine.OutboxRow]{"cancelled", "boolean", func(r engine.OutboxRow) any { return r.Cancelled }},
)

const (
	// cancelWork leaves alone what is done: see the column open.
	cancelWork = `UPDATE fsm_outbox SET cancelled = true WHERE machine = $1 AND record_id = $2 AND open AND work AND NOT cancelled`

	disarm = `DELETE FROM fsm_deadlines WHERE machine = $1 AND record_id = $2 AND kind = $3`

	// An arming never keeps the lease of the row that it replaces.
	rearm = ` ON CONFLICT (machine, record_id, kind) DO UPDATE SET version = EXCLUDED.version, due_at = EXCLUDED.due_at,
		event = EXCLUDED.event, payload = EXCLUDED.payload, correlation = EXCLUDED.correlation,
		lease_token = NULL, lease_until = NULL, worker = NULL`
)

// cancel queues the end of the work of the records whose state was left.
func (p *pipeline) cancel(wave []*engine.Commit) {
	for _, c := range wave {
		if c.CancelWork {
			p.add(subject{commit: c}, cancelWork, c.Machine, c.ID)
		}
	}
}

// deadlines queues what is disarmed and what is armed. What is armed again is
// replaced, and not deleted first.
func (p *pipeline) deadlines(wave []*engine.Commit) {
	for _, c := range wave {
		for _, kind := range c.Disarm {
			if !slices.ContainsFunc(c.Arm, func(t engine.TimerRow) bool { return t.Kind == kind }) {
				p.add(subject{commit: c}, disarm, c.Machine, c.ID, string(kind))
			}
		}
	}
	rows := collect(wave, func(c *engine.Commit) []engine.TimerRow { return c.Arm })
	if len(rows) == 0 {
		return
	}
	// What is raised is due at once; a timeout is found by polling.
	p.work = p.work || slices.ContainsFunc(rows, func(t engine.TimerRow) bool { return t.Kind == engine.TimerRaise })
	insert(p, subject{commit: wave[0]}, deadlineTarget, rows)
}

var deadlineTarget = newTarget("fsm_deadlines", rearm,
	field[engine.TimerRow]{"machine", "text", func(r engine.TimerRow) any { return r.Machine }},
	field[engine.TimerRow]{"record_id", "text", func(r engine.TimerRow) any { return r.RecordID }},
	field[engine.TimerRow]{"kind", "text", func(r engine.TimerRow) any { return string(r.Kind) }},
	field[engine.TimerRow]{"version", "bigint", func(r engine.TimerRow) any { return r.Version }},
	field[engine.TimerRow]{"due_at", "timestamptz", func(r engine.TimerRow) any { return r.DueAt }},
	field[engine.TimerRow]{"event", "text", func(r engine.TimerRow) any { return r.Event.Name }},
	field[engine.TimerRow]{"payload", "json", func(r engine.TimerRow) any { return nullable(r.Event.Payload) }},
	field[engine.TimerRow]{"correlation", "text", func(r engine.TimerRow) any { return nullable(r.Correlation) }},
)

// keys queues the idempotency keys.
func (p *pipeline) keys(wave []*engine.Commit) {
	rows := collect(wave, func(c *engine.Commit) []engine.KeyRow { return c.Keys })
	if len(rows) == 0 {
		return
	}
	insert(p, subject{commit: wave[0], keys: rows}, keyTarget, rows)
}

var keyTarget = newTarget("fsm_keys", "",
	field[engine.KeyRow]{"machine", "text", func(r engine.KeyRow) any { return r.Machine }},
	field[engine.KeyRow]{"key", "text", func(r engine.KeyRow) any { return r.Key }},
	field[engine.KeyRow]{"record_id", "text", func(r engine.KeyRow) any { return r.RecordID }},
	field[engine.KeyRow]{"event", "text", func(r engine.KeyRow) any { return r.Event }},
	field[engine.KeyRow]{"version", "bigint", func(r engine.KeyRow) any { return r.Version }},
	field[engine.KeyRow]{"created_at", "timestamptz", func(r engine.KeyRow) any { return r.CreatedAt }},
)
