package ir

import (
	"strings"

	"github.com/fsmgen/fsmgen/gen/syntax"
)

var invariantKeys = []string{"holds", "terminal", "immutable", "unique", "never", "always", "test"}

// resolveInvariants resolves the invariants, and adds `always` to the holds
// of every state.
func (lo *lowering) resolveInvariants() {
	for _, e := range entries(lo.root.Get("invariants")) {
		inv := &Invariant{Name: declared(e.Key, e.Value)}
		v := e.Value
		written := 0
		for _, key := range invariantKeys {
			if v.Get(key) != nil {
				written++
			}
		}
		if written > 1 {
			lo.errorf(syntax.CodeShape, inv.Span, "split it into several invariants", "invariant %q names %d enforcements", inv.Text, written)
		}
		if n := v.Get("holds"); n != nil {
			inv.Holds, _ = lookup(lo, lo.states, "state", n)
		}
		if n := v.Get("terminal"); n != nil {
			inv.Terminal, _ = lookup(lo, lo.states, "state", n)
		}
		for _, n := range v.Get("immutable").Each() {
			if f, ok := lookup(lo, lo.fields, "field", n); ok {
				inv.Immutable = append(inv.Immutable, f)
			}
		}
		if n := v.Get("unique"); n != nil {
			inv.Unique, _ = lookup(lo, lo.uniques, "unique constraint", n)
		}
		if n := v.Get("never"); n != nil {
			inv.Never = lo.never(n)
		}
		if n := v.Get("always"); n != nil {
			inv.Always = lo.clauses(n, lo.recordNames("in always"))
			for _, s := range lo.m.States {
				s.Holds = append(s.Holds, inv.Always...)
			}
		}
		inv.Test = strings.TrimSpace(v.TextOf("test"))
		lo.m.Invariants = append(lo.m.Invariants, inv)
	}
}

func (lo *lowering) never(n *syntax.Node) *Never {
	never := &Never{}
	never.From, _ = lookup(lo, lo.states, "state", n.Get("from"))
	for _, to := range n.Get("to").Each() {
		if s, ok := lookup(lo, lo.states, "state", to); ok {
			never.To = append(never.To, s)
		}
	}
	never.Unless = lo.clauses(n.Get("unless"), lo.recordNames("in never"))
	return never
}
