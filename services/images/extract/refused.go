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
	// Limit is the option that the entry exceeds, as a flag of the command images
	// has it, with its value: "max-bytes 1048576". "" for rules without an option.
	Limit string
}

// Error quotes the name: it may hold anything.
func (e *RefusedError) Error() string {
	text := fmt.Sprintf("entry %q is refused: %s", e.Entry, e.Rule)
	if e.Limit != "" {
		text += "; the limit is " + e.Limit
	}
	return text
}

// limit returns what RefusedError.Limit says for a rule.
func (o Options) limit(rule Rule) string {
	switch rule {
	case RuleBytes:
		return fmt.Sprintf("max-bytes %d", o.MaxBytes)
	case RuleFiles:
		return fmt.Sprintf("max-files %d", o.MaxFiles)
	case RuleDepth:
		return fmt.Sprintf("max-depth %d", o.MaxDepth)
	case RulePath:
		return fmt.Sprintf("max-path %d", o.MaxPath)
	case RuleHeader:
		return fmt.Sprintf("max-header %d", o.MaxHeader)
	case RuleHeaders:
		return fmt.Sprintf("max-headers %d", o.MaxHeaders)
	case RuleRatio:
		return fmt.Sprintf("max-ratio %d", o.MaxRatio)
	case RulePrivileges:
		return fmt.Sprintf("privileges %s", o.Privileges)
	}
	return ""
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
	RuleHeaders  Rule = "the headers of the archive together, up to those that follow it, are longer than allowed"
	RuleRatio    Rule = "behind it the archive unpacks to more times its packed size than allowed"
	RuleTail     Rule = "after the end of the archive, which follows it, there is more"
	RuleBytes    Rule = "with it the archive has more bytes than allowed"
	RuleFiles    Rule = "with it the archive has more entries than allowed"
	RuleWhiteout Rule = "it is a whiteout of nothing that can have a name"

	RulePrivileges Rule = "it has set-user-ID, set-group-ID or capabilities, which are not allowed"
)
