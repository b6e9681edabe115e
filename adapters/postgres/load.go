package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Load reads what the queries ask for, in one round trip. Records of one table
// that are all that is asked for are read by one statement.
func (s *Store) Load(ctx context.Context, tx pgx.Tx, queries []engine.Query) ([]engine.Row, error) {
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

func (s *Store) load(ctx context.Context, tx pgx.Tx, queries []engine.Query) ([]engine.Row, error) {
	if len(queries) == 1 && len(queries[0].Keys) == 0 && queries[0].Task == nil {
		row, err := s.loadRecord(ctx, tx, queries[0])
		return []engine.Row{row}, err
	}
	b := &pgx.Batch{}
	rows := make([]engine.Row, len(queries))
	var reads []func(pgx.BatchResults) error // of the statements, in their order
	tables := map[string][]int{}
	for i, q := range queries {
		if len(queries) >= several && len(q.Keys) == 0 && q.Task == nil {
			tables[q.Tables.Record] = append(tables[q.Tables.Record], i)
			continue
		}
		s.queueLoad(b, q)
		reads = append(reads, func(results pgx.BatchResults) (err error) {
			rows[i], err = loaded(results, q)
			return wrap("load "+q.Machine+" "+q.ID, err)
		})
	}
	for _, which := range tables {
		s.queueRecords(b, queries, which)
		reads = append(reads, func(results pgx.BatchResults) error {
			return wrap("load", recordsLoaded(results, queries, which, rows))
		})
	}
	results := reading(ctx, tx, b)
	for _, read := range reads {
		if err := read(results); err != nil {
			_ = results.Close() // says the same
			return nil, err
		}
	}
	return rows, wrap("load", results.Close())
}

// loadRecord reads one record and nothing else, which takes no batch.
func (s *Store) loadRecord(ctx context.Context, tx pgx.Tx, q engine.Query) (row engine.Row, err error) {
	rows, err := readingOne(ctx, tx, s.texts.of(q.Tables, one), q.Key)
	err = scanAll(rows, err, func(rows pgx.Rows) error {
		row = scanRecord(rows, q.Machine, q.ID, q.Into)
		return nil
	})
	if err != nil {
		return row, wrap("load "+q.Machine+" "+q.ID, err)
	}
	return row, nil
}

// queueRecords queues the statement for the records of one table.
func (s *Store) queueRecords(b *pgx.Batch, queries []engine.Query, which []int) {
	keys := column(which, func(i int) any { return queries[i].Key })
	b.Queue(s.texts.of(queries[which[0]].Tables, all), keys)
}

// recordsLoaded reads the results of queueRecords.
func recordsLoaded(results pgx.BatchResults, queries []engine.Query, which []int, into []engine.Row) error {
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

	selectHeldEffect = `SELECT cancelled FROM fsm_outbox
		WHERE message_id = $1 AND state = 'delivering' AND lease_token = $2`
	selectHeldDeadline = `SELECT false FROM fsm_deadlines
		WHERE machine = $1 AND record_id = $2 AND kind = $3 AND lease_token = $4`
)

// queueLoad queues the statements of a query. The task comes last: what it says
// is never older than the record.
func (s *Store) queueLoad(b *pgx.Batch, q engine.Query) {
	b.Queue(s.texts.of(q.Tables, one), q.Key)
	if len(q.Keys) > 0 {
		b.Queue(selectKeys, q.Machine, q.Keys)
	}
	switch {
	case q.Task == nil:
	case q.Task.Kind == engine.TaskEffect:
		b.Queue(selectHeldEffect, q.Task.MessageID, q.Task.Token.String())
	default:
		b.Queue(selectHeldDeadline, q.Machine, q.ID, string(q.Task.Timer), q.Task.Token.String())
	}
}

// loaded reads the results of queueLoad.
func loaded(results pgx.BatchResults, q engine.Query) (row engine.Row, err error) {
	err = each(results, func(rows pgx.Rows) error {
		row = scanRecord(rows, q.Machine, q.ID, q.Into)
		return nil
	})
	if err == nil && len(q.Keys) > 0 {
		err = each(results, func(rows pgx.Rows) error {
			k, err := scanKey(rows)
			row.Keys = append(row.Keys, k)
			return err
		})
	}
	if err == nil && q.Task != nil {
		err = each(results, func(rows pgx.Rows) error {
			row.Held = true
			return rows.Scan(&row.Cancelled)
		})
	}
	return row, err
}

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

func scanKey(rows pgx.Rows) (k engine.KeyRow, err error) {
	err = rows.Scan(&k.Machine, &k.Key, &k.RecordID, &k.Event, &k.Version, instant(&k.CreatedAt))
	return k, err
}

// selectRecords is a query for whole records without its condition.
func selectRecords(t fsm.Tables) string {
	return "SELECT " + quotedAll(t.Columns) + ", version, entered_at FROM " + quoted(t.Record)
}

// scanRecord reads a row of selectRecords into a blank record.
func scanRecord(rows pgx.Rows, machine, id string, into fsm.Record) engine.Row {
	row := engine.Row{Record: into}
	dest := append(into.Pointers(), &row.Version, instant(&row.EnteredAt))
	if err := scan(rows, dest...); err != nil {
		if id == "" {
			id = idOf(rows)
		}
		return engine.Row{Version: row.Version, Err: &engine.CorruptError{Machine: machine, ID: id, Err: err}}
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
