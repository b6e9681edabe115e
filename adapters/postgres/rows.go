package postgres

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// field is a column that rows of type R are inserted with.
type field[R any] struct {
	name, typ string
	value     func(*R) any
}

// inserts are the statements that insert rows of type R into a table of the
// engine.
type inserts[R any] struct {
	fields []field[R]
	few    []string // for one row, for two and so on, with plain parameters
	many   string   // for any number, with an array a column
}

// fewRows is up to how many rows have a statement with plain parameters.
const fewRows = 4

// newInserts makes the statements. also are further columns, and as what the
// others make of them. A few rows, as one event has them, have their own
// statements because PostgreSQL plans one with arrays anew the first times, and for
// as long as it hopes to gain from their length, which takes longer than the
// insertion.
func newInserts[R any](table, also, as, conflict string, fields ...field[R]) inserts[R] {
	names, arrays := make([]string, len(fields)), make([]string, len(fields))
	for i, f := range fields {
		names[i], arrays[i] = f.name, fmt.Sprintf("$%d::%s[]", i+1, f.typ)
	}
	list := strings.Join(names, ", ")
	text := func(rows string) string {
		return "INSERT INTO " + table + " (" + list + also + ") SELECT " + list + as + " FROM " + rows + " AS s (" + list + ")" + conflict
	}
	t := inserts[R]{fields: fields, many: text("unnest(" + strings.Join(arrays, ", ") + ")")}
	for n := range fewRows {
		t.few = append(t.few, text(rowsOf(fields, 1, n+1)))
	}
	return t
}

// rowsOf is a list of rows as a table, with parameters from first on.
func rowsOf[R any](fields []field[R], first, rows int) string {
	list := make([]string, rows)
	for n := range list {
		row := make([]string, len(fields))
		for i, f := range fields {
			row[i] = fmt.Sprintf("$%d::%s", first+n*len(fields)+i, f.typ)
		}
		list[n] = "(" + strings.Join(row, ", ") + ")"
	}
	return "(VALUES " + strings.Join(list, ", ") + ")"
}

// argsOf are the parameters of rowsOf.
func argsOf[R any](args []any, fields []field[R], rows []*R) []any {
	for _, r := range rows {
		for _, f := range fields {
			args = append(args, f.value(r))
		}
	}
	return args
}

// insert queues rows in one statement.
func insert[R any](p *pipeline, about subject, t inserts[R], rows []*R) {
	if len(rows) <= len(t.few) {
		p.add(about, t.few[len(rows)-1], argsOf(nil, t.fields, rows)...)
		return
	}
	args := make([]any, len(t.fields))
	for i, f := range t.fields {
		values := make([]any, len(rows))
		for n, r := range rows {
			values[n] = f.value(r)
		}
		args[i] = arrayOf(f.typ, values)
	}
	p.add(about, t.many, args...)
}

// outbox queues the effects to be delivered, but for those that go along with
// their step.
func (p *pipeline) outbox(wave []*store.Commit) {
	if along(wave) {
		p.work = true
		return
	}
	var waiting, inHand, others []*store.OutboxMessage
	for _, r := range collect(wave, outboxOf) {
		switch {
		case fresh(r):
			waiting = append(waiting, r)
		case held(r):
			inHand = append(inHand, r)
		default:
			others = append(others, r)
		}
	}
	p.messages(wave[0], outboxInserts, waiting)
	p.messages(wave[0], heldInserts, inHand)
	p.messages(wave[0], deliveryInserts, others)
}

func outboxOf(c *store.Commit) []store.OutboxMessage { return c.Outbox }

// messages queues effects of one kind.
func (p *pipeline) messages(c *store.Commit, how inserts[store.OutboxMessage], rows []*store.OutboxMessage) {
	if len(rows) > 0 {
		p.work = true
		insert(p, subject{commit: c}, how, rows)
	}
}

// fresh reports whether r is as an event leaves it: not attempted yet, and due.
func fresh(r *store.OutboxMessage) bool {
	return r.Lease == nil && r.MessageState == store.MessageState{State: "pending", AvailableAt: fsm.Some(r.CreatedAt)}
}

// held reports whether r is inserted already claimed by a worker.
func held(r *store.OutboxMessage) bool {
	return r.Lease != nil && r.MessageState == store.MessageState{State: "delivering", Attempts: 1, AvailableAt: fsm.Some(r.CreatedAt)}
}

// along reports whether the effects of a wave are inserted by the statement of
// the step that asks for them, which saves a statement. They must be all that it
// asks for, and nothing between the two may touch them.
func along(wave []*store.Commit) bool {
	c := wave[0]
	if len(wave) > 1 || len(c.Steps) != 1 || len(c.Outbox) == 0 || len(c.Outbox) > fewRows {
		return false
	}
	s := &c.Steps[0]
	for i := range c.Outbox {
		r := &c.Outbox[i]
		if !fresh(r) && !held(r) || r.Lease != c.Outbox[0].Lease || r.Work && c.CancelWork || r.Machine != c.Machine || r.RecordID != c.ID || r.Version != s.Version ||
			r.RecordState != s.To || r.Correlation != s.Correlation || !r.CreatedAt.Equal(s.At) {
			return false
		}
	}
	return true
}

// messagesText inserts the effects of a step if r found the record. Their
// parameters begin at first, with the machine and, where they are held, the lease.
func messagesText(first int, w stepShape) string {
	columns, values, next := "state, attempts", "'pending', 0", first+1
	if w.held {
		columns, values = "state, attempts, "+list(leaseFields), "'delivering', 1"
		for _, f := range leaseFields {
			values += fmt.Sprintf(", $%d::%s", next, f.typ)
			next++
		}
	}
	return fmt.Sprintf(`INSERT INTO fsm_outbox (machine, record_id, version, record_state, correlation, created_at, available_at, %s, %s)
	SELECT $%d::text, $%d::text, $%d, $%d, $%d, $%d, $%[8]d, %[9]s, m.* FROM r, %[10]s AS m`,
		columns, list(messageFields), first, atKey, atVersion, atTo, atCorrelation, atTime, values, rowsOf(messageFields, next, w.messages))
}

// list is the names of fields.
func list(fields []field[store.OutboxMessage]) string {
	return strings.Join(column(fields, func(f field[store.OutboxMessage]) string { return f.name }), ", ")
}

var (
	// messageFields are what the effects of one step differ in.
	messageFields = []field[store.OutboxMessage]{
		{"message_id", "uuid", func(r *store.OutboxMessage) any { return r.MessageID }},
		{"seq", "integer", func(r *store.OutboxMessage) any { return int32(r.Seq) }},
		{"effect", "text", func(r *store.OutboxMessage) any { return r.Effect }},
		{"destination", "text", func(r *store.OutboxMessage) any { return r.Destination }},
		{"delivery", "text", func(r *store.OutboxMessage) any { return string(r.Delivery) }},
		{"work", "boolean", func(r *store.OutboxMessage) any { return r.Work }},
		{"payload", "json", func(r *store.OutboxMessage) any { return nullable(r.Payload) }},
	}
	stepFields = []field[store.OutboxMessage]{
		{"machine", "text", func(r *store.OutboxMessage) any { return r.Machine }},
		{"record_id", "text", func(r *store.OutboxMessage) any { return r.RecordID }},
		{"version", "bigint", func(r *store.OutboxMessage) any { return r.Version }},
		{"record_state", "text", func(r *store.OutboxMessage) any { return nullable(r.RecordState) }},
		{"correlation", "text", func(r *store.OutboxMessage) any { return nullable(r.Correlation) }},
		{"created_at", "timestamptz", func(r *store.OutboxMessage) any { return r.CreatedAt }},
	}
	deliveryFields = []field[store.OutboxMessage]{
		{"state", "text", func(r *store.OutboxMessage) any { return r.State }},
		{"attempts", "bigint", func(r *store.OutboxMessage) any { return r.Attempts }},
		{"available_at", "timestamptz", func(r *store.OutboxMessage) any { return nullableInstant(r.AvailableAt) }},
		{"delivered_at", "timestamptz", func(r *store.OutboxMessage) any { return nullableInstant(r.DeliveredAt) }},
		{"discarded_at", "timestamptz", func(r *store.OutboxMessage) any { return nullableInstant(r.DiscardedAt) }},
		{"last_error", "text", func(r *store.OutboxMessage) any { return nullable(r.LastError) }},
		{"resolution", "text", func(r *store.OutboxMessage) any { return nullable(r.Resolution) }},
		{"cancelled", "boolean", func(r *store.OutboxMessage) any { return r.Cancelled }},
	}

	leaseFields = []field[store.OutboxMessage]{
		{"lease_token", "uuid", func(r *store.OutboxMessage) any { return r.Lease.Token.String() }},
		{"lease_until", "timestamptz", func(r *store.OutboxMessage) any { return r.Lease.Until }},
		{"worker", "text", func(r *store.OutboxMessage) any { return nullable(r.Lease.Worker) }},
	}

	outboxInserts = newInserts("fsm_outbox", ", state, attempts, available_at", ", 'pending', 0, created_at", "",
		slices.Concat(stepFields, messageFields)...)
	// heldInserts insert effects that a worker has in hand.
	heldInserts = newInserts("fsm_outbox", ", state, attempts, available_at", ", 'delivering', 1, created_at", "",
		slices.Concat(stepFields, messageFields, leaseFields)...)
	// plainInserts insert effects that are neither.
	deliveryInserts = newInserts("fsm_outbox", "", "", "", slices.Concat(stepFields, messageFields, deliveryFields)...)
)

const (
	// cancelWork leaves alone what is done: see the column open.
	cancelWork = `UPDATE fsm_outbox SET cancelled = true WHERE machine = $1 AND record_id = $2 AND open AND work AND NOT cancelled`

	clearSome = `DELETE FROM fsm_deadlines WHERE machine = $1 AND record_id = $2 AND kind = ANY($3)`

	// cancelAll and clearAll are for several records. The LIMIT is that of
	// arraysText.
	cancelAll = `UPDATE fsm_outbox AS o SET cancelled = true
		FROM (SELECT * FROM unnest($1::text[], $2::text[]) AS s (machine, record_id) LIMIT cardinality($1::text[])) AS s
		WHERE o.machine = s.machine AND o.record_id = s.record_id AND o.open AND o.work AND NOT o.cancelled`
	clearAll = `DELETE FROM fsm_deadlines AS d
		USING (SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) AS s (machine, record_id, kind) LIMIT cardinality($1::text[])) AS s
		WHERE d.machine = s.machine AND d.record_id = s.record_id AND d.kind = s.kind`

	// A new deadline never keeps the lease of the row that it replaces, which is of an
	// earlier step.
	rearm = ` ON CONFLICT (machine, record_id, kind) DO UPDATE SET version = EXCLUDED.version, due_at = EXCLUDED.due_at,
		event = EXCLUDED.event, payload = EXCLUDED.payload, record_state = EXCLUDED.record_state, correlation = EXCLUDED.correlation,
		lease_token = NULL, lease_until = NULL, worker = NULL WHERE fsm_deadlines.version < EXCLUDED.version`
)

// cancel queues the end of the work of the records whose state was left.
func (p *pipeline) cancel(wave []*store.Commit) {
	var machines, records []string
	var first *store.Commit
	for _, c := range wave {
		if c.CancelWork {
			first = cmp.Or(first, c)
			machines, records = append(machines, c.Machine), append(records, c.ID)
		}
	}
	switch len(records) {
	case 0:
	case 1:
		p.add(subject{commit: first}, cancelWork, first.Machine, first.ID)
	default:
		p.add(subject{commit: first}, cancelAll, machines, records)
	}
}

// cleared lists the deadlines that c clears. What is set again is
// replaced, and not deleted first.
func cleared(c *store.Commit) (kinds []string) {
	for _, kind := range c.ClearDeadlines {
		if !slices.ContainsFunc(c.SetDeadlines, func(t store.Deadline) bool { return t.Kind == kind }) {
			kinds = append(kinds, string(kind))
		}
	}
	return kinds
}

// clearDeadlines queues the deletion of the deadlines that a wave clears.
func (p *pipeline) clearDeadlines(wave []*store.Commit) {
	var machines, records, kinds []string
	var of []*store.Commit
	for _, c := range wave {
		gone := cleared(c)
		if len(gone) == 0 {
			continue
		}
		of = append(of, c)
		for _, kind := range gone {
			machines, records, kinds = append(machines, c.Machine), append(records, c.ID), append(kinds, kind)
		}
	}
	switch len(of) {
	case 0:
	case 1:
		p.add(subject{commit: of[0]}, clearSome, of[0].Machine, of[0].ID, kinds)
	default:
		p.add(subject{commit: of[0]}, clearAll, machines, records, kinds)
	}
}

// deadlines queues the deadlines that are cleared and those that are set.
func (p *pipeline) deadlines(wave []*store.Commit) {
	p.clearDeadlines(wave)
	rows := collect(wave, func(c *store.Commit) []store.Deadline { return c.SetDeadlines })
	if len(rows) == 0 {
		return
	}
	// What is raised is due at once; a timeout is found by polling.
	p.work = p.work || slices.ContainsFunc(rows, func(t *store.Deadline) bool { return t.Kind == store.DeadlineRaise })
	insert(p, subject{commit: wave[0]}, deadlineInserts, rows)
}

var deadlineInserts = newInserts("fsm_deadlines", "", "", rearm,
	field[store.Deadline]{"machine", "text", func(r *store.Deadline) any { return r.Machine }},
	field[store.Deadline]{"record_id", "text", func(r *store.Deadline) any { return r.RecordID }},
	field[store.Deadline]{"kind", "text", func(r *store.Deadline) any { return string(r.Kind) }},
	field[store.Deadline]{"version", "bigint", func(r *store.Deadline) any { return r.Version }},
	field[store.Deadline]{"due_at", "timestamptz", func(r *store.Deadline) any { return r.DueAt }},
	field[store.Deadline]{"event", "text", func(r *store.Deadline) any { return r.Event.Name }},
	field[store.Deadline]{"payload", "json", func(r *store.Deadline) any { return nullable(r.Event.Payload) }},
	field[store.Deadline]{"record_state", "text", func(r *store.Deadline) any { return nullable(r.RecordState) }},
	field[store.Deadline]{"correlation", "text", func(r *store.Deadline) any { return nullable(r.Correlation) }},
)

// keys queues the idempotency keys.
func (p *pipeline) keys(wave []*store.Commit) {
	rows := collect(wave, func(c *store.Commit) []store.IdempotencyKey { return c.IdempotencyKeys })
	if len(rows) == 0 {
		return
	}
	insert(p, subject{commit: wave[0], keys: rows}, keyInserts, rows)
}

var keyInserts = newInserts("fsm_keys", "", "", "",
	field[store.IdempotencyKey]{"machine", "text", func(r *store.IdempotencyKey) any { return r.Machine }},
	field[store.IdempotencyKey]{"key", "text", func(r *store.IdempotencyKey) any { return r.Key }},
	field[store.IdempotencyKey]{"record_id", "text", func(r *store.IdempotencyKey) any { return r.RecordID }},
	field[store.IdempotencyKey]{"event", "text", func(r *store.IdempotencyKey) any { return r.Event }},
	field[store.IdempotencyKey]{"version", "bigint", func(r *store.IdempotencyKey) any { return r.Version }},
	field[store.IdempotencyKey]{"created_at", "timestamptz", func(r *store.IdempotencyKey) any { return r.CreatedAt }},
)
