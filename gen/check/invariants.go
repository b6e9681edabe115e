package check

import (
	"regexp"
	"slices"

	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

const (
	codeUnenforced  = "FSM060"
	codeNeverBroken = "FSM061"
)

var testName = regexp.MustCompile(`^Test[^a-z\s]\w*$`)

// invariants reports promises that nothing keeps.
func (s *subject) invariants() {
	for _, inv := range s.m.Invariants {
		unenforced := func(at diag.Span, help, format string, args ...any) {
			s.report(codeUnenforced, at, help, "nothing enforces invariant %q: "+format, append([]any{inv.Text}, args...)...)
		}
		switch {
		case inv.Holds != nil:
			if len(inv.Holds.Holds) == 0 {
				unenforced(inv.Span, "write the promise as `holds` of the state", "state %q has no holds", inv.Holds.Text)
			}
		case inv.Terminal != nil:
			if !inv.Terminal.Terminal {
				unenforced(inv.Span, "mark the state `terminal: true`", "state %q is not terminal", inv.Terminal.Text)
			}
		case len(inv.Immutable) > 0:
			for _, f := range inv.Immutable {
				if !f.Immutable && f.Derive == nil && f.Index >= 0 {
					unenforced(inv.Span, "write `immutable: true` at the field", "field %q is not immutable", f.Text)
				}
			}
		case inv.Test != "":
			if !testName.MatchString(inv.Test) {
				unenforced(inv.Span, "name a Go test, such as TestPayoutRunsOnce", "%q can't be the name of a Go test", inv.Test)
			}
		case inv.Never != nil:
			s.never(inv)
		case inv.Unique == nil && len(inv.Always) == 0:
			unenforced(inv.Span, "name one of holds, terminal, immutable, unique, never, always and test", "it names no mechanism")
		}
	}
}

// never reports the rows that take a forbidden edge.
func (s *subject) never(inv *ir.Invariant) {
	n := inv.Never
	for _, r := range s.leaving[n.From] {
		if r.To == nil || !slices.Contains(n.To, r.To) || s.dead[r] {
			continue
		}
		if len(n.Unless) == 0 {
			s.report(codeNeverBroken, r.Span, "remove the row, or say under `unless` when the edge is legal",
				"row %q leads from %q to %q, which invariant %q forbids", r.Text, n.From.Text, r.To.Text, inv.Text)
			continue
		}
		for _, c := range n.Unless {
			f := s.breaks(r, c, domain.Eval)
			if f.undecided {
				s.undecided(r.Span, "add the clause to the row", "it is not decided whether row %q leads from %q to %q without %q, which invariant %q demands",
					r.Text, n.From.Text, r.To.Text, c.Text, inv.Text)
			}
			if f.found {
				s.report(codeNeverBroken, r.Span, "add the clause to the row, or `set` what it asks for",
					"row %q leads from %q to %q without %q, which invariant %q demands%s", r.Text, n.From.Text, r.To.Text, c.Text, inv.Text, f.when)
			}
		}
	}
}
