package docs

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// InspectText returns what `fsmgen inspect` shows at a terminal: aligned
// columns with the heart of [Inspection].
func InspectText(m *ir.Machine) string {
	in := Inspected(m)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", in.Machine, in.Version)
	if in.Doc != "" {
		fmt.Fprintf(&b, ": %s", oneLine(in.Doc))
	}
	b.WriteString("\n")

	list(&b, []string{"STATE", "KIND", "TERMINAL", "RECOVERABLE", "TIMEOUT", "HOLDS"}, in.States, func(s StateInfo) []string {
		return []string{s.Name, s.Kind, strconv.FormatBool(s.Terminal), strconv.FormatBool(s.Recoverable), s.Timeout.text(), strings.Join(s.Holds, ", ")}
	})
	list(&b, []string{"TRANSITION", "FROM", "EVENT", "TO", "BY", "PRIORITY", "GUARD", "DO"}, in.Transitions, func(r RowInfo) []string {
		return []string{r.Name, or(r.From, "none"), r.On, r.target(), strings.Join(r.By, ", "), strconv.Itoa(r.Priority), r.guard(), r.doings()}
	})
	list(&b, []string{"EVENT", "SOURCE", "BY", "FIELDS"}, in.Events, func(e EventInfo) []string {
		return []string{e.Name, e.Source, strings.Join(e.By, ", "), strings.Join(each(e.Fields, EventData.text), ", ")}
	})
	list(&b, []string{"EFFECT", "KIND", "DELIVERY", "TO", "ANSWERS"}, in.Effects, func(e EffectInfo) []string {
		return []string{e.Name, e.Kind, e.Delivery, or(e.To, ""), e.answers()}
	})
	list(&b, []string{"INVARIANT", "ENFORCED BY"}, in.Invariants, func(i PromiseInfo) []string {
		return []string{i.Name, strings.Join(i.EnforcedBy, "; ")}
	})
	return b.String()
}

// list writes one aligned table with a blank line before it.
func list[T any](b *strings.Builder, header []string, items []T, cells func(T) []string) {
	if len(items) == 0 {
		return
	}
	b.WriteString("\n")
	var aligned strings.Builder
	w := tabwriter.NewWriter(&aligned, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(header, "\t"))
	for _, item := range items {
		fmt.Fprintln(w, strings.Join(each(cells(item), dash), "\t"))
	}
	w.Flush() // to memory: it cannot fail
	for line := range strings.Lines(aligned.String()) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
}

// dash stands for nothing, so that columns stay apart.
func dash(cell string) string {
	if cell == "" {
		return "-"
	}
	return oneLine(cell)
}

func or(s *string, otherwise string) string {
	if s == nil {
		return otherwise
	}
	return *s
}

func (t *TimeoutInfo) text() string {
	if t == nil {
		return ""
	}
	if t.At != nil {
		return "at " + *t.At + " / " + t.Fire
	}
	return "after " + or(t.After, "") + " / " + t.Fire
}

func (r RowInfo) target() string {
	if r.Reject != nil {
		return "refused: " + *r.Reject
	}
	return or(r.To, "(stays)")
}

func (r RowInfo) guard() string {
	if r.Otherwise {
		return "otherwise"
	}
	return strings.Join(r.When, ", ")
}

func (r RowInfo) doings() string {
	do := strings.Join(r.Do, ", ")
	if r.Raise == nil {
		return do
	}
	return strings.TrimPrefix(do+", raise "+*r.Raise, ", ")
}

func (d EventData) text() string {
	s := d.Name + ": " + d.Type
	if d.Optional {
		s = d.Name + ": optional " + d.Type
	}
	return s
}

func (e EffectInfo) answers() string {
	out := append([]string{}, e.Returns...)
	if e.Fails != nil {
		out = append(out, "fails: "+*e.Fails)
	}
	if e.Lost != nil {
		out = append(out, "lost: "+*e.Lost)
	}
	return strings.Join(out, ", ")
}
