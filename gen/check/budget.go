package check

import (
	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// maxWork bounds what the rules of one machine evaluate in all, about one clause
// each. The most that a table of ours needs is 90,000, wal.
const maxWork = 200_000_000

// budget is the work that is left for a machine.
type budget struct{ left int }

// spent reports whether nothing is left: the rules then look at no more cases.
func (b *budget) spent() bool { return b.left <= 0 }

// afford takes the work of one enumeration from the budget and returns its
// limit, or 0 if nothing is left. That is reported once, where it happens.
func (s *subject) afford(d *domain.Space, sc scene, limit, clauses int) int {
	if s.budget.spent() {
		return 0
	}
	work := (1 + clauses) * int(min(d.Size(), uint64(limit)))
	for _, class := range d.Classes {
		work += len(class) * len(class) / 8 // telling the values apart
	}
	if s.budget.left -= work; !s.budget.spent() {
		return limit
	}
	where := "at the creation"
	if sc.from != nil {
		where = "in state \"" + sc.from.Text + "\""
	}
	if sc.event != nil {
		where = "of " + sc.event.Text + " " + where
	}
	s.report(ir.CodeTooLarge, s.m.Span, "split the machine, or let its guards compare fewer fields and shorter lists", "the guards have more cases than are checked; the limit was reached with those %s", where)
	return 0
}
