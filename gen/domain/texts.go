package domain

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// texts are the strings of a pool: its constants and, for every combination
// of answers that patterns and lengths can give, as many others as the pool
// has variables. The argument is that of equality in [line.draw], within one
// combination of answers.
type texts struct {
	known   []ir.Value
	res     []*regexp.Regexp
	lengths []int64 // where a bound begins or ends to hold, sorted
	want    int
	others  map[string][]ir.Value // by signature
	order   []string              // signatures as they were found
	sampled bool
}

// maxLength is the longest string that is worth making.
const maxLength = 10_000

func newTexts(p *pool) *texts {
	t := &texts{known: p.literals, want: len(p.vars), others: map[string][]ir.Value{}}
	for _, pattern := range p.patterns {
		if re, err := regexp.Compile(pattern); err == nil {
			t.res = append(t.res, re)
		}
	}
	for _, n := range p.lengths {
		t.lengths = append(t.lengths, n, n+1)
	}
	t.lengths = sortedPoints(append(t.lengths, 0))
	for _, pattern := range p.patterns {
		for _, s := range matching(pattern, 8) {
			t.take(s)
		}
	}
	if len(t.res) > 0 {
		t.take("")
		t.take("0")
		t.take("/")
		t.sampled = true // that no string has some answers to patterns is not proven
		return t
	}
	for i, from := range t.lengths {
		to := int64(math.MaxInt64)
		if i+1 < len(t.lengths) {
			to = t.lengths[i+1] - 1
		}
		t.plain(from, to)
	}
	return t
}

// plain takes words of a length in the given range.
func (t *texts) plain(from, to int64) {
	if from > maxLength {
		t.sampled = true
		return
	}
	if to == 0 {
		t.take("")
		return
	}
	for n, taken := 0, 0; taken < t.want; n++ {
		s := word(n, int(from), int(min(to, maxLength)))
		if contains(t.known, s) {
			continue
		}
		t.take(s)
		taken++
	}
}

// word is the n-th word with a length in the given range, which begins below
// 2 or allows what differs: other-a, other-b and so on.
func word(n, from, to int) string {
	distinct := string(rune('a' + n))
	if n >= 26 {
		distinct = string(rune(0x4e00 + n))
	}
	s := "other-" + distinct
	if utf8.RuneCountInString(s) > to {
		s = distinct
	}
	if missing := from - utf8.RuneCountInString(s); missing > 0 {
		s += strings.Repeat("x", missing)
	}
	return s
}

// take keeps s if it is new and its answers still need strings.
func (t *texts) take(s string) {
	sig := t.signature(s)
	if contains(t.known, s) || len(t.others[sig]) >= t.want || contains(t.others[sig], s) {
		return
	}
	if t.others[sig] == nil {
		t.order = append(t.order, sig)
	}
	t.others[sig] = append(t.others[sig], s)
}

func (t *texts) signature(s string) string {
	var b strings.Builder
	for _, re := range t.res {
		fmt.Fprint(&b, re.MatchString(s), " ")
	}
	n := int64(utf8.RuneCountInString(s))
	fmt.Fprint(&b, slices.IndexFunc(t.lengths, func(from int64) bool { return from > n }))
	return b.String()
}

// values are the strings of the i-th variable of the pool, whose field is f.
func (t *texts) values(i int, f *ir.Field) []ir.Value {
	out := slices.Clone(t.known)
	for _, sig := range t.order {
		out = append(out, t.others[sig][:min(i+1, len(t.others[sig]))]...)
	}
	if f != nil {
		out = append(out, edges(f)...)
	}
	return distinct(out)
}

// edges are strings of the smallest and largest length of f, as far as they
// are of a size that a test can carry.
func edges(f *ir.Field) []ir.Value {
	var out []ir.Value
	for _, bound := range []*int64{f.Min, f.Max} {
		if bound != nil && *bound >= 0 && *bound <= maxLength {
			out = append(out, strings.Repeat("é", int(*bound)))
		}
	}
	return out
}
