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

// manySteps queues the steps that a wave has several of in one statement a
// table and kind, and returns the commits whose steps are left.
func (p *pipeline) manySteps(wave []*engine.Commit) (left []*engine.Commit) {
	groups := map[textKey][]*engine.Commit{}
	for _, c := range wave {
		if f, ok := p.manyForm(c); ok {
			key := textKey{c.Tables.Record, f}
			groups[key] = append(groups[key], c)
		}
	}
	for _, c := range wave {
		f, _ := p.manyForm(c)
		switch group := groups[textKey{c.Tables.Record, f}]; {
		case len(group) < several:
			left = append(left, c)
		case group[0] == c:
			p.changes(f, group)
		}
	}
	return left
}

// manyForm is the form in which the steps of c may be written together with
// those of others: c is one step on, and the table allows it.
func (p *pipeline) manyForm(c *engine.Commit) (f form, ok bool) {
	if len(c.Steps) != 1 || c.Steps[0].Version == 1 || p.texts.typesOf(c.Tables) == nil {
		return 0, false
	}
	if c.Steps[0].Entered {
		return moves, true
	}
	return stays, true
}

// changes queues one step each of several records of a table.
func (p *pipeline) changes(f form, of []*engine.Commit) {
	first := changeArgs(of[0], of[0].Steps[0])
	args := make([]any, len(first))
	columns := make([][]any, len(first))
	for i := range columns {
		columns[i] = make([]any, len(of))
		args[i] = columns[i]
	}
	for row, c := range of {
		for i, v := range changeArgs(c, c.Steps[0]) {
			columns[i][row] = v
		}
	}
	p.add(subject{commit: of[0], several: of}, p.texts.of(of[0].Tables, f), args...)
}

// changesText is changeText for several records, with an array for each of its
// parameters:
//
//	WITH s AS (SELECT * FROM unnest($1::bigint[], $2::text[], …) AS s (a1, a2, …)),
//	r AS (UPDATE deals AS t SET version = s.a1, last_event = s.a2, …
//		FROM s WHERE t.deal_id = s.a4 AND t.status = s.a5 AND t.version = s.a6 RETURNING s.*),
//	h AS (INSERT INTO deal_events (…) SELECT an, … FROM r)
//	SELECT fsm_conflict('deals', 'deal_id', 'status', a7) FROM s WHERE a7 NOT IN (SELECT a7 FROM r)
func changesText(t fsm.Tables, types changeTypes, entered bool) string {
	const first = 8
	var b strings.Builder
	arrays := make([]string, len(types))
	for i, typ := range types {
		arrays[i] = fmt.Sprintf("$%d::%s[]", i+1, typ)
	}
	fmt.Fprintf(&b, "WITH s AS (SELECT * FROM unnest(%s) AS s (%s)),\n", strings.Join(arrays, ", "), places("a", 1, len(types)))
	fmt.Fprintf(&b, "r AS (UPDATE %s AS t SET version = s.a1, last_event = s.a2, updated_at = s.a3", quoted(t.Record))
	if entered {
		b.WriteString(", entered_at = s.a3")
	}
	for i, name := range t.Columns[1:] {
		fmt.Fprintf(&b, ", %s = s.a%d", quoted(name), first+i)
	}
	fmt.Fprintf(&b, " FROM s WHERE t.%s = s.a4 AND t.%s = s.a5 AND t.version = s.a6 RETURNING s.*),\nh AS (%s)\n",
		quoted(t.ID), quoted(t.State), historyText(t, "a", first+len(t.Columns)-1))
	fmt.Fprintf(&b, "SELECT fsm_conflict(%s, %s, %s, a7) FROM s WHERE a7 NOT IN (SELECT a7 FROM r)",
		literal(t.Record), literal(t.ID), literal(t.State))
	return b.String()
}

// changeTypes are the types of changeArgs in the database.
type changeTypes []string

// typesOf returns the types that learn has found; nil: none, or a column is an
// array, and arrays of arrays do not unnest into arrays.
func (x *texts) typesOf(t fsm.Tables) changeTypes {
	types, _ := x.types.Load(t.Record)
	known, _ := types.(changeTypes)
	return known
}

// learn finds out the types of the tables of which several records are written.
// It asks once a table.
func (s *Store) learn(ctx context.Context, tx pgx.Tx, commits []engine.Commit) error {
	if len(commits) < several {
		return nil
	}
	for _, c := range commits {
		if _, known := s.texts.types.Load(c.Tables.Record); known || len(c.Steps) == 0 {
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
		types := changeTypes{"bigint", "text", "timestamptz", record[c.Tables.ID], "text", "bigint", "text"}
		for _, name := range c.Tables.Columns[1:] {
			types = append(types, record[name])
		}
		for _, name := range historyColumns(c.Tables) {
			types = append(types, history[name])
		}
		if slices.ContainsFunc(types, func(typ string) bool { return strings.HasSuffix(typ, "[]") }) {
			types = nil
		}
		s.texts.types.Store(c.Tables.Record, types)
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
