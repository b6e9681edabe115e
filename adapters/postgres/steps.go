package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// several is how many steps of one kind, or writes, are worth a statement for all
// of them. BenchmarkSaveMany: for three that took the server a fifth less, for
// two about as much, and of two each is named when it is refused.
const several = 3

// change is one step of a record, and what it writes.
type change struct {
	commit  *store.Commit
	step    *store.StepWrite
	values  []any // of the record after it
	columns []int // that it writes
}

// manySteps queues the steps of this level (the first of each commit, the second
// and so on) that a wave has several of, in one statement a table and kind, and
// returns the commits whose steps are left.
func (p *pipeline) manySteps(wave []*store.Commit, level int) (left []*store.Commit) {
	if len(wave) < several {
		return wave
	}
	groups := map[textKey][]change{}
	var order []textKey
	for _, c := range wave {
		if !p.texts.knowsMachine(c.Tables) {
			left = append(left, c)
			continue
		}
		ch, f := manyForm(c, level)
		key := textKey{table: c.Tables.Record, form: f}
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], ch)
	}
	for _, key := range order {
		if group := groups[key]; len(group) >= several {
			p.changes(key.form, group, level)
			continue
		}
		for _, ch := range groups[key] {
			left = append(left, ch.commit)
		}
	}
	return left
}

// manyForm is the form in which a step of c is written together with those of
// other records.
func manyForm(c *store.Commit, level int) (change, form) {
	s := &c.Steps[level]
	ch := change{commit: c, step: s, values: s.Record.Values()}
	if s.Version == 1 {
		ch.columns = everyColumn(c.Tables)
		return ch, insertions
	}
	ch.columns = s.Changed(ch.values)
	if s.Entered {
		return ch, moves
	}
	return ch, stays
}

// changes queues one step each of several records of a table. What only some of
// them change is written to all, as it was.
func (p *pipeline) changes(f form, of []change, level int) {
	first := of[0].commit
	var union []int
	for _, ch := range of {
		union = append(union, ch.columns...)
	}
	slices.Sort(union)
	sql, columns := p.texts.step(first.Tables, stepShape{form: f, columns: slices.Compact(union)})
	about := subject{commit: first, several: make([]*store.Commit, len(of)), level: level}
	rows := make([][]any, len(of))
	for n, ch := range of {
		about.several[n] = ch.commit
		rows[n] = stepArgs(nil, ch.commit, ch.step, ch.values, columns)
	}
	p.add(about, sql, arraysOf(p.texts.stepTypes(first.Tables, columns), rows)...)
}

// insertionsText is insertionText for several records. The history rows are
// inserted after all records, since each must be there by then:
//
//	WITH s AS (SELECT a1, a2, … FROM unnest($1::bigint[], $2::text[], …) AS s (a1, a2, …) LIMIT …),
//	r AS (INSERT INTO deals (version, last_event, entered_at, created_at, updated_at, deal_id, status, …)
//		SELECT a1, a2, a3, a3, a3, a4, a13, … FROM s RETURNING 1)
//	INSERT INTO deal_events (…) SELECT a1, … FROM s WHERE (SELECT count(*) FROM r) > 0
func insertionsText(t fsm.Tables, types []string) string {
	return fmt.Sprintf("WITH s AS (%s),\nr AS (INSERT INTO %s (version, last_event, entered_at, created_at, updated_at, %s) SELECT a%d, a%d, a%[6]d, a%[6]d, a%[6]d, a%d, %s FROM s RETURNING 1)\n%s WHERE (SELECT count(*) FROM r) > 0",
		arraysText(types), quoted(t.Record), quotedAll(t.Columns), atVersion, atEvent, atTime, atKey, places("a", atColumns, len(t.Columns)-1), historyText(t, "a", "s"))
}

// changesText is changeText for several records:
//
//	WITH s AS (SELECT a1, a2, … FROM unnest($1::bigint[], $2::text[], …) AS s (a1, a2, …) LIMIT …),
//	r AS (UPDATE deals AS t SET version = s.a1, last_event = s.a2, …
//		FROM s WHERE t.deal_id = s.a4 AND t.status = s.a5 AND t.version = s.a1 - 1 RETURNING s.*),
//	h AS (INSERT INTO deal_events (…) SELECT a1, … FROM r)
//	SELECT fsm_conflict('deals', 'deal_id', 'status', a4::text) FROM s WHERE a4 NOT IN (SELECT a4 FROM r)
func changesText(t fsm.Tables, types []string, w stepShape) string {
	var b strings.Builder
	fmt.Fprintf(&b, "WITH s AS (%s),\n", arraysText(types))
	fmt.Fprintf(&b, "r AS (UPDATE %s AS t SET %s FROM s WHERE t.%s = s.a%d AND t.%s = s.a%d AND t.version = s.a%d - 1 RETURNING s.*),\nh AS (%s)\n",
		quoted(t.Record), assignments(t, w.form == moves, "s.a", w.columns), quoted(t.ID), atKey, quoted(t.State), atFrom, atVersion, historyText(t, "a", "r"))
	fmt.Fprintf(&b, "SELECT fsm_conflict(%[1]s, %[2]s, %[3]s, a%[4]d::text) FROM s WHERE a%[4]d NOT IN (SELECT a%[4]d FROM r)",
		literal(t.Record), literal(t.ID), literal(t.State), atKey)
	return b.String()
}

// stepTypes are the types of stepArgs.
func (x *texts) stepTypes(t fsm.Tables, columns []int) []string {
	history, record := x.typesOf(t.History), x.typesOf(t.Record)
	var types []string
	for _, name := range historyColumns(t) {
		types = append(types, history[name])
	}
	for _, i := range columns {
		types = append(types, record[t.Columns[i]])
	}
	return types
}

// typesOf returns the types of the columns of a table, by their names, that
// learn has found; nil for none.
func (x *texts) typesOf(table string) map[string]string {
	types, _ := x.types.Load(table)
	known, _ := types.(map[string]string)
	return known
}

// knowsMachine reports whether the types of all columns of a machine are known.
func (x *texts) knowsMachine(t fsm.Tables) bool {
	return knows(x.typesOf(t.Record), t.Columns) && knows(x.typesOf(t.History), historyColumns(t))
}

// knows reports whether types has all names: a table may lack a column, or have
// got it since it was asked.
func knows(types map[string]string, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return types[name] == "" })
}

// learn finds out the types of the tables to which several rows are written. It
// asks once a table.
func (s *Store) learn(ctx context.Context, tx pgx.Tx, commits []store.Commit) error {
	if len(commits) < several {
		return nil
	}
	for _, c := range commits {
		var tables []string
		if len(c.Steps) > 0 {
			tables = append(tables, c.Tables.Record, c.Tables.History)
		}
		for _, w := range c.Writes {
			tables = append(tables, w.Table)
		}
		for _, table := range tables {
			if s.texts.typesOf(table) != nil {
				continue
			}
			types, err := typesIn(ctx, tx, table)
			if err != nil {
				return err
			}
			s.texts.types.Store(table, types)
		}
	}
	return nil
}

// typesIn returns the types of a table's columns by their names.
func typesIn(ctx context.Context, tx pgx.Tx, table string) (map[string]string, error) {
	b := &pgx.Batch{}
	// Without its modifier: a cast to varchar(3) cuts what an insertion refuses.
	b.Queue(`SELECT attname::text, format_type(atttypid, -1) FROM pg_attribute
		WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped`, quoted(table))
	results := reading(ctx, tx, b)
	types := map[string]string{}
	err := each(results, func(rows pgx.Rows) error {
		var name, typ string
		if err := rows.Scan(&name, &typ); err != nil {
			return err
		}
		types[name] = typ
		return nil
	})
	if closing := results.Close(); err == nil {
		err = closing
	}
	return types, wrap("read the columns of "+table, err)
}
