package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/proptest/facts"
)

// dump logs everything that is stored.
func (run *run[Tx]) dump(ctx context.Context) error {
	histories, err := run.histories(ctx)
	if err != nil {
		return err
	}
	for _, r := range run.records {
		if err := run.dumpRecord(ctx, r, histories[place{r.machine.Name(), r.id}]); err != nil {
			return err
		}
	}
	for _, r := range run.machines {
		for _, table := range r.table.Tables {
			if err := run.dumpTable(ctx, table); err != nil {
				return err
			}
		}
	}
	messages, err := run.messages(ctx)
	if err != nil {
		return err
	}
	for _, l := range messages {
		l.LastError = fmt.Sprint(l.LastError != "") // each store has its own words
		l.Parked = false                            // each store may look at messages in another order
		run.log.printf("outbox %+v", l)
	}
	deadlines, err := run.deadlines(ctx)
	if err != nil {
		return err
	}
	for _, d := range deadlines {
		run.log.printf("deadline %+v", d)
	}
	keys, err := facts.Keys(ctx, run.subject.DB)
	if err != nil {
		return err
	}
	for _, k := range keys {
		run.log.printf("key %+v", k)
	}
	return nil
}

// dumpRecord logs a record, if it exists, and its history.
func (run *run[Tx]) dumpRecord(ctx context.Context, r record[Tx], history []facts.Step) error {
	row, err := run.read(ctx, r.machine, r.id)
	if err != nil || row.Record == nil {
		return err
	}
	text, err := marshal(row.Record)
	if err != nil {
		return err
	}
	run.log.printf("record %s v%d %s", r.machine.Name(), row.Version, text)
	for _, h := range history {
		run.log.count(Took + r.machine.Name() + "." + h.Transition)
		run.log.printf("  v%d %s: %s -%s-> %s by %s%s %s %s %s", h.Version, h.Transition, h.From, h.Event, h.To, h.By.Role, h.By.ID,
			canonical(json.RawMessage(h.Payload)), h.Correlation, h.At.Sub(startTime))
	}
	return nil
}

// dumpTable logs a table that effects write to.
func (run *run[Tx]) dumpTable(ctx context.Context, table *ir.Table) error {
	var columns, keys []string
	for _, f := range table.Columns {
		columns = append(columns, f.Text)
	}
	for _, f := range table.Key {
		keys = append(keys, f.Text)
	}
	query := fmt.Sprintf("SELECT %s FROM %s ORDER BY %s", strings.Join(columns, ", "), table.Text, strings.Join(keys, ", "))
	return facts.Query(ctx, run.subject.DB, query, func(c *facts.Row) {
		var row []string
		for _, f := range table.Columns {
			row = append(row, f.Text+" "+columnText(c, f.Type))
		}
		run.log.printf("table %s: %s", table.Text, strings.Join(row, ", "))
	})
}

// columnText returns a value of a type as text. Null is empty text, and for bool false.
func columnText(r *facts.Row, t ir.Type) string {
	switch t.Base {
	case ir.Bool:
		return fmt.Sprint(r.Bool())
	case ir.Time:
		return fmt.Sprint(r.Time())
	case ir.JSON, ir.ListOf:
		return canonical(json.RawMessage(r.Text()))
	case ir.String, ir.Int, ir.Duration, ir.UUID, ir.EnumOf:
		return r.Text()
	}
	panic(ir.NoForm("simulate.columnText", t.Base))
}
