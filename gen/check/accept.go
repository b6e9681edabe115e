package check

import (
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/ir"
)

const (
	codeNotAcceptable = "FSM087"
	codeStaleAccept   = "FSM088"
)

// Accept removes the warnings that their own spec accepts from l, after [Check]
// has judged the machines, and adds what is wrong with an accept.
func Accept(machines []*ir.Machine, src diag.Sources, l *diag.List) {
	report := reporter{l, severities()}
	for _, m := range machines {
		used := map[*ir.Accept]bool{}
		for _, d := range l.Sorted() {
			if a := acceptOf(m, d, src); a != nil {
				used[a] = true
			}
		}
		l.DeleteFunc(func(d diag.Diagnostic) bool { return acceptOf(m, d, src) != nil })
		for _, a := range m.Accepts {
			report.accept(a, used[a])
		}
	}
}

// acceptOf returns the accept of m that covers d: the one for what d marks
// before the one for all.
func acceptOf(m *ir.Machine, d diag.Diagnostic, src diag.Sources) *ir.Accept {
	if d.Severity != diag.Warning || d.Span.File != m.File {
		return nil
	}
	var all *ir.Accept
	for _, a := range m.Accepts {
		switch {
		case a.Code != d.Code || a.Reason == "":
		case a.Name == "":
			all = a
		case a.Name == src.Text(d.Span):
			return a
		}
	}
	return all
}

func (r reporter) accept(a *ir.Accept, used bool) {
	rule, known := RuleOf(a.Code)
	switch {
	case !known:
		r.report(codeNotAcceptable, a.Span, "name the code that the warning shows in brackets, such as FSM022", "%q is no code of a diagnostic", a.Code)
	case rule.Severity != diag.Warning || a.Code == codeStaleAccept:
		r.report(codeNotAcceptable, a.Span, "mend what it reports, and remove this line; `fsmgen explain "+string(a.Code)+"` says how", "%s can't be accepted: only warnings about the table can", a.Code)
	case strings.TrimSpace(a.Reason) == "":
		r.report(codeNotAcceptable, a.Span, "write why it stays: "+string(a.Code)+": \"…\"", "the reason to accept %s is missing", a.Code)
	case !used && a.Name == "":
		r.report(codeStaleAccept, a.Span, "remove the line", "no warning %s is left to accept", a.Code)
	case !used:
		r.report(codeStaleAccept, a.Span, "remove the line, or name what the warning marks with ^^^", "no warning %s marks %q", a.Code, a.Name)
	}
}

// severities is the table of codes that reports look at.
func severities() map[diag.Code]diag.Severity {
	out := map[diag.Code]diag.Severity{}
	for _, r := range Rules() {
		out[r.Code] = r.Severity
	}
	return out
}

func acceptRules() []Rule {
	return []Rule{
		fails(codeNotAcceptable, "accept of what is no warning",
			"A spec accepts warnings, each with a reason. An error is mended, and a line without a reason or with an unknown code accepts nothing.",
			fmt.Sprintf("accept:\n  %s: a version can always be restored", "FSM022")),
		warns(codeStaleAccept, "accept that accepts nothing",
			"The warning is gone, or marks something else. A line that stays would hide the next one of its kind.",
			"accept:\n  FSM031: {retry: the row is kept as the document has it}"),
	}
}
