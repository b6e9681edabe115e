package postgres

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
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
func (p *pipeline) writes(wave []*store.Commit) {
	var r run
	for _, c := range wave {
		for _, w := range c.Writes {
			if !r.takes(c, w) {
				p.writeRun(r)
				r = run{}
			}
			r.add(c, w)
		}
	}
	p.writeRun(r)
}

// run is consecutive writes that can be one statement: upserts of different rows
// of a table, with the same columns, by one machine.
type run struct {
	commits []*store.Commit
	writes  []fsm.TableWrite
	keys    map[string]bool
}

// takes reports whether w can be the next one. Two keys that only look the same
// are taken for one, which does no harm.
func (r *run) takes(c *store.Commit, w fsm.TableWrite) bool {
	if len(r.writes) == 0 {
		return true
	}
	first := r.writes[0]
	return w.Op == fsm.EffectUpsert && first.Op == w.Op && first.Table == w.Table && r.commits[0].Machine == c.Machine &&
		slices.Equal(namesOf(first.Key), namesOf(w.Key)) && slices.Equal(namesOf(first.Columns), namesOf(w.Columns)) &&
		!r.keys[keyText(w)]
}

func (r *run) add(c *store.Commit, w fsm.TableWrite) {
	if r.keys == nil {
		r.keys = map[string]bool{}
	}
	r.commits, r.writes = append(r.commits, c), append(r.writes, w)
	r.keys[keyText(w)] = true
}

func keyText(w fsm.TableWrite) string { return fmt.Sprint(valuesOf(w.Key)...) }

// writeRun queues a run in one statement if it is long enough.
func (p *pipeline) writeRun(r run) {
	if len(r.writes) >= several {
		if types := p.texts.typesOf(r.writes[0].Table); knows(types, namesOf(written(r.writes[0]))) {
			p.upserts(r, types)
			return
		}
	}
	for i, w := range r.writes {
		q := tableWrite(w)
		p.add(subject{commit: r.commits[i]}, q.sql.String(), q.args...)
	}
}

// upserts queues a run in one statement.
func (p *pipeline) upserts(r run, of map[string]string) {
	first := r.writes[0]
	names := namesOf(written(first))
	types := column(names, func(name string) string { return of[name] })
	rows := column(r.writes, func(w fsm.TableWrite) []any { return valuesOf(written(w)) })
	sql := fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM (%s) AS s%s",
		quoted(first.Table), quotedAll(names), places("a", 1, len(names)), arraysText(types), replacing(first))
	p.add(subject{commit: r.commits[0], several: r.commits}, sql, arraysOf(types, rows)...)
}

// written are all columns of w.
func written(w fsm.TableWrite) []fsm.Column {
	return append(w.Key[:len(w.Key):len(w.Key)], w.Columns...)
}

// checkWrites refuses a write that is none of the three that a table can have.
func checkWrites(commits []store.Commit) error {
	for _, c := range commits {
		for _, w := range c.Writes {
			switch w.Op {
			case fsm.EffectUpsert, fsm.EffectUpdate, fsm.EffectDelete:
				continue
			case fsm.EffectCall, fsm.EffectLog, fsm.EffectMetric, fsm.EffectStart:
			}
			return &store.RefusedError{Machine: c.Machine, ID: c.ID, Err: fmt.Errorf("table %s: %q is no write of a table", w.Table, w.Op)}
		}
	}
	return nil
}

// tableWrite returns the statement of a write that [checkWrites] lets pass.
func tableWrite(w fsm.TableWrite) (q statement) {
	table := quoted(w.Table)
	switch w.Op {
	case fsm.EffectDelete:
		q.write("DELETE FROM %s WHERE %s", table, q.pairs(w.Key, " AND "))
	case fsm.EffectUpdate:
		q.write("UPDATE %s SET %s WHERE %s", table, q.pairs(w.Columns, ", "), q.pairs(w.Key, " AND "))
	case fsm.EffectUpsert:
		all := written(w)
		q.write("INSERT INTO %s (%s) VALUES (%s)%s", table, quotedAll(namesOf(all)), q.params(valuesOf(all)), replacing(w))
	case fsm.EffectCall, fsm.EffectLog, fsm.EffectMetric, fsm.EffectStart:
	}
	return q
}

// replacing makes an insertion an upsert.
func replacing(w fsm.TableWrite) string {
	action := "NOTHING"
	if len(w.Columns) > 0 {
		action = "UPDATE SET " + strings.Join(column(namesOf(w.Columns), func(name string) string {
			return fmt.Sprintf("%[1]s = EXCLUDED.%[1]s", quoted(name))
		}), ", ")
	}
	return " ON CONFLICT (" + quotedAll(namesOf(w.Key)) + ") DO " + action
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
