package ir

import (
	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/syntax"
)

// CodeTooLarge is the code of a machine that would cost more to compile than
// its text suggests.
const CodeTooLarge = diag.Code("FSM089")

// What one machine may have.
const (
	maxRows     = 20_000 // rows from one state on one event
	maxList     = 500    // values of one list in a guard
	maxLists    = 5_000  // values of all lists in guards
	maxPatterns = 20_000 // instructions of all patterns
	maxPattern  = 100    // what a pattern counts at least
)

// costs are what the guards of a machine have so far.
type costs struct {
	listed, patterns int
	told             map[string]bool
}

// overLimit reports, once for each reason, that there is too much of something.
func (lo *lowering) overLimit(over bool, at diag.Span, what, help string) bool {
	if !over || lo.costs.told[what] {
		return over
	}
	if lo.costs.told == nil {
		lo.costs.told = map[string]bool{}
	}
	lo.costs.told[what] = true
	lo.errorf(CodeTooLarge, at, help, "%s", what)
	return true
}

func (lo *lowering) listTooLarge(values int, at diag.Span) bool {
	lo.costs.listed += values
	return lo.overLimit(values > maxList, at, "a list has more than 500 values", "declare an enum, or store a field that says what the list is for") ||
		lo.overLimit(lo.costs.listed > maxLists, at, "the lists of all guards have more than 5000 values", "declare an enum, or split the machine")
}

func (lo *lowering) patternTooLarge(pattern string, at diag.Span) bool {
	lo.costs.patterns += max(maxPattern, syntax.PatternSize(pattern))
	return lo.overLimit(lo.costs.patterns > maxPatterns, at, "the patterns of all guards compile to more than 20000 instructions", "match once, in the row that stores the outcome, or split the machine")
}

func (lo *lowering) rowsTooMany(at diag.Span) bool {
	return lo.overLimit(len(lo.m.Rows) >= maxRows, at, "the rows expand to more than 20000 transitions", "name fewer states in `from` and fewer events in `on`, or split the machine")
}
