package extract

import (
	"errors"
	"fmt"
)

// ErrFormat says that the bytes are no tar, or not a whole one. What went wrong
// is wrapped along with it; io.ErrUnexpectedEOF is among it where something is
// missing.
var ErrFormat = errors.New("this is no intact tar archive")

// RefusedError says that the archive is intact, and one of its entries breaks a rule.
type RefusedError struct {
	Entry string // its name as the archive has it
	Rule  Rule
}

// Error quotes the name: it may hold anything.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("entry %q is refused: %s", e.Entry, e.Rule)
}

// Rule is what an entry may not do, as a person reads it.
type Rule string

// The rules.
const (
	RuleAbsolute Rule = "its name is absolute"
	RuleParent   Rule = `its name holds ".."`
	RuleName     Rule = "its name is not one a file of its kind can have"
	RulePath     Rule = "its name, or its target, is longer than allowed"
	RuleDepth    Rule = "it is nested deeper than allowed"
	RuleThrough  Rule = "its name leads through something that is not a directory"
	RuleReplace  Rule = "it replaces something of another kind"
	RuleLink     Rule = "a hard link must name a regular file that the archive holds before it"
	RuleTarget   Rule = "a symbolic link needs a target without NUL"
	RuleDevice   Rule = "device nodes and named pipes are not allowed"
	RuleType     Rule = "it is of a kind that is no file"
	RuleSize     Rule = "an entry of its kind can't have content"
	RuleOwner    Rule = "its owner or group is no number that a kernel knows"
	RuleGlobal   Rule = "a global header must not speak of names, links or sizes"
	RuleHeader   Rule = "the headers that follow it are longer than allowed"
	RuleTail     Rule = "after the end of the archive, which follows it, there is more"
	RuleBytes    Rule = "with it the archive has more bytes than allowed"
	RuleFiles    Rule = "with it the archive has more entries than allowed"
	RuleWhiteout Rule = "it is a whiteout of nothing that can have a name"
)
