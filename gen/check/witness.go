package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

const (
	maxNamed   = 6    // variables that one case names
	maxBoxes   = 3    // cases that one message names
	maxSimpler = 4096 // cases of a space in which a message looks for what matters
)

// test judges one case; read reads the record overlaid by the event.
type test = func(read reader) bool

// finding is what a search says: that a case exists, that none does, or, where
// the cases could only be sampled, that it does not know.
type finding struct {
	found     bool
	undecided bool
	// when names the values of a case, with leading words, such as " when
	// tries = 3 or 4, cash = true". It is empty where the values do not matter.
	when string
}

// find looks for a case that is bad.
func (sp space) find(bad test) finding {
	out := finding{undecided: !sp.exhaustive}
	sp.each(func(a domain.Assignment, read reader) bool {
		if !bad(read) {
			return true
		}
		out = finding{found: true, when: sp.describe(a)}
		if sp.simple() {
			out.when = sp.boxes(bad)[0].String(sp)
		}
		return false
	})
	if out.when != "" {
		out.when = " when " + out.when
		if !sp.exhaustive {
			out.when += " (sampled)"
		}
	}
	return out
}

// simple reports whether a message can afford to look for what matters.
func (sp space) simple() bool { return sp.exhaustive && sp.Size() <= maxSimpler }

// all names every bad case, at most maxBoxes of them.
func (sp space) all(bad test) finding {
	out := sp.find(bad)
	if !out.found || !sp.simple() {
		return out
	}
	boxes := sp.boxes(bad)
	var texts []string
	for _, b := range boxes {
		texts = append(texts, b.String(sp))
	}
	if len(texts) > maxBoxes {
		texts = append(texts[:maxBoxes], fmt.Sprintf("in %d more cases", len(boxes)-maxBoxes))
	}
	out.when = ""
	if texts[0] != "" {
		out.when = " when " + strings.Join(texts, "; or ")
	}
	return out
}

// box is a set of cases: for each variable the values, by index, that it can
// have. All of them are bad or impossible.
type box [][]int

// boxes covers the bad cases of an exhaustive space by boxes as large as they
// grow from one case, so that a message names only what matters.
func (sp space) boxes(bad test) []box {
	var ok []bool // per case, in the order of All
	var open []int
	for a := range sp.All(sp.limit, seed) {
		possible := allHold(sp.facts, a.Reader(nil))
		wrong := possible && bad(a.Reader(sp.event))
		if wrong {
			open = append(open, len(ok))
		}
		ok = append(ok, possible && !wrong)
	}
	var out []box
	for len(open) > 0 {
		b := sp.grow(sp.at(open[0]), ok)
		out = append(out, b)
		open = slices.DeleteFunc(open, func(i int) bool { return b.contains(sp.at(i)) })
	}
	return out
}

// at splits the number of a case into the value indices of its variables.
func (sp space) at(number int) []int {
	out := make([]int, len(sp.Vars))
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = number % len(sp.Classes[i])
		number /= len(sp.Classes[i])
	}
	return out
}

func (b box) contains(at []int) bool {
	for i, v := range at {
		if !slices.Contains(b[i], v) {
			return false
		}
	}
	return true
}

// grow widens a case by every value that adds no good case.
func (sp space) grow(at []int, ok []bool) box {
	b := make(box, len(at))
	for i, v := range at {
		b[i] = []int{v}
	}
	for i := range b {
		for v := range sp.Classes[i] {
			if v == at[i] {
				continue
			}
			wider := slices.Clone(b)
			wider[i] = []int{v}
			if sp.without(wider, ok, 0, 0) {
				b[i] = append(b[i], v)
			}
		}
		slices.Sort(b[i])
	}
	return b
}

// without reports whether no case of b is good. It walks the variables from
// the i-th, number being the case so far.
func (sp space) without(b box, ok []bool, i, number int) bool {
	if i == len(b) {
		return !ok[number]
	}
	for _, v := range b[i] {
		if !sp.without(b, ok, i+1, number*len(sp.Classes[i])+v) {
			return false
		}
	}
	return true
}

// String names the variables that the box restricts.
func (b box) String(sp space) string {
	var parts []string
	for i, values := range b {
		if len(values) == len(sp.Classes[i]) {
			continue
		}
		texts := make([]string, len(values))
		for j, v := range values {
			texts[j] = show(sp.Classes[i][v])
		}
		parts = append(parts, sp.name(i)+" = "+strings.Join(texts, " or "))
	}
	return limited(parts)
}

// describe names the values of one case of a space that is too large to be
// searched for what matters.
func (sp space) describe(a domain.Assignment) string {
	var parts []string
	for i := range sp.Vars {
		if len(sp.Classes[i]) > 1 {
			parts = append(parts, sp.name(i)+" = "+show(a.Values[i]))
		}
	}
	return limited(parts)
}

func limited(parts []string) string {
	if len(parts) > maxNamed {
		parts = append(parts[:maxNamed], "…")
	}
	return strings.Join(parts, ", ")
}

// name is how a message calls a variable. The stored value is marked where
// the event carries another one.
func (sp space) name(i int) string {
	v := sp.Vars[i]
	switch {
	case v.Param != nil:
		return "$" + v.Param.Text
	case v.Field == nil:
		return "$" + string(v.Special)
	}
	carried := slices.ContainsFunc(sp.Vars, func(o domain.Var) bool { return o.Event != nil && o.Field == v.Field })
	if v.Event == nil && carried {
		return "stored " + v.Field.Text
	}
	return v.Field.Text
}

// show renders a value for a message: times stand relative to now, strings
// in quotes.
func show(v ir.Value) string {
	switch v := v.(type) {
	case nil:
		return "absent"
	case string:
		if n := len([]rune(v)); n > 40 {
			return fmt.Sprintf("%.20q… (%d characters)", v, n)
		}
		return fmt.Sprintf("%q", v)
	case time.Time:
		switch d := v.Sub(now()); {
		case d == 0:
			return "$now"
		case d > 0:
			return "$now + " + short(d)
		default:
			return "$now - " + short(-d)
		}
	case time.Duration:
		return short(v)
	case []any:
		items := make([]string, len(v))
		for i, x := range v {
			items[i] = show(x)
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return fmt.Sprint(v)
}

// short is a duration without its zero parts: 1h, not 1h0m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// plain renders a value as text in a template.
func plain(v ir.Value) string {
	if s, ok := v.(string); ok {
		return s
	}
	return fmt.Sprint(v)
}
