package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// several is how many steps of one kind are worth a statement for all of them.
const several = 4

// change is one step on of a record, and what it writes.
type change struct {
	commit  *engine.Commit
	values  []any // of the record after it
	columns []int // that it changes
}

// manySteps queues the steps that a wave has several of in one statement a
// table and kind, and returns the commits whose steps are left.
func (p *pipeline) manySteps(wave []*engine.Commit) (left []*engine.Commit) {
	if len(wave) < several {
		return wave
	}
	groups := map[textKey][]change{}
	groupOf := make([]textKey, len(wave))
	for i, c := range wave {
		if ch, f, ok := p.manyForm(c); ok {
			groupOf[i] = textKey{table: c.Tables.Record, form: f}
			groups[groupOf[i]] = append(groups[groupOf[i]], ch)
		}
	}
	for i, c := range wave {
		switch group := groups[groupOf[i]]; {
		case len(group) < several:
			left = append(left, c)
		case group[0].commit == c:
			p.changes(groupOf[i].form, group)
		}
	}
	return left
}

// manyForm is the form in which the steps of c may be written together with
// those of others: c is one step on, and changes no list.
func (p *pipeline) manyForm(c *engine.Commit) (ch change, f form, ok bool) {
	types := p.texts.typesOf(c.Tables)
	if len(c.Steps) != 1 || c.Steps[0].Version == 1 || types == nil {
		return ch, 0, false
	}
	s := &c.Steps[0]
	ch = change{commit: c, values: s.Record.Values()}
	ch.columns = s.Changed(ch.values)
	for _, i := range ch.columns {
		if strings.HasSuffix(types.record[c.Tables.Columns[i]], "[]") {
			return ch, 0, false
		}
	}
	if s.Entered {
		return ch, moves, true
	}
	return ch, stays, true
}

// changes queues one step each of several records of a table. What only some of
// them change is written to all, as it was.
func (p *pipeline) changes(f form, of []change) {
	first := of[0].commit
	var union []int
	for _, ch := range of {
		union = append(union, ch.columns...)
	}
	slices.Sort(union)
	sql, columns := p.texts.step(first.Tables, stepShape{form: f, columns: slices.Compact(union)})
	args := make([]any, atColumns-1+len(columns))
	arrays := make([][]any, len(args))
	for i := range arrays {
		arrays[i] = make([]any, len(of))
		args[i] = arrays[i]
	}
	about := subject{commit: first, several: make([]*engine.Commit, len(of))}
	for row, ch := range of {
		about.several[row] = ch.commit
		for i, v := range stepArgs(nil, ch.commit, &ch.commit.Steps[0], ch.values, columns) {
			arrays[i][row] = v
		}
	}
	p.add(about, sql, args...)
}

// changesText is changeText for several records, with an array for each of its
// parameters:
//
//	WITH s AS (SELECT * FROM unnest($1::bigint[], $2::text[], …) AS s (a1, a2, …)),
//	r AS (UPDATE deals AS t SET version = s.a1, last_event = s.a2, …
//		FROM s WHERE t.deal_id = s.a4 AND t.status = s.a5 AND t.version = s.a1 - 1 RETURNING s.*),
//	h AS (INSERT INTO deal_events (…) SELECT a6, … FROM r)
//	SELECT fsm_conflict('deals', 'deal_id', 'status', a4::text) FROM s WHERE a4 NOT IN (SELECT a4 FROM r)
func changesText(t fsm.Tables, types *columnTypes, w stepShape) string {
	var all []string // in the order of stepArgs
	for _, name := range historyColumns(t) {
		all = append(all, types.history[name])
	}
	for _, i := range w.columns {
		all = append(all, types.record[t.Columns[i]])
	}
	arrays := make([]string, len(all))
	for i, typ := range all {
		arrays[i] = fmt.Sprintf("$%d::%s[]", i+1, typ)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "WITH s AS (SELECT * FROM unnest(%s) AS s (%s)),\n", strings.Join(arrays, ", "), places("a", 1, len(all)))
	fmt.Fprintf(&b, "r AS (UPDATE %s AS t SET %s FROM s WHERE t.%s = s.a%d AND t.%s = s.a%d AND t.version = s.a%d - 1 RETURNING s.*),\nh AS (%s)\n",
		quoted(t.Record), assignments(t, w.form == moves, "s.a", w.columns), quoted(t.ID), atKey, quoted(t.State), atFrom, atVersion, historyText(t, "a"))
	fmt.Fprintf(&b, "SELECT fsm_conflict(%[1]s, %[2]s, %[3]s, a%[4]d::text) FROM s WHERE a%[4]d NOT IN (SELECT a%[4]d FROM r)",
		literal(t.Record), literal(t.ID), literal(t.State), atKey)
	return b.String()
}

// columnTypes are the types of the columns of a machine, by their names.
type columnTypes struct{ record, history map[string]string }

// typesOf returns the types that learn has found, nil for none.
func (x *texts) typesOf(t fsm.Tables) *columnTypes {
	types, _ := x.types.Load(t.Record)
	known, _ := types.(*columnTypes)
	return known
}

// learn finds out the types of the tables of which several records are written.
// It asks once a table.
func (s *Store) learn(ctx context.Context, tx pgx.Tx, commits []engine.Commit) error {
	if len(commits) < several {
		return nil
	}
	for _, c := range commits {
		if s.texts.typesOf(c.Tables) != nil || len(c.Steps) == 0 {
			continue
		}
		record, err := typesIn(ctx, tx, c.Tables.Record)
		if err != nil {
			return err
		}
		history, err := typesIn(ctx, tx, c.Tables.History)
		if err != nil {
			return err
		}
		s.texts.types.Store(c.Tables.Record, &columnTypes{record, history})
	}
	return nil
}

// typesIn returns the types of a table's columns by their names.
func typesIn(ctx context.Context, tx pgx.Tx, table string) (map[string]string, error) {
	b := &pgx.Batch{}
	b.Queue(`SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute
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
