package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// Load implements store.Store. It ignores Query.Lock: a transaction of InTx has the write lock
// already.
func (s *Store) Load(ctx context.Context, tx *sql.Tx, queries []store.Query) ([]store.Row, error) {
	if err := s.current(ctx, tx); err != nil {
		return nil, err
	}
	rows := make([]store.Row, len(queries))
	for i := range queries {
		if err := s.load(ctx, tx, &queries[i], &rows[i]); err != nil {
			q := queries[i]
			return nil, unfit(ctx, tx, q.Machine, q.Tables, "load "+q.Machine+" "+q.ID, err)
		}
	}
	return rows, nil
}

func (s *Store) load(ctx context.Context, tx *sql.Tx, q *store.Query, row *store.Row) (err error) {
	err = each(ctx, tx, func(c *cells) { *row = readRecord(c, q.Machine, q.Into) }, s.statementsOf(q.Tables).load, q.IDValue)
	if err != nil {
		return err
	}
	if len(q.IdempotencyKeys) > 0 {
		if row.IdempotencyKeys, err = keysOf(ctx, tx, q.Machine, q.IdempotencyKeys); err != nil {
			return err
		}
		for i := range row.IdempotencyKeys {
			if err := s.consumer(ctx, tx, q.Tables, &row.IdempotencyKeys[i]); err != nil {
				return err
			}
		}
	}
	if q.Task != nil {
		if err := taskState(ctx, tx, q, row); err != nil {
			return err
		}
	}
	if q.OnlyPending {
		return each(ctx, tx, func(c *cells) { row.OnlyPending = c.bool() }, selectAlone, q.Machine, q.ID, ownMessage(q))
	}
	return nil
}

// selectAlone reports whether no message of a record but one is open. Its conditions are those of
// the index.
const selectAlone = `SELECT NOT EXISTS (SELECT 1 FROM fsm_outbox INDEXED BY fsm_outbox_ordering_key
	WHERE machine = ? AND record_id = ? AND state <> 'delivered' AND (cancelled = 0 OR state = 'delivering')
		AND discarded_at IS NULL AND message_id <> ?)`

// ownMessage returns the message of the task of a query, or "".
func ownMessage(q *store.Query) string {
	if q.Task == nil {
		return ""
	}
	return q.Task.MessageID
}

// readRecord reads a row of a record table into a record. Row.Err is a *store.CorruptError if it
// can't.
func readRecord(c *cells, machine string, into fsm.Record) store.Row {
	var row store.Row
	id := fsm.Text(c.values[0])
	for _, pointer := range into.Pointers() {
		c.into(pointer)
	}
	row.Version, row.EnteredAt = c.int(), c.time()
	if c.err == nil && into.StateName() == "" {
		c.err = errors.New("its state is empty")
	}
	if c.err != nil {
		return store.Row{Version: row.Version, Err: &store.CorruptError{Machine: machine, ID: id, Err: c.err}}
	}
	row.Record = into
	return row
}

// keysOf returns those of the keys that exist.
func keysOf(ctx context.Context, q querier, machine string, keys []string) (found []store.IdempotencyKey, err error) {
	list, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	var broken error
	err = each(ctx, q, func(c *cells) {
		k := store.IdempotencyKey{Machine: machine, Key: c.text(), RecordID: c.text(), Event: c.text(), Version: c.int(), CreatedAt: c.time()}
		if c.err != nil {
			broken = &store.CorruptError{Machine: machine, ID: k.RecordID, Err: c.err}
		}
		found = append(found, k)
	}, `SELECT key, record_id, event, version, created_at FROM fsm_keys
		WHERE machine = ? AND key IN (SELECT value FROM json_each(?))`, machine, string(list))
	return found, errors.Join(err, broken)
}

// consumer reads the caller and the payload of the event that consumed a key. In a chain of steps
// the history row of that event is earlier than the key's version.
func (s *Store) consumer(ctx context.Context, tx *sql.Tx, t fsm.Tables, k *store.IdempotencyKey) error {
	var broken error
	err := each(ctx, tx, func(c *cells) {
		k.By, k.Payload = fsm.Caller{Role: c.text(), ID: c.text()}, c.json()
		broken = c.err
	}, s.statementsOf(t).consumer, k.RecordID, k.Version, k.Event, instant(k.CreatedAt))
	return errors.Join(err, broken)
}

// taskState reads whether a task still has its lease, and whether it was cancelled.
func taskState(ctx context.Context, tx *sql.Tx, q *store.Query, row *store.Row) error {
	token := q.Task.Token.String()
	read := func(c *cells) { row.Held, row.Cancelled = c.bool(), c.bool() }
	if q.Task.Kind == store.TaskEffect {
		return each(ctx, tx, read, `SELECT state = 'delivering' AND lease_token IS ?, cancelled FROM fsm_outbox WHERE message_id = ?`,
			token, q.Task.MessageID)
	}
	return each(ctx, tx, read, `SELECT lease_token IS ?, 0 FROM fsm_deadlines WHERE machine = ? AND record_id = ? AND kind = ?`,
		token, q.Machine, q.ID, string(q.Task.Deadline))
}
