package simulate

import (
	"context"
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// dump writes down everything that is stored.
func (p *play[Tx]) dump(ctx context.Context) error {
	for _, r := range p.records {
		if err := p.dumpRecord(ctx, r); err != nil {
			return err
		}
	}
	for _, r := range p.roles {
		for _, table := range r.table.Tables {
			if err := p.dumpTable(ctx, table); err != nil {
				return err
			}
		}
	}
	letters, err := p.letters(ctx)
	if err != nil {
		return err
	}
	for _, l := range letters {
		l.lastError = fmt.Sprint(l.lastError != "") // stores word theirs in their own ways
		l.parked = false                            // stores may look at messages in another order
		p.journal.say("outbox %+v", l)
	}
	deadlines, err := p.deadlines(ctx)
	if err != nil {
		return err
	}
	for _, d := range deadlines {
		p.journal.say("deadline %+v", d)
	}
	keys, err := p.keys(ctx)
	if err != nil {
		return err
	}
	for _, k := range keys {
		p.journal.say("key %+v", k)
	}
	return nil
}

// dumpRecord writes down a record, if it is there, and its history.
func (p *play[Tx]) dumpRecord(ctx context.Context, r record[Tx]) error {
	row, err := p.read(ctx, r.role, r.id)
	if err != nil || row.Record == nil {
		return err
	}
	text, err := marshal(row.Record)
	if err != nil {
		return err
	}
	p.journal.say("record %s v%d %s", r.role.Name(), row.Version, text)
	history, err := p.history(ctx, r)
	if err != nil {
		return err
	}
	for _, h := range history {
		p.journal.count(Took + r.role.Name() + "." + h.Transition)
		p.journal.say("  v%d %s: %s -%s-> %s by %s%s %s %s %s", h.Version, h.Transition, h.From, h.Event, h.To, h.By.Role, h.By.ID,
			canonical(h.Payload), h.Correlation, h.At.Sub(epoch))
	}
	return nil
}

// dumpTable writes down a table that effects write to.
func (p *play[Tx]) dumpTable(ctx context.Context, table *ir.Table) error {
	var columns, keys []string
	for _, f := range table.Columns {
		columns = append(columns, f.Text)
	}
	for _, f := range table.Key {
		keys = append(keys, f.Text)
	}
	query := fmt.Sprintf("SELECT %s FROM %s ORDER BY %s", strings.Join(columns, ", "), table.Text, strings.Join(keys, ", "))
	return p.each(ctx, query, func(c *cells) {
		var row []string
		for _, f := range table.Columns {
			row = append(row, f.Text+" "+c.value(f.Type))
		}
		p.journal.say("table %s: %s", table.Text, strings.Join(row, ", "))
	})
}
