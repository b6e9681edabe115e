package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// Save implements store.Store.
func (s *Store) Save(ctx context.Context, tx *sql.Tx, commits []store.Commit) error {
	for i := range commits {
		if !commits[i].NoWakeup {
			s.work.Store(true)
		}
		w := writer{store: s, tx: tx, commit: &commits[i]}
		if err := w.write(ctx); err != nil {
			return err
		}
	}
	return nil
}

// writer writes one commit.
type writer struct {
	store  *Store
	tx     *sql.Tx
	commit *store.Commit
}

// sql returns the statements of the commit's machine.
func (w *writer) sql() *statements { return w.store.statementsOf(w.commit.Tables) }

func (w *writer) write(ctx context.Context) error {
	if err := w.expect(ctx); err != nil {
		return err
	}
	for i := range w.commit.Steps {
		if err := w.step(ctx, &w.commit.Steps[i]); err != nil {
			return err
		}
	}
	for _, tw := range w.commit.Writes {
		if err := w.table(ctx, tw); err != nil {
			return err
		}
	}
	if w.commit.Task != nil {
		if err := settle(ctx, w.tx, *w.commit.Task); err != nil {
			return err
		}
	}
	return w.engineRows(ctx)
}

// engineRows writes the rows of the engine's tables.
func (w *writer) engineRows(ctx context.Context) error {
	c := w.commit
	if c.CancelWork {
		if _, err := w.exec(ctx, cancelWork, c.Machine, c.ID); err != nil {
			return err
		}
	}
	for i := range c.Outbox {
		if _, err := w.exec(ctx, insertOutbox, outboxValues(&c.Outbox[i])...); err != nil {
			return err
		}
	}
	for _, kind := range c.ClearDeadlines {
		if _, err := w.exec(ctx, clearDeadline, c.Machine, c.ID, string(kind)); err != nil {
			return err
		}
	}
	for _, t := range c.SetDeadlines {
		if _, err := w.exec(ctx, setDeadline, t.Machine, t.RecordID, string(t.Kind), t.Version, instant(t.DueAt),
			t.Event.Name, payload(t.Event.Payload), null(t.RecordState), null(t.Correlation)); err != nil {
			return err
		}
	}
	for _, k := range c.IdempotencyKeys {
		if err := w.key(ctx, k); err != nil {
			return err
		}
	}
	return nil
}

const (
	cancelWork = `UPDATE fsm_outbox INDEXED BY fsm_outbox_ordering_key SET cancelled = 1, parked = 0
		WHERE machine = +? AND record_id = +? AND work = 1 AND cancelled = 0
			AND state <> 'delivered' AND (cancelled = 0 OR state = 'delivering')` // the condition of the index; for the plus see dueOf
	insertForced  = "INSERT INTO fsm_forced (machine, record_id, version, who, why, forced_at) VALUES (?, ?, ?, ?, ?, ?)"
	clearDeadline = "DELETE FROM fsm_deadlines WHERE machine = ? AND record_id = ? AND kind = ?"
	setDeadline   = `INSERT OR REPLACE INTO fsm_deadlines (machine, record_id, kind, version, due_at, event, payload, record_state, correlation)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
	insertKey = `INSERT INTO fsm_keys (machine, key, record_id, event, version, created_at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (machine, key) DO NOTHING`
)

// payload returns the JSON of an event, at least {}.
func payload(text []byte) string {
	if len(text) == 0 {
		return "{}"
	}
	return string(text)
}

// expect checks the version of a record for a commit without steps.
func (w *writer) expect(ctx context.Context) error {
	if len(w.commit.Steps) > 0 || w.commit.Expect == 0 {
		return nil
	}
	there := w.conflict(ctx, w.commit.Expect)
	if there.err == nil && there.Version == w.commit.Expect {
		return nil
	}
	return there.error()
}

// step writes a row of the record table, its history row and the row of a forced step.
func (w *writer) step(ctx context.Context, st *store.StepWrite) error {
	write := w.move
	if st.Version == 1 {
		write = w.create
	}
	if err := write(ctx, st, st.Record.Values()); err != nil {
		return err
	}
	_, err := w.exec(ctx, w.sql().insertHistory, w.commit.IDValue, st.EventID.String(), st.Version, st.Transition, null(st.From), st.Event, st.To,
		null(st.By.Role), null(st.By.ID), null(st.Payload), null(st.Correlation), instant(st.At))
	if err != nil || st.Forced == nil {
		return err
	}
	_, err = w.exec(ctx, insertForced, w.commit.Machine, w.commit.ID, st.Version, st.Forced.Who, st.Forced.Why, instant(st.At))
	return err
}

func (w *writer) create(ctx context.Context, st *store.StepWrite, values []any) error {
	values, err := w.bind(values)
	if err != nil {
		return err
	}
	at := instant(st.At)
	_, err = w.tx.ExecContext(ctx, w.sql().insert, append(values, st.Version, st.Event, at, at, at)...)
	if _, _, ok := duplicate(err); !ok {
		return w.failed(ctx, err)
	}
	if there := w.conflict(ctx, 0); there.err == nil && there.Version > 0 {
		return &store.ExistsError{Machine: w.commit.Machine, ID: w.commit.ID}
	}
	return w.failed(ctx, err)
}

func (w *writer) move(ctx context.Context, st *store.StepWrite, values []any) error {
	var entered any
	if st.Entered {
		entered = instant(st.At)
	}
	query, columns := w.sql().updates.of(st.Changed(values))
	args := make([]any, len(columns), len(columns)+7)
	for n, i := range columns {
		args[n] = values[i]
	}
	args, err := w.bind(args)
	if err != nil {
		return err
	}
	args = append(args, st.Version, st.Event, entered, instant(st.At), w.commit.IDValue, st.From, st.Version-1)
	moved, err := w.exec(ctx, query, args...)
	if err != nil || moved == 1 {
		return err
	}
	return w.conflict(ctx, st.Version-1).error()
}

// bind is bindAll for the columns of the record.
func (w *writer) bind(values []any) ([]any, error) {
	bound, err := bindAll(values)
	if err != nil {
		return nil, &store.RefusedError{Machine: w.commit.Machine, ID: w.commit.ID, Err: err}
	}
	return bound, nil
}

// table writes a row of another table of the machine. An upsert first tries to update the row, and
// inserts it if there is none. It can't use ON CONFLICT: the triggers that refuse OR REPLACE refuse
// every INSERT of a key that exists.
func (w *writer) table(ctx context.Context, tw fsm.TableWrite) error {
	if tw.Op == fsm.EffectUpsert {
		change := tw
		change.Op = fsm.EffectUpdate
		if len(change.Columns) == 0 {
			change.Columns = tw.Key
		}
		if n, err := w.row(ctx, change); err != nil || n > 0 {
			return err
		}
	}
	_, err := w.row(ctx, tw)
	return err
}

// row runs one statement of a table effect and returns the number of changed rows.
func (w *writer) row(ctx context.Context, tw fsm.TableWrite) (int64, error) {
	query, args, err := tableWrite(tw)
	if err != nil {
		return 0, &store.RefusedError{Machine: w.commit.Machine, ID: w.commit.ID, Err: err}
	}
	if args, err = bindAll(args); err != nil {
		return 0, &store.RefusedError{Machine: w.commit.Machine, ID: w.commit.ID, Err: fmt.Errorf("table %s: %w", tw.Table, err)}
	}
	return w.exec(ctx, query, args...)
}

// key inserts an idempotency key. It returns a *store.KeyError if the key exists.
func (w *writer) key(ctx context.Context, k store.IdempotencyKey) error {
	n, err := w.exec(ctx, insertKey, k.Machine, k.Key, k.RecordID, k.Event, k.Version, instant(k.CreatedAt))
	if err != nil || n == 1 {
		return err
	}
	there, err := keysOf(ctx, w.tx, k.Machine, []string{k.Key})
	if err != nil || len(there) == 0 {
		return wrap("look up key "+k.Key, err)
	}
	return &store.KeyError{Machine: k.Machine, Key: k.Key, RecordID: there[0].RecordID, Event: there[0].Event}
}

// exec runs a statement and returns the number of changed rows.
func (w *writer) exec(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := w.tx.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, w.failed(ctx, err)
	}
	n, err := result.RowsAffected()
	return n, w.failed(ctx, err)
}

// failed returns the error of store.Store for an error of the database, or nil for nil.
func (w *writer) failed(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	c := w.commit
	if table, columns, ok := duplicate(err); ok && table == c.Tables.Record {
		return &store.UniqueError{Machine: c.Machine, ID: c.ID, Constraint: constraintOf(ctx, w.tx, table, columns), Err: err}
	}
	if refused(err) {
		return &store.RefusedError{Machine: c.Machine, ID: c.ID, Err: err}
	}
	return unfit(ctx, w.tx, c.Machine, c.Tables, "save "+c.Machine+" "+c.ID, cause(ctx, err))
}

// conflict is the error for a record at another version than expected. err is set if the current
// version can't be read.
type conflict struct {
	store.ConflictError
	err error
}

func (w *writer) conflict(ctx context.Context, expected int64) conflict {
	now := conflict{ConflictError: store.ConflictError{Machine: w.commit.Machine, ID: w.commit.ID, Expected: expected}}
	now.err = each(ctx, w.tx, func(c *cells) { now.Version, now.State = c.int(), c.text() }, w.sql().now, w.commit.IDValue)
	return now
}

func (c conflict) error() error {
	if c.err != nil {
		return wrap("load "+c.Machine+" "+c.ID, c.err)
	}
	return &c.ConflictError
}
