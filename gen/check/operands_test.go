package check

import (
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen/diag"
)

// TestFourOperands: as many values are tried as the comparisons need, so four
// names can be pairwise different.
func TestFourOperands(t *testing.T) {
	const apart = `["a != $b", "a != $c", "a != $d", "b != $c", "b != $d", "c != $d"]`
	for _, base := range []string{"string", "uuid", "int", "duration", "time"} {
		source := strings.NewReplacer("TYPE", base, "APART", apart).Replace(`
machine: order
version: 1.0.0
failures: {no: {retry: never, status: 409}}
states:
  open: {kind: initial}
  mid:  {kind: operational}
  paid: {kind: success, terminal: true}
events:
  pay:     {fields: {a: TYPE, b: TYPE, c: TYPE, d: TYPE}}
  check:   {fields: {a: TYPE, b: TYPE, c: TYPE, d: TYPE}}
  leave:   {fields: {v: TYPE}}
transitions:
  - {name: one,   from: open, on: pay,   when: APART, to: paid}
  - {name: two,   from: open, on: pay,   when: ["a != $b", "b != $c", "c != $d"], to: paid}
  - {name: alone, from: open, on: check, when: APART, to: mid}
  - {name: rest,  from: open, on: check, otherwise: true, reject: no}
  - {name: out,   from: mid,  on: leave, to: paid}
`)
		var got []string
		for _, f := range findings(t, source, "FSM030", "FSM031", "FSM035") {
			got = append(got, f[:6])
		}
		if want := []string{"FSM030"}; !slices.Equal(got, want) {
			list, sources := one(t, source)
			t.Errorf("%s: got %v, want %v\n%s", base, got, want, diag.Text(list, sources, false))
		}
	}
}

// TestUndecidedIsSaid: where values are sampled no rule says anything for sure.
func TestUndecidedIsSaid(t *testing.T) {
	got := findings(t, `
machine: order
version: 1.0.0
fields:
  credit: {type: int, default: 0}
states:
  open: {kind: initial}
  paid: {kind: success, terminal: true, holds: [credit > 0]}
events:
  pay: {fields: {amount: int, price: int, code: string}}
transitions:
  - {name: a, from: open, on: pay, when: [amount > $price, "code matches ^a+$"], to: paid, set: {credit: $amount - $price}}
  - {name: b, from: open, on: pay, when: ["code matches ^b+$"]}
`, "FSM030", "FSM031", "FSM032", "FSM035", "FSM062")
	want := []string{
		`FSM035 it is not decided whether row "a" on pay keeps "credit > 0"`,
		`FSM032 no row takes pay in state "open" when `,
		`FSM035 it is not decided whether rows "a" and "b" of pay in state "open" can both hold`,
	}
	if len(got) != len(want) {
		t.Fatalf("got %q", got)
	}
	for _, w := range want {
		if !slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, w) }) {
			t.Errorf("got %q, want %q among them", got, w)
		}
	}
}
