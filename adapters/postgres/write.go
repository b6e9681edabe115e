package postgres

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

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
