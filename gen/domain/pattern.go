package domain

import (
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"
)

// matching returns up to count different strings that the pattern matches,
// built by walking it. A pattern whose matches cannot be found this way
// (word boundaries that contradict each other) gives fewer, perhaps none.
func matching(pattern string, count int) []string {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil
	}
	g := generator{rand.New(rand.NewPCG(1, uint64(len(pattern))))}
	var found []string
	seen := map[string]bool{}
	for range 8 * count {
		var b strings.Builder
		g.write(&b, tree)
		s := b.String()
		if !seen[s] && re.MatchString(s) {
			found = append(found, s)
		}
		seen[s] = true
		if len(found) == count {
			break
		}
	}
	return found
}

// generator writes texts that a parsed pattern is likely to match.
type generator struct{ rng *rand.Rand }

func (g generator) write(b *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(g.fromClass(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteRune('a' + g.rng.Int32N(26))
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			g.write(b, sub)
		}
	case syntax.OpAlternate:
		g.write(b, re.Sub[g.rng.IntN(len(re.Sub))])
	case syntax.OpStar:
		g.repeat(b, re.Sub[0], g.rng.IntN(3))
	case syntax.OpPlus:
		g.repeat(b, re.Sub[0], 1+g.rng.IntN(3))
	case syntax.OpQuest:
		g.repeat(b, re.Sub[0], g.rng.IntN(2))
	case syntax.OpRepeat:
		g.repeat(b, re.Sub[0], re.Min+g.rng.IntN(max(1, min(re.Max-re.Min+1, 3))))
	case syntax.OpNoMatch, syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary: // write nothing
	}
}

func (g generator) repeat(b *strings.Builder, re *syntax.Regexp, times int) {
	for range times {
		g.write(b, re)
	}
}

// fromClass picks from the ranges lo, hi, lo, hi, ...; NUL is never picked
// where the class has anything else.
func (g generator) fromClass(ranges []rune) rune {
	i := g.rng.IntN(len(ranges)/2) * 2
	lo, hi := ranges[i], ranges[i+1]
	if lo < ' ' && hi >= ' ' {
		lo = ' '
	}
	return lo + g.rng.Int32N(min(hi-lo, 25)+1)
}
