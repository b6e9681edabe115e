package syntax

import (
	"regexp/syntax"
)

// MaxPattern is the largest [PatternSize] that a guard may have.
const MaxPattern = 2000

// PatternSize is about the number of instructions that a regular expression
// compiles to. A repetition counts as often as it repeats, so the size is known
// before anything of that size is made. It is 0 for what is no pattern.
func PatternSize(pattern string) int {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	return treeSize(tree)
}

func treeSize(re *syntax.Regexp) int {
	size := 1 + len(re.Rune)/16
	if re.Op == syntax.OpLiteral {
		size = len(re.Rune)
	}
	for _, sub := range re.Sub {
		size += treeSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Max, re.Min+1)
	}
	return size
}
