package domain

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// maxOthers bounds the values of a pool that equal no constant: enough for
// three variables of a pool to be pairwise different.
const maxOthers = 3

// classes lists representatives of the values of variable i.
func (b *builder) classes(i int) []ir.Value {
	v, t := b.vars[i], b.types[i]
	switch v.Special {
	case ir.StateName, ir.FromName:
		var names []ir.Value
		for _, s := range b.machine.States {
			names = append(names, s.Text)
		}
		return names
	case ir.ActorID:
		t.Optional = true // `system` has no id
	}
	values := b.representatives(i, t)
	if v.Field != nil {
		values = slices.DeleteFunc(values, func(x ir.Value) bool { return !WithinBounds(v.Field, x) })
	}
	if t.Optional {
		values = append(values, nil)
	}
	if len(values) == 0 { // bounds that no value satisfies
		values = []ir.Value{nil}
	}
	return values
}

func (b *builder) representatives(i int, t ir.Type) []ir.Value {
	size, patterns := b.pool(i)
	known := b.known(i)
	switch t.Base {
	case ir.Bool:
		return []ir.Value{false, true}
	case ir.EnumOf:
		return enumValues(t.Enum)
	case ir.Int:
		return ints(known, size)
	case ir.Duration:
		return durations(known, size)
	case ir.Time:
		return times(known, size, b.now)
	case ir.UUID:
		return others(known, size, UUID)
	case ir.JSON:
		return []ir.Value{`{}`} // clauses ask only whether it exists
	case ir.ListOf:
		return b.lists(i, t, known)
	}
	return texts(known, patterns, b.vars[i].Field, size)
}

func enumValues(e *ir.Enum) []ir.Value {
	var out []ir.Value
	for _, v := range e.Values {
		out = append(out, v.Text)
	}
	return out
}

// UUID is the n-th of a fixed list of different uuids.
func UUID(n int) ir.Value { return fmt.Sprintf("00000000-0000-4000-8000-%012x", n+1) }

// others lists the constants and enough made values for size variables to
// differ from them and, up to a limit, from each other.
func others(known []ir.Value, size int, nth func(int) ir.Value) []ir.Value {
	out := slices.Clone(known)
	for n, missing := 0, min(size, maxOthers); missing > 0; n++ {
		if v := nth(n); !contains(known, v) {
			out = append(out, v)
			missing--
		}
	}
	return distinct(out)
}

func ints(known []ir.Value, size int) []ir.Value {
	var out []ir.Value
	for _, k := range known {
		n := k.(int64)
		out = append(out, n)
		if n > math.MinInt64 {
			out = append(out, n-1)
		}
		if n < math.MaxInt64 {
			out = append(out, n+1)
		}
	}
	if len(known) == 0 {
		for n := range min(size, maxOthers) {
			out = append(out, int64(n))
		}
	}
	out = distinct(out)
	slices.SortFunc(out, Compare)
	return out
}

func durations(known []ir.Value, size int) []ir.Value {
	var out []ir.Value
	if len(known) == 0 {
		for n := range min(size, maxOthers) {
			out = append(out, time.Duration(n+1)*time.Second)
		}
	}
	for _, k := range known {
		d := k.(time.Duration)
		if d > math.MinInt64 && d < math.MaxInt64 {
			out = append(out, d-1, d, d+1)
		}
	}
	out = distinct(out)
	slices.SortFunc(out, Compare)
	return out
}

// times surrounds every constant by an hour; now stands in where variables
// are compared with each other alone.
func times(known []ir.Value, size int, now time.Time) []ir.Value {
	if len(known) == 0 {
		if size == 1 {
			return []ir.Value{now}
		}
		known = []ir.Value{now}
	}
	var out []ir.Value
	for _, k := range known {
		t := k.(time.Time)
		for _, near := range []time.Time{t.Add(-time.Hour), t, t.Add(time.Hour)} {
			if ValidTime(near) {
				out = append(out, near)
			}
		}
	}
	out = distinct(out)
	slices.SortFunc(out, Compare)
	return out
}

// texts gives one string for every combination of answers that the
// comparisons, patterns and bounds can give, and one for each variable of the
// pool where all comparisons say no, so that the variables can differ.
func texts(known []ir.Value, patterns []string, f *ir.Field, size int) []ir.Value {
	candidates := others(known, size, func(n int) ir.Value { return "other-" + string(rune('a'+n)) })
	for _, p := range patterns {
		for _, s := range matching(p, 8) {
			candidates = append(candidates, s)
		}
		candidates = append(candidates, "", "0", "/") // likely misses
	}
	if f != nil {
		candidates = append(candidates, edges(f)...)
	}
	var out []ir.Value
	seen := map[string]int{}
	for _, c := range distinct(candidates) {
		sig := signature(c.(string), patterns)
		switch {
		case contains(known, c) || isEdge(f, c.(string)):
			out = append(out, c)
		case seen[sig] < min(size, maxOthers):
			seen[sig]++
			out = append(out, c)
		}
	}
	return out
}

// edges are strings of the smallest and largest length of f, as far as they
// are of a size that a test can carry.
func edges(f *ir.Field) []ir.Value {
	var out []ir.Value
	for _, bound := range []*int64{f.Min, f.Max} {
		if bound != nil && *bound >= 0 && *bound <= 10_000 {
			out = append(out, strings.Repeat("é", int(*bound)))
		}
	}
	return out
}

func isEdge(f *ir.Field, s string) bool { return f != nil && contains(edges(f), s) }

func signature(s string, patterns []string) string {
	var b strings.Builder
	for _, p := range patterns {
		found, err := regexp.MatchString(p, s)
		fmt.Fprint(&b, found && err == nil, " ")
	}
	return b.String()
}

// lists gives the empty list, one list for each element that a clause asks
// for, one with all of these where they are several, and one with another
// element.
func (b *builder) lists(i int, t ir.Type, known []ir.Value) []ir.Value {
	var elements []ir.Value
	for j := range b.vars {
		if b.root(j) != b.root(i) {
			continue
		}
		for _, e := range b.elements[j] {
			elements = append(elements, b.representatives(e, b.types[e])...)
		}
	}
	out := []ir.Value{[]any{}}
	for _, k := range known {
		if whole, ok := k.([]any); ok {
			out = append(out, whole)
		} else {
			elements = append(elements, k)
		}
	}
	elements = distinct(elements)
	if len(elements) > 1 {
		out = append(out, slices.Clone(elements))
	}
	if t.Elem != nil {
		elements = append(elements, otherElement(t.Elem))
	}
	for _, e := range elements {
		out = append(out, []any{e})
	}
	return distinct(out)
}

func otherElement(t *ir.Type) ir.Value {
	switch t.Base {
	case ir.Int:
		return int64(41)
	case ir.Bool:
		return true
	case ir.Duration:
		return time.Minute
	case ir.Time:
		return time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	case ir.UUID:
		return UUID(8)
	case ir.EnumOf:
		return t.Enum.Values[0].Text
	case ir.JSON:
		return `{}`
	}
	return "element"
}

// WithinBounds reports whether v is absent or obeys the Min and Max of f: an
// int by its value, a string by its length in characters.
func WithinBounds(f *ir.Field, v ir.Value) bool {
	var size int64
	switch v := v.(type) {
	case int64:
		size = v
	case string:
		if f.Type.Base != ir.String {
			return true
		}
		size = int64(utf8.RuneCountInString(v))
	default:
		return true
	}
	return (f.Min == nil || size >= *f.Min) && (f.Max == nil || size <= *f.Max)
}
