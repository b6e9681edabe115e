package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// Load implements store.Store, in one round trip. If it reads only records of one table, it needs
// one statement.
func (s *Store) Load(ctx context.Context, tx pgx.Tx, queries []store.Query) ([]store.Row, error) {
	if err := s.current(ctx, tx); err != nil {
		return nil, err
	}
	rows, err := s.load(ctx, tx, queries)
	if !lacksColumn(err) {
		return rows, err
	}
	for _, q := range queries {
		if misfit := s.misfit(ctx, tx, q.Machine, q.Tables); misfit != nil {
			return nil, misfit
		}
	}
	return nil, err
}

func (s *Store) load(ctx context.Context, tx pgx.Tx, queries []store.Query) ([]store.Row, error) {
	if len(queries) == 1 && bare(queries[0]) {
		row, err := s.loadRecord(ctx, tx, queries[0])
		return []store.Row{row}, err
	}
	l := loading{queries: queries, rows: make([]store.Row, len(queries))}
	l.records(&s.texts)
	l.rest()
	send := reading
	if slices.ContainsFunc(queries, locks) {
		send = func(ctx context.Context, tx pgx.Tx, b *pgx.Batch) pgx.BatchResults { return tx.SendBatch(ctx, b) }
	}
	results := send(ctx, tx, &l.batch)
	for _, read := range l.reads {
		if err := read(results); err != nil {
			_ = results.Close() // says the same
			return nil, err
		}
	}
	if err := results.Close(); err != nil {
		return nil, wrap("load", err)
	}
	for i, q := range queries {
		for n := range l.rows[i].IdempotencyKeys {
			if err := s.consumer(ctx, tx, q, &l.rows[i].IdempotencyKeys[n]); err != nil {
				return nil, err
			}
		}
	}
	return l.rows, nil
}

// consumer reads which event consumed a key, and with which payload. Of a chain an earlier
// row than that of the key's version has the event.
func (s *Store) consumer(ctx context.Context, tx pgx.Tx, q store.Query, k *store.IdempotencyKey) error {
	id, history := quoted(q.Tables.ID), quoted(q.Tables.History)
	rows, err := readingOne(ctx, tx, "SELECT actor_role, actor_id::text, payload FROM "+history+" WHERE "+id+` = $1
			AND version <= $2 AND event_type = $3 AND created_at = $4 ORDER BY version DESC LIMIT 1`,
		k.RecordID, k.Version, k.Event, k.CreatedAt)
	err = scanAll(rows, err, func(rows pgx.Rows) error {
		var payload []byte
		err := scan(rows, text{&k.By.Role}, text{&k.By.ID}, &payload)
		k.Payload = payload
		return err
	})
	return wrap("load the event of key "+k.Key, err)
}

// bare reports whether a query asks for nothing but its record.
func bare(q store.Query) bool {
	return len(q.IdempotencyKeys) == 0 && q.Task == nil && !q.OnlyPending && !q.Lock
}

func locks(q store.Query) bool { return q.Lock }

// severalRecords is how many records are worth a query for all of them.
const severalRecords = 4

// loading is a Load under way: its statements, and what reads their results in
// the same order.
type loading struct {
	queries []store.Query
	rows    []store.Row
	batch   pgx.Batch
	reads   []func(pgx.BatchResults) error
}

func (l *loading) add(read func(pgx.BatchResults) error, sql string, args ...any) {
	l.batch.Queue(sql, args...)
	l.reads = append(l.reads, read)
}

// records queues the statements for the records: one a table where there are
// several.
func (l *loading) records(x *texts) {
	tables := map[string][]int{}
	for i, q := range l.queries {
		if len(l.queries) >= severalRecords && !q.Lock {
			tables[q.Tables.Record] = append(tables[q.Tables.Record], i)
			continue
		}
		l.add(func(results pgx.BatchResults) error {
			err := each(results, func(rows pgx.Rows) error {
				l.rows[i] = scanRecord(rows, q.Machine, q.ID, q.Into)
				return nil
			})
			return wrap("load "+q.Machine+" "+q.ID, err)
		}, x.of(q.Tables, one)+locking(q), q.IDValue)
	}
	for _, which := range tables {
		keys := column(which, func(i int) any { return l.queries[i].IDValue })
		l.add(func(results pgx.BatchResults) error {
			return wrap("load", recordsLoaded(results, l.queries, which, l.rows))
		}, x.of(l.queries[which[0]].Tables, all), keys)
	}
}

// locking is the end of a statement for one record: the lock that an UPDATE takes.
func locking(q store.Query) string {
	if q.Lock {
		return " FOR NO KEY UPDATE"
	}
	return ""
}

// rest queues what else the queries ask for. It comes last: what it says is
// never older than the records.
func (l *loading) rest() {
	var held []int
	for i, q := range l.queries {
		if len(q.IdempotencyKeys) > 0 {
			l.add(l.about(q, func(rows pgx.Rows) error {
				k, err := scanKey(rows)
				l.rows[i].IdempotencyKeys = append(l.rows[i].IdempotencyKeys, k)
				return err
			}), selectKeys, q.Machine, q.IdempotencyKeys)
		}
		effect := q.Task != nil && q.Task.Kind == store.TaskEffect
		switch {
		case effect:
			held = append(held, i)
		case q.Task != nil:
			l.add(l.about(q, func(rows pgx.Rows) error {
				l.rows[i].Held = true
				return rows.Scan(nil)
			}), selectHeldDeadline, q.Machine, q.ID, string(q.Task.Deadline), q.Task.Token.String())
		}
		if q.OnlyPending && !effect {
			l.add(l.about(q, func(rows pgx.Rows) error { return rows.Scan(&l.rows[i].OnlyPending) }), selectAlone, q.Machine, q.ID)
		}
	}
	if len(held) > 0 {
		l.held(held)
	}
}

// held queues whether messages still carry the tokens of their tasks.
func (l *loading) held(which []int) {
	messages := column(which, func(i int) string { return l.queries[i].Task.MessageID })
	l.add(func(results pgx.BatchResults) error {
		return wrap("load", each(results, func(rows pgx.Rows) error {
			var message, token string
			var found store.Row
			if err := rows.Scan(&message, &token, &found.Cancelled, &found.OnlyPending); err != nil {
				return err
			}
			for _, i := range which {
				if q := l.queries[i]; q.Task.MessageID == message && q.Task.Token.String() == token {
					l.rows[i].Held, l.rows[i].Cancelled, l.rows[i].OnlyPending = true, found.Cancelled, found.OnlyPending && q.OnlyPending
				}
			}
			return nil
		}))
	}, selectHeldEffects, messages)
}

// about reads the rows of one statement of a query.
func (l *loading) about(q store.Query, read func(pgx.Rows) error) func(pgx.BatchResults) error {
	return func(results pgx.BatchResults) error {
		return wrap("load "+q.Machine+" "+q.ID, each(results, read))
	}
}

// loadRecord reads one record and nothing else, which takes no batch.
func (s *Store) loadRecord(ctx context.Context, tx pgx.Tx, q store.Query) (row store.Row, err error) {
	rows, err := readingOne(ctx, tx, s.texts.of(q.Tables, one), q.IDValue)
	err = scanAll(rows, err, func(rows pgx.Rows) error {
		row = scanRecord(rows, q.Machine, q.ID, q.Into)
		return nil
	})
	if err != nil {
		return row, wrap("load "+q.Machine+" "+q.ID, err)
	}
	return row, nil
}

// recordsLoaded reads the records of one table.
func recordsLoaded(results pgx.BatchResults, queries []store.Query, which []int, into []store.Row) error {
	places := map[string][]int{}
	for _, i := range which {
		places[queries[i].ID] = append(places[queries[i].ID], i)
	}
	return each(results, func(rows pgx.Rows) error {
		for _, i := range places[idOf(rows)] {
			into[i] = scanRecord(rows, queries[i].Machine, queries[i].ID, queries[i].Into)
		}
		return nil
	})
}

const (
	selectKeys = `SELECT machine, key, record_id, event, version, created_at FROM fsm_keys WHERE machine = $1 AND key = ANY($2)`

	selectHeldEffects = `SELECT o.message_id::text, o.lease_token::text, o.cancelled, NOT EXISTS (
			SELECT FROM fsm_outbox AS b WHERE b.open AND b.machine = o.machine AND b.record_id = o.record_id AND b.message_id <> o.message_id)
		FROM fsm_outbox AS o
		WHERE o.message_id = ANY($1::uuid[]) AND o.state = 'delivering'`
	selectHeldDeadline = `SELECT false FROM fsm_deadlines
		WHERE machine = $1 AND record_id = $2 AND kind = $3 AND lease_token = $4`
	selectAlone = `SELECT NOT EXISTS (SELECT FROM fsm_outbox WHERE open AND machine = $1 AND record_id = $2)`
)

// each reads the rows of the next result.
func each(results pgx.BatchResults, read func(pgx.Rows) error) error {
	rows, err := results.Query()
	return scanAll(rows, err, read)
}

// scanAll reads the rows of a query.
func scanAll(rows pgx.Rows, err error, read func(pgx.Rows) error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := read(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func scanKey(rows pgx.Rows) (k store.IdempotencyKey, err error) {
	err = rows.Scan(&k.Machine, &k.Key, &k.RecordID, &k.Event, &k.Version, instant(&k.CreatedAt))
	return k, err
}

// selectRecords is a query for whole records without its condition.
func selectRecords(t fsm.Tables) string {
	return "SELECT " + quotedAll(t.Columns) + ", version, entered_at FROM " + quoted(t.Record)
}

// scanRecord reads a row of selectRecords into a blank record.
func scanRecord(rows pgx.Rows, machine, id string, into fsm.Record) store.Row {
	row := store.Row{Record: into}
	dest := append(into.Pointers(), &row.Version, instant(&row.EnteredAt))
	if err := scan(rows, dest...); err != nil {
		if id == "" {
			id = idOf(rows)
		}
		return store.Row{Version: row.Version, Err: &store.CorruptError{Machine: machine, ID: id, Err: err}}
	}
	return row
}

// idOf returns the first column of a row that can't be read, as text.
func idOf(rows pgx.Rows) string {
	var id string
	f, raw := rows.FieldDescriptions()[0], rows.RawValues()[0]
	if err := rows.Conn().TypeMap().Scan(f.DataTypeOID, f.Format, raw, text{&id}); err != nil {
		return fmt.Sprintf("%x", raw)
	}
	return id
}
