package postgres

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// steps queues the steps of a wave, or the lock of a record without steps.
func (p *pipeline) steps(wave []*engine.Commit) {
	for _, c := range wave {
		for _, s := range c.Steps {
			var q statement
			if s.Version == 1 {
				q = insertion(c, s)
			} else {
				q = change(c, s)
			}
			p.add(subject{commit: c, expected: s.Version - 1}, q.sql.String(), q.args...)
		}
		if len(c.Steps) == 0 && c.Expect > 0 {
			q := expectation(c)
			p.add(subject{commit: c, expected: c.Expect}, q.sql.String(), q.args...)
		}
	}
}

// statement is SQL with its parameters.
type statement struct {
	sql  strings.Builder
	args []any
}

func (q *statement) write(format string, args ...any) { fmt.Fprintf(&q.sql, format, args...) }

// param adds a parameter and returns its place.
func (q *statement) param(v any) string {
	q.args = append(q.args, v)
	return "$" + strconv.Itoa(len(q.args))
}

// params adds parameters and returns their places as a list.
func (q *statement) params(values []any) string {
	places := make([]string, len(values))
	for i, v := range values {
		places[i] = q.param(v)
	}
	return strings.Join(places, ", ")
}

// insertion creates a record with its first history row:
//
//	WITH r AS (INSERT INTO deals (deal_id, …) VALUES ($1, …) RETURNING 1)
//	INSERT INTO deal_events (…) SELECT $n, … FROM r
func insertion(c *engine.Commit, s engine.StepWrite) (q statement) {
	columns := append(s.Record.Columns(), "version", "last_event", "entered_at", "created_at", "updated_at")
	values := append(s.Record.Values(), s.Version, s.Event, s.At, s.At, s.At)
	q.write("WITH r AS (INSERT INTO %s (%s) VALUES (%s) RETURNING 1)\n", quoted(c.Tables.Record), quotedAll(columns), q.params(values))
	q.history(c, s)
	return q
}

// change moves a record on if it is where it was read:
//
//	WITH r AS (UPDATE deals SET … WHERE deal_id = $1 AND status = $2 AND version = $3 RETURNING 1),
//	h AS (INSERT INTO deal_events (…) SELECT $n, … FROM r)
//	SELECT fsm_conflict('deals', 'deal_id', 'status', $m) WHERE NOT EXISTS (SELECT FROM r)
func change(c *engine.Commit, s engine.StepWrite) (q statement) {
	q.write("WITH r AS (UPDATE %s SET version = %s, last_event = %s, updated_at = %s",
		quoted(c.Tables.Record), q.param(s.Version), q.param(s.Event), q.param(s.At))
	if s.Entered {
		q.write(", entered_at = %s", q.param(s.At))
	}
	values := s.Record.Values()
	for i, name := range s.Record.Columns() {
		if name != c.Tables.ID {
			q.write(", %s = %s", quoted(name), q.param(values[i]))
		}
	}
	q.write(" WHERE %s = %s AND %s = %s AND version = %s RETURNING 1),\nh AS (",
		quoted(c.Tables.ID), q.param(c.Key), quoted(c.Tables.State), q.param(s.From), q.param(s.Version-1))
	q.history(c, s)
	q.write(")\n")
	q.fence(c)
	return q
}

// expectation locks the record, which must be at a version:
//
//	WITH r AS (SELECT FROM deals WHERE deal_id = $1 AND version = $2 FOR NO KEY UPDATE)
//	SELECT fsm_conflict(…) WHERE NOT EXISTS (SELECT FROM r)
func expectation(c *engine.Commit) (q statement) {
	q.write("WITH r AS (SELECT 1 FROM %s WHERE %s = %s AND version = %s FOR NO KEY UPDATE)\n",
		quoted(c.Tables.Record), quoted(c.Tables.ID), q.param(c.Key), q.param(c.Expect))
	q.fence(c)
	return q
}

// history inserts the history row of a step if r found the record.
func (q *statement) history(c *engine.Commit, s engine.StepWrite) {
	t := c.Tables
	columns := []string{
		"event_id", t.ID, "version", "event_type", t.From, t.To, "transition",
		"actor_role", "actor_id", "payload", "correlation_id", "created_at",
	}
	values := []any{
		s.EventID.String(), c.Key, s.Version, s.Event, nullable(s.From), s.To, s.Transition,
		nullable(s.By.Role), nullable(s.By.ID), nullable(s.Payload), nullable(s.Correlation), s.At,
	}
	q.write("INSERT INTO %s (%s) SELECT %s FROM r", quoted(t.History), quotedAll(columns), q.params(values))
}

// fence fails the statement if r found nothing.
func (q *statement) fence(c *engine.Commit) {
	q.write("SELECT fsm_conflict(%s, %s, %s, %s) WHERE NOT EXISTS (SELECT FROM r)",
		q.param(c.Tables.Record), q.param(c.Tables.ID), q.param(c.Tables.State), q.param(c.ID))
}

// writes queues the effects on tables, in their order.
func (p *pipeline) writes(wave []*engine.Commit) {
	for _, c := range wave {
		for _, w := range c.Writes {
			q := tableWrite(w)
			p.add(subject{commit: c}, q.sql.String(), q.args...)
		}
	}
}

func tableWrite(w fsm.TableWrite) (q statement) {
	table := quoted(w.Table)
	switch w.Op {
	case fsm.EffectDelete:
		q.write("DELETE FROM %s WHERE %s", table, q.pairs(w.Key, " AND "))
	case fsm.EffectUpdate:
		q.write("UPDATE %s SET %s WHERE %s", table, q.pairs(w.Columns, ", "), q.pairs(w.Key, " AND "))
	default:
		all := append(w.Key[:len(w.Key):len(w.Key)], w.Columns...)
		q.write("INSERT INTO %s (%s) VALUES (%s) ON CONFLICT (%s) DO ", table, quotedAll(namesOf(all)), q.params(valuesOf(all)), quotedAll(namesOf(w.Key)))
		if len(w.Columns) == 0 {
			q.write("NOTHING")
			break
		}
		q.write("UPDATE SET ")
		for i, name := range namesOf(w.Columns) {
			if i > 0 {
				q.write(", ")
			}
			q.write("%[1]s = EXCLUDED.%[1]s", quoted(name))
		}
	}
	return q
}

// pairs returns column = $n for each column.
func (q *statement) pairs(columns []fsm.Column, separator string) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = quoted(c.Name) + " = " + q.param(c.Value)
	}
	return strings.Join(list, separator)
}

func namesOf(columns []fsm.Column) []string {
	return column(columns, func(c fsm.Column) string { return c.Name })
}

func valuesOf(columns []fsm.Column) []any {
	return column(columns, func(c fsm.Column) any { return c.Value })
}
