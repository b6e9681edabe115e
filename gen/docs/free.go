package docs

import (
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/gen/ir"
)

const freeIntro = "The databases see the record before and after a step, and refuse what no row makes of it. They see neither the event nor who fires it: " +
	"of these rows they take the values as they come, and the guards as true."

// free lists what the databases can't judge of each row that stores something.
func free(m *ir.Machine) *table {
	t := newTable("Row", "Event", "Values", "Guards")
	for _, s := range specRows(m) {
		if s.Reject != nil {
			continue
		}
		values, guards := freeValues(s.Row), freeGuards(m, s.Row)
		if len(values)+len(guards) > 0 {
			t.add(code(s.Text), codes(s.on), joined(values, ", "), joined(guards, "<br>"))
		}
	}
	return t
}

// freeValues are the fields that the event brings, and assignments of what the
// database does not know.
func freeValues(r *ir.Row) []string {
	var out []string
	for _, w := range r.Event.Writes {
		out = append(out, w.Field.Text)
	}
	for i := range r.Set {
		if a := &r.Set[i]; !r.Determined(a) {
			out = append(out, a.Target.Text+": "+strings.TrimSpace(a.Value.Text))
		}
	}
	return out
}

// freeGuards are guards over what the database does not know, and "otherwise" where a
// row that comes first has one.
func freeGuards(m *ir.Machine, r *ir.Row) []string {
	open := clauseTexts(slices.DeleteFunc(slices.Clone(r.When), r.Decided))
	for _, o := range r.Rivals(m.Rows) {
		switch {
		case len(r.Open(o)) == 0:
		case !r.Otherwise:
			open = append(open, "not "+o.Text)
		case !slices.Contains(open, "otherwise"):
			open = append(open, "otherwise")
		}
	}
	return open
}
