package postgres

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// steps queues the steps of a wave, or the lock of a record without steps.
func (p *pipeline) steps(wave []*engine.Commit) {
	for _, c := range p.manySteps(wave) {
		for _, s := range c.Steps {
			about := subject{commit: c, expected: s.Version - 1}
			if s.Version == 1 {
				p.add(about, p.texts.of(c.Tables, insertion), insertionArgs(c, s)...)
			} else if s.Entered {
				p.add(about, p.texts.of(c.Tables, move), changeArgs(c, s)...)
			} else {
				p.add(about, p.texts.of(c.Tables, stay), changeArgs(c, s)...)
			}
		}
		if len(c.Steps) == 0 && c.Expect > 0 {
			p.add(subject{commit: c, expected: c.Expect}, p.texts.of(c.Tables, expect), c.Key, c.Expect, c.ID)
		}
	}
}

// form tells the statements about a record apart.
type form int

const (
	insertion form = iota // a record begins
	move                  // the step enters a state
	stay                  // the step is internal
	moves                 // move, of several records
	stays                 // stay, of several records
	expect                // no step: the record must be at a version
	one                   // a record is read
	all                   // several records are read
)

// texts remembers the statements of each record table: building one takes about
// as long as sending it.
type texts struct {
	known sync.Map // of textKey to string
	types sync.Map // of the name of a record table to changeTypes
}

type textKey struct {
	table string
	form  form
}

func (x *texts) of(t fsm.Tables, f form) string {
	key := textKey{t.Record, f}
	if sql, ok := x.known.Load(key); ok {
		return sql.(string)
	}
	var sql string
	switch f {
	case insertion:
		sql = insertionText(t)
	case move, stay:
		sql = changeText(t, f == move)
	case expect:
		sql = expectText(t)
	case one:
		sql = selectRecords(t) + " WHERE " + quoted(t.ID) + " = $1"
	case all:
		sql = selectRecords(t) + " WHERE " + quoted(t.ID) + " = ANY($1)"
	case moves, stays:
		sql = changesText(t, x.typesOf(t), f == moves)
	}
	x.known.Store(key, sql)
	return sql
}

// insertionText creates a record with its first history row:
//
//	WITH r AS (INSERT INTO deals (deal_id, …, version, last_event, entered_at, created_at, updated_at)
//		VALUES ($1, …, $n, $n+1, $n+2, $n+3, $n+3, $n+3) RETURNING 1)
//	INSERT INTO deal_events (…) SELECT $n+4, … FROM r
func insertionText(t fsm.Tables) string {
	n := len(t.Columns)
	return fmt.Sprintf("WITH r AS (INSERT INTO %s (%s, version, last_event, entered_at, created_at, updated_at) VALUES (%s, $%[4]d, $%[4]d, $%[4]d) RETURNING 1)\n",
		quoted(t.Record), quotedAll(t.Columns), places("$", 1, n+2), n+3) + historyText(t, "$", n+4)
}

func insertionArgs(c *engine.Commit, s engine.StepWrite) []any {
	return append(append(s.Record.Values(), s.Version, s.Event, s.At), historyArgs(c, s)...)
}

// changeText moves a record on if it is where it was read:
//
//	WITH r AS (UPDATE deals SET version = $1, last_event = $2, updated_at = $3, entered_at = $3, status = $8, …
//		WHERE deal_id = $4 AND status = $5 AND version = $6 RETURNING 1),
//	h AS (INSERT INTO deal_events (…) SELECT $n, … FROM r)
//	SELECT fsm_conflict('deals', 'deal_id', 'status', $7) WHERE NOT EXISTS (SELECT FROM r)
func changeText(t fsm.Tables, entered bool) string {
	const first = 8
	var b strings.Builder
	fmt.Fprintf(&b, "WITH r AS (UPDATE %s SET version = $1, last_event = $2, updated_at = $3", quoted(t.Record))
	if entered {
		b.WriteString(", entered_at = $3")
	}
	for i, name := range t.Columns[1:] {
		fmt.Fprintf(&b, ", %s = $%d", quoted(name), first+i)
	}
	fmt.Fprintf(&b, " WHERE %s = $4 AND %s = $5 AND version = $6 RETURNING 1),\nh AS (%s)\n%s",
		quoted(t.ID), quoted(t.State), historyText(t, "$", first+len(t.Columns)-1), fenceText(t, 7))
	return b.String()
}

func changeArgs(c *engine.Commit, s engine.StepWrite) []any {
	args := append(make([]any, 0, 64), s.Version, s.Event, s.At, c.Key, s.From, s.Version-1, c.ID)
	return append(append(args, s.Record.Values()[1:]...), historyArgs(c, s)...)
}

// expectText locks the record, which must be at a version.
func expectText(t fsm.Tables) string {
	return fmt.Sprintf("WITH r AS (SELECT 1 FROM %s WHERE %s = $1 AND version = $2 FOR NO KEY UPDATE)\n%s",
		quoted(t.Record), quoted(t.ID), fenceText(t, 3))
}

// historyText inserts the history row of a step if r found the record. Its
// values are historyArgs, called prefix and a number, from first on.
func historyText(t fsm.Tables, prefix string, first int) string {
	columns := historyColumns(t)
	return fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM r", quoted(t.History), quotedAll(columns), places(prefix, first, len(columns)))
}

func historyColumns(t fsm.Tables) []string {
	return []string{
		"event_id", t.ID, "version", "event_type", t.From, t.To, "transition",
		"actor_role", "actor_id", "payload", "correlation_id", "created_at",
	}
}

func historyArgs(c *engine.Commit, s engine.StepWrite) []any {
	return []any{
		s.EventID.String(), c.Key, s.Version, s.Event, nullable(s.From), s.To, s.Transition,
		nullable(s.By.Role), nullable(s.By.ID), nullable(s.Payload), nullable(s.Correlation), s.At,
	}
}

// fenceText fails the statement if r found nothing; $id is the id as text.
func fenceText(t fsm.Tables, id int) string {
	return fmt.Sprintf("SELECT fsm_conflict(%s, %s, %s, $%d) WHERE NOT EXISTS (SELECT FROM r)",
		literal(t.Record), literal(t.ID), literal(t.State), id)
}

// places lists n names, prefix and a number from first on: parameters where it
// is "$".
func places(prefix string, first, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = prefix + strconv.Itoa(first+i)
	}
	return strings.Join(list, ", ")
}

// literal returns an SQL string.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

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
	first := len(q.args) + 1
	q.args = append(q.args, values...)
	return places("$", first, len(values))
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
