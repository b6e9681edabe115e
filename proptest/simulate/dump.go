package simulate

import (
	"context"
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// dump logs everything that is stored.
func (run *run[Tx]) dump(ctx context.Context) error {
	for _, r := range run.records {
		if err := run.dumpRecord(ctx, r); err != nil {
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
	messages, err := run.storedMessages(ctx)
	if err != nil {
		return err
	}
	for _, l := range messages {
		l.lastError = fmt.Sprint(l.lastError != "") // each store has its own words
		l.parked = false                            // each store may look at messages in another order
		run.log.printf("outbox %+v", l)
	}
	deadlines, err := run.deadlines(ctx)
	if err != nil {
		return err
	}
	for _, d := range deadlines {
		run.log.printf("deadline %+v", d)
	}
	keys, err := run.keys(ctx)
	if err != nil {
		return err
	}
	for _, k := range keys {
		run.log.printf("key %+v", k)
	}
	return nil
}

// dumpRecord logs a record, if it exists, and its history.
func (run *run[Tx]) dumpRecord(ctx context.Context, r record[Tx]) error {
	row, err := run.read(ctx, r.machine, r.id)
	if err != nil || row.Record == nil {
		return err
	}
	text, err := marshal(row.Record)
	if err != nil {
		return err
	}
	run.log.printf("record %s v%d %s", r.machine.Name(), row.Version, text)
	history, err := run.history(ctx, r)
	if err != nil {
		return err
	}
	for _, h := range history {
		run.log.count(Took + r.machine.Name() + "." + h.Transition)
		run.log.printf("  v%d %s: %s -%s-> %s by %s%s %s %s %s", h.Version, h.Transition, h.From, h.Event, h.To, h.By.Role, h.By.ID,
			canonical(h.Payload), h.Correlation, h.At.Sub(startTime))
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
	return run.each(ctx, query, func(c *cells) {
		var row []string
		for _, f := range table.Columns {
			row = append(row, f.Text+" "+c.value(f.Type))
		}
		run.log.printf("table %s: %s", table.Text, strings.Join(row, ", "))
	})
}
