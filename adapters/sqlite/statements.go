package sqlite

import (
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// statements are the statements for the tables of one machine.
type statements struct {
	// load selects a record: its columns, then version and entered_at.
	load          string
	list          [2][2]string // of all states or of one; from the start or after an id. Parameters: state, id, limit
	insert        string       // columns, version, last_event, entered_at, updated_at, created_at
	updates       *updates
	now           string // selects version and state
	history       string // selects rows of the history
	insertHistory string // inserts one
	consumer      string // selects the event that consumed a key. Parameters: record, version, event, time
}

// statementsOf returns the statements for the tables of a machine.
func (s *Store) statementsOf(t fsm.Tables) *statements {
	if known, ok := s.tables.Load(t.Record); ok {
		return known.(*statements)
	}
	made, _ := s.tables.LoadOrStore(t.Record, newStatements(t))
	return made.(*statements)
}

func newStatements(t fsm.Tables) *statements {
	record, id, state := quoted(t.Record), quoted(t.ID), quoted(t.State)
	sel := "SELECT " + quotedAll(t.Columns) + ", version, entered_at FROM " + record
	columns := "event_id, version, transition, " + quoted(t.From) + ", event_type, " + quoted(t.To) +
		", actor_role, actor_id, payload, correlation_id, created_at"
	return &statements{
		load: fmt.Sprintf("%s WHERE %s = ?", sel, id),
		list: [2][2]string{
			{fmt.Sprintf("%s ORDER BY %s LIMIT ?", sel, id), fmt.Sprintf("%s WHERE %s > ? ORDER BY %s LIMIT ?", sel, id, id)},
			{
				fmt.Sprintf("%s WHERE %s = ? ORDER BY %s LIMIT ?", sel, state, id),
				fmt.Sprintf("%s WHERE %s = ? AND %s > ? ORDER BY %s LIMIT ?", sel, state, id, id),
			},
		},
		insert: fmt.Sprintf("INSERT INTO %s (%s, version, last_event, entered_at, updated_at, created_at) VALUES (%s)",
			record, quotedAll(t.Columns), marks(len(t.Columns)+5)),
		updates: newUpdates(t),
		now:     fmt.Sprintf("SELECT version, %s FROM %s WHERE %s = ?", state, record, id),
		history: fmt.Sprintf("SELECT %s, %s, %s FROM %s AS h WHERE %s = ?3 AND version > ?4 ORDER BY version LIMIT ?5",
			columns, forced("who"), forced("why"), quoted(t.History), id),
		consumer: fmt.Sprintf("SELECT actor_role, actor_id, payload FROM %s WHERE %s = ? AND version <= ? AND event_type = ? AND created_at = ? ORDER BY version DESC LIMIT 1",
			quoted(t.History), id),
		insertHistory: fmt.Sprintf("INSERT INTO %s (%s, %s) VALUES (%s)", quoted(t.History), id, columns, marks(12)),
	}
}

// forced returns an expression for a column of fsm_forced of the history row h.
func forced(column string) string {
	return "(SELECT " + column + " FROM fsm_forced AS f WHERE f.machine = ?1 AND f.record_id = ?2 AND f.version = h.version)"
}

// page returns the statement that lists records, and its parameters. There are statements with and
// without an id: a single one would read every page from the first record.
func (s *statements) page(q store.Read) (query string, args []any) {
	ofState, above := 0, 0
	if q.State != "" {
		ofState, args = 1, append(args, q.State)
	}
	if q.After != nil {
		above, args = 1, append(args, q.After)
	}
	return s.list[ofState][above], append(args, q.Limit)
}

// marks returns a list of n parameter marks.
func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

// tableWrite returns the statement of a table effect and its parameters. For an upsert it returns
// the INSERT. It returns an error for an update without columns.
func tableWrite(w fsm.TableWrite) (string, []any, error) {
	var keys, values []any
	var where, set, names []string
	for _, c := range w.Key {
		keys = append(keys, c.Value)
		names = append(names, c.Name)
		where = append(where, quoted(c.Name)+" = ?")
	}
	for _, c := range w.Columns {
		values = append(values, c.Value)
		names = append(names, c.Name)
		set = append(set, quoted(c.Name)+" = ?")
	}
	table, this := quoted(w.Table), strings.Join(where, " AND ")
	switch w.Op {
	case fsm.EffectDelete:
		return fmt.Sprintf("DELETE FROM %s WHERE %s", table, this), keys, nil
	case fsm.EffectUpdate:
		if len(set) == 0 {
			return "", nil, fmt.Errorf("table %s: %s has no columns to write", w.Table, w.Op)
		}
		return fmt.Sprintf("UPDATE %s SET %s WHERE %s", table, strings.Join(set, ", "), this), append(values, keys...), nil
	case fsm.EffectUpsert:
		return fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table, quotedAll(names), marks(len(names))), append(keys, values...), nil
	case fsm.EffectCall, fsm.EffectLog, fsm.EffectMetric, fsm.EffectStart:
	}
	return "", nil, fmt.Errorf("table %s: %q is no write of a table", w.Table, w.Op)
}
