package gen_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/diag"
)

const head = "machine: big\nversion: 1.0.0\n"

// Specs of a few KiB that mean millions of rows, values or instructions get a
// diagnostic that says so, whatever the machine is that compiles them.
func TestSmallSpecsOfGreatCost(t *testing.T) {
	for _, c := range []struct {
		name, spec, code, message string
	}{
		{"rows", manyRows(150, 150, 10), "FSM089", "the rows expand to more than 20000 transitions"},
		{"list", guarded("int", []string{list(600)}), "FSM089", "a list has more than 500 values"},
		{"lists", guarded("int", slices.Repeat([]string{list(400)}, 14)), "FSM089", "the lists of all guards have more than 5000 values"},
		{"pattern", guarded("string", []string{"matches ^(a{100}b{100}c{100}){9}$"}), "GUARD_INVALID_VALUE", "at most 2000 are allowed"},
		{"nested repetition", guarded("string", []string{"matches ^(a{1000}){1000}$"}), "GUARD_INVALID_VALUE", "invalid repeat count"},
		{"work", manyCases(40, 40), "FSM089", "the guards have more cases than are checked; the limit was reached with those of go_on in state"},
		{"patterns", guarded("string", slices.Repeat([]string{"matches ^a{900}$"}, 30)), "FSM089", "the patterns of all guards compile to more than 20000 instructions"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if len(c.spec) > 32<<10 {
				t.Fatalf("the spec has %d bytes", len(c.spec))
			}
			_, found := load(t, gen.Source{Path: "big.yaml", Data: []byte(c.spec)})
			if !slices.ContainsFunc(found.Sorted(), func(d diag.Diagnostic) bool {
				return string(d.Code) == c.code && strings.Contains(d.Message, c.message) && d.Help != ""
			}) {
				t.Errorf("want %s %q, got%s", c.code, c.message, render(found.Sorted()))
			}
		})
	}
}

func manyRows(states, events, rows int) string {
	var b strings.Builder
	b.WriteString(head + "states:\n  s0: {kind: initial}\n")
	names := make([]string, events)
	for i := 1; i < states; i++ {
		fmt.Fprintf(&b, "  s%d: {kind: operational}\n", i)
	}
	b.WriteString("events:\n")
	for i := range names {
		names[i] = fmt.Sprintf("e%d", i)
		fmt.Fprintf(&b, "  e%d: {}\n", i)
	}
	b.WriteString("transitions:\n")
	for i := range rows {
		fmt.Fprintf(&b, "  - {name: r%d, from: \"*\", on: [%s], to: s%d}\n", i, strings.Join(names, ","), i)
	}
	return b.String()
}

// manyCases has rows that compare the same six fields, from every state: whether two of
// them overlap takes many cases to say.
func manyCases(states, rows int) string {
	var b strings.Builder
	b.WriteString(head + "fields: {a: int, b: int, c: int, d: int, e: int, f: int}\nstates:\n  s0: {kind: initial}\n")
	for i := 1; i < states; i++ {
		fmt.Fprintf(&b, "  s%d: {kind: operational}\n", i)
	}
	b.WriteString("events: {go_on: {}}\ntransitions:\n")
	for i := range rows {
		fmt.Fprintf(&b, "  - {name: r%[1]d, from: \"*\", on: go_on, when: [a != %[1]d, b < $c, c < $d, d < $e, e < $f, f > %[1]d], to: s%[2]d}\n", i, i%states)
	}
	return b.String()
}

// guarded has a row for each guard on a field.
func guarded(of string, guards []string) string {
	var b strings.Builder
	b.WriteString(head + "fields: {f: " + of + "}\nstates: {open: {kind: initial}, done: {kind: success, terminal: true}}\nevents: {go_on: {}}\ntransitions:\n")
	for i, g := range guards {
		fmt.Fprintf(&b, "  - {name: r%d, from: open, on: go_on, priority: %d, when: [\"f %s\"], to: done}\n", i, i, g)
	}
	return b.String()
}

func list(n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprint(i)
	}
	return "in [" + strings.Join(items, ",") + "]"
}
