package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// storedMessage is a message as the checker reads it.
type storedMessage struct {
	id, machine, record, effect, destination, state, payload, correlation, lastError string
	version, seq, attempts                                                           int64
	work, cancelled, discarded, leased, parked                                       bool
	due                                                                              time.Time // when it can be claimed, or its lease ends; zero: never
}

// deadline is a stored deadline.
type deadline struct {
	machine, record, kind, event, payload, correlation string
	version                                            int64
	at, claim                                          time.Time
	leased                                             bool
}

// name identifies a deadline among those of other steps.
func (d deadline) name() string {
	return fmt.Sprint(d.machine, " ", d.record, " ", d.kind, " ", d.version)
}

// key is a consumed idempotency key.
type key struct {
	machine, key, record, event string
	version                     int64
}

// trace is a call inside a transaction.
type trace struct {
	machine, record, effect string
	version                 int64
}

// inlineCall is an effect that was carried out inline.
type inlineCall struct {
	trace
	answer string // the event
}

// storedMessages reads the messages in a fixed order.
func (run *run[Tx]) storedMessages(ctx context.Context) (out []storedMessage, err error) {
	err = run.each(ctx, `SELECT message_id, machine, record_id, effect, lane, state, payload, correlation, last_error, version, seq, attempts,
		work, cancelled, discarded_at, lease_token, CASE WHEN state = 'delivering' THEN lease_until ELSE available_at END, parked
		FROM fsm_outbox ORDER BY message_id`, func(c *cells) {
		l := storedMessage{
			id: c.text(), machine: c.text(), record: c.text(), effect: c.text(), destination: c.text(), state: c.text(), payload: c.json(),
			correlation: c.text(), lastError: c.text(), version: c.int(), seq: c.int(), attempts: c.int(), work: c.bool(), cancelled: c.bool(),
			discarded: c.there(), leased: c.there(), due: c.time(), parked: c.bool(),
		}
		out = append(out, l)
	})
	return out, err
}

func (run *run[Tx]) deadlines(ctx context.Context) (out []deadline, err error) {
	err = run.each(ctx, `SELECT machine, record_id, kind, event, payload, correlation, version, due_at, lease_until FROM fsm_deadlines
		ORDER BY machine, record_id, kind`, func(c *cells) {
		d := deadline{
			machine: c.text(), record: c.text(), kind: c.text(), event: c.text(), payload: c.json(), correlation: c.text(),
			version: c.int(), at: c.time(), claim: c.time(),
		}
		d.leased = !d.claim.IsZero()
		if d.claim.Before(d.at) {
			d.claim = d.at
		}
		out = append(out, d)
	})
	return out, err
}

func (run *run[Tx]) keys(ctx context.Context) (out []key, err error) {
	err = run.each(ctx, "SELECT machine, key, record_id, event, version FROM fsm_keys ORDER BY machine, key", func(c *cells) {
		out = append(out, key{c.text(), c.text(), c.text(), c.text(), c.int()})
	})
	return out, err
}

func (run *run[Tx]) traces(ctx context.Context) (out []trace, err error) {
	err = run.each(ctx, "SELECT machine, record_id, effect, version FROM simulated_calls ORDER BY machine, record_id, version, effect", func(c *cells) {
		out = append(out, trace{c.text(), c.text(), c.text(), c.int()})
	})
	return out, err
}

func (run *run[Tx]) inlined(ctx context.Context) (out []inlineCall, err error) {
	err = run.each(ctx, "SELECT machine, record_id, effect, version, answer FROM simulated_inline ORDER BY machine, record_id, version, effect", func(c *cells) {
		out = append(out, inlineCall{trace{c.text(), c.text(), c.text(), c.int()}, c.text()})
	})
	return out, err
}

// each runs a query and calls read for each row.
func (run *run[Tx]) each(ctx context.Context, query string, read func(*cells)) error {
	rows, err := run.subject.DB.QueryContext(ctx, query)
	if err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		c := cells{values: make([]any, len(columns))}
		pointers := make([]any, len(columns))
		for i := range pointers {
			pointers[i] = &c.values[i]
		}
		if err := rows.Scan(pointers...); err != nil {
			return fmt.Errorf("%s: %w", query, err)
		}
		if read(&c); c.err != nil {
			return fmt.Errorf("%s: %w", query, c.err)
		}
	}
	return rows.Err()
}

// cells is a row whose columns are read one after the other. It converts the types that
// the two databases return.
type cells struct {
	values []any
	err    error
}

func (c *cells) next() any {
	v := c.values[0]
	c.values = c.values[1:]
	return v
}

func (c *cells) there() bool { return c.next() != nil }

func (c *cells) text() string {
	switch v := c.next().(type) {
	case nil:
		return ""
	case []byte:
		return string(v)
	default:
		return fsm.Text(v)
	}
}

func (c *cells) json() string { return canonical(json.RawMessage(c.text())) }

func (c *cells) int() int64 {
	n, ok := c.next().(int64)
	if !ok {
		c.err = fmt.Errorf("a number is missing")
	}
	return n
}

func (c *cells) bool() bool {
	switch v := c.next().(type) {
	case bool:
		return v
	case int64:
		return v != 0
	}
	return false
}

// value returns a value of a type as text. Null is empty text, and for bool false.
func (c *cells) value(t ir.Type) string {
	switch t.Base {
	case ir.Bool:
		return fmt.Sprint(c.bool())
	case ir.Time:
		return fmt.Sprint(c.time())
	case ir.JSON, ir.ListOf:
		return c.json()
	}
	return c.text()
}

func (c *cells) time() time.Time {
	switch v := c.next().(type) {
	case time.Time:
		return v.UTC()
	case string:
		t, err := time.Parse(time.RFC3339Nano, v)
		if err != nil {
			c.err = err
		}
		return t
	}
	return time.Time{}
}
