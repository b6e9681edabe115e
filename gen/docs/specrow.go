package docs

import (
	"slices"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// specRow is one row as the spec has it, put together again from the rows it
// was expanded to.
type specRow struct {
	*ir.Row // the first of them
	number  int
	from    []string // "*" for a wildcard, none for creation
	on      []string
	by      []string
}

// specRows returns the rows of m in spec order, numbered from 1.
func specRows(m *ir.Machine) []*specRow {
	var rows []*specRow
	for i, r := range m.Rows {
		if i == 0 || m.Rows[i-1].Group != r.Group {
			rows = append(rows, &specRow{Row: r, number: len(rows) + 1})
		}
		s := rows[len(rows)-1]
		s.on = appendNew(s.on, r.Event.Text)
		switch {
		case r.Wildcard:
			s.from = []string{"*"}
		case r.From != nil:
			s.from = appendNew(s.from, r.From.Text)
		}
		for _, a := range r.By {
			s.by = appendNew(s.by, a.Text)
		}
	}
	return rows
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// guards are the lines of the guard cell.
func (s *specRow) guards() string {
	if s.Otherwise {
		return "otherwise"
	}
	return lines(clauseTexts(s.When))
}

// sources is the From cell.
func (s *specRow) sources() string {
	if len(s.from) == 0 {
		return "(creation)"
	}
	return codes(s.from)
}

// prioritised reports whether the rows of m differ in priority.
func prioritised(m *ir.Machine) bool {
	return slices.ContainsFunc(m.Rows, func(r *ir.Row) bool { return r.Priority != m.Rows[0].Priority })
}
