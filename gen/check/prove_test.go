package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/syntax"
)

// frame is a machine around some rows: created leads to paid or gone.
const frame = `
machine: order
version: 1.0.0
id: {order_id: uuid}
enums:
  method: [cash, card, voucher]
params:
  limit: {type: int, default: 3}
  grace: {type: duration, default: 24h}
fields:
  tries:  {type: int, default: 0, min: 0}
  amount: {type: int, default: 0}
  due_at: optional time
  method: optional method
  agreed: {type: bool, default: false}
  note:   optional string
  tx:     {type: optional string, immutable: true}
states:
  created: {kind: initial}
  open:    {kind: operational%s}
  paid:    {kind: success, terminal: true%s}
events:
  pay:    {fields: {sum: int, code: optional string}}
  bill:   {writes: [optional due_at, optional method]}
  count:  {}
  settle: {writes: [amount]}
  STORE:  {internal: true}
transitions:
%s
`

// findings compiles a machine and keeps the findings of the given codes, as
// "CODE message".
func findings(t *testing.T, source string, codes ...string) []string {
	t.Helper()
	list, sources := one(t, source)
	if text := string(diag.Text(list, sources, false)); strings.Contains(text, "[FSM00") || strings.Contains(text, "[GUARD_") {
		t.Fatalf("the machine does not lower:\n%s", text)
	}
	var out []string
	for _, d := range list.Sorted() {
		for _, c := range codes {
			if string(d.Code) == c {
				out = append(out, c+" "+d.Message)
			}
		}
	}
	return out
}

// TestProofs gives rows and the findings that they must, or must not, have.
func TestProofs(t *testing.T) {
	const always = "" // no holds
	for name, c := range map[string]struct {
		open, paid string // attributes of the states
		rows       string
		code       string
		want       []string // parts of the messages, in order; none: no finding
	}{
		"overlap names the value": {always, always, `
  - {name: a, from: created, on: pay, when: [sum <= 100], to: paid}
  - {name: b, from: created, on: pay, when: [sum >= 100], to: paid}`,
			"FSM030", []string{`"a" and "b" of pay in state "created" can both hold when sum = 100`}},
		"disjoint rows": {always, always, `
  - {name: a, from: created, on: pay, when: [sum < 100], to: paid}
  - {name: b, from: created, on: pay, when: [sum >= 100], to: paid}`, "FSM030", nil},
		"priority settles an overlap": {always, always, `
  - {name: a, from: created, on: pay, when: [sum <= 100], to: paid}
  - {name: b, from: created, on: pay, when: [sum >= 100], to: paid, priority: 20}`, "FSM030", nil},
		"no clause overlaps all": {always, always, `
  - {name: a, from: created, on: pay, to: paid}
  - {name: b, from: created, on: pay, to: paid}`, "FSM030", []string{"can both hold, always"}},
		"two otherwise": {always, always, `
  - {name: a, from: created, on: pay, otherwise: true, to: paid}
  - {name: b, from: created, on: pay, otherwise: true, to: paid}`, "FSM030", []string{"are both the `otherwise`"}},
		"holds keep rows apart": {", holds: [agreed == true]", always, `
  - {name: in, from: created, on: bill, to: open, set: {agreed: true}}
  - {name: a,  from: open, on: pay, when: [sum > 0], to: paid}
  - {name: b,  from: open, on: pay, when: [agreed == false], to: paid}`, "FSM030", nil},
		"not equal is no negation": {always, always, `
  - {name: a, from: created, on: pay, when: [code == x], to: paid}
  - {name: b, from: created, on: pay, when: [code != x], to: paid}`, "FSM032", []string{`when code = absent`}},
		"uncovered enum value": {always, always, `
  - {name: in, from: created, on: bill, when: [method exists true], to: open}
  - {name: no, from: created, on: bill, otherwise: true, to: open, set: {note: none}}
  - {name: a,  from: open, on: pay, when: ["method in [cash, card]"], to: paid}
  - {name: b,  from: open, on: pay, when: [method exists false], to: paid}`, "FSM032", []string{`when method = "voucher"`}},
		"time is covered by otherwise": {always, always, `
  - {name: in, from: created, on: bill, to: open}
  - {name: a,  from: open, on: pay, when: [due_at > $now], to: paid}
  - {name: b,  from: open, on: pay, otherwise: true, to: paid}`, "FSM032", nil},
		"param on both sides": {always, always, `
  - {name: a, from: created, on: count, when: [tries < $limit],  set: {tries: $tries + 1}}
  - {name: b, from: created, on: count, when: [tries >= $limit], to: paid}`, "FSM032", nil},
		"row that always loses": {always, always, `
  - {name: a, from: created, on: pay, when: [sum > 10], to: paid, priority: 20}
  - {name: b, from: created, on: pay, when: [sum > 20], to: paid}
  - {name: c, from: created, on: pay, otherwise: true, to: paid}`, "FSM031", []string{`"b" can never be chosen`}},
		"row between two variables": {always, always, `
  - {name: a, from: created, on: pay, when: [sum > 0, sum < $amount], to: paid}
  - {name: b, from: created, on: pay, otherwise: true, to: paid}`, "FSM031", nil},
		"row between two times": {always, always, `
  - {name: in, from: created, on: pay, to: open, set: {due_at: $now}}
  - {name: a, from: open, on: bill, when: [due_at < $now], to: paid}
  - {name: b, from: open, on: bill, otherwise: true, to: paid}`, "FSM031", nil},
		"row with a pattern": {always, always, `
  - {name: a, from: created, on: pay, when: ["code matches ^(?i)x{3}[^y]+z$"], to: paid}
  - {name: b, from: created, on: pay, otherwise: true, to: paid}`, "FSM031", nil},
		"row that no record reaches": {always, always, `
  - {name: in, from: created, on: count, when: [agreed == false], to: open}
  - {name: a,  from: open, on: pay, when: [agreed == true], to: paid}
  - {name: b,  from: open, on: pay, otherwise: true, to: paid}`, "FSM031", []string{`"a" can never be chosen`}},
		"holds kept by a guard": {always, ", holds: [amount >= 100]", `
  - {name: a, from: created, on: settle, when: [amount >= 100], to: paid}
  - {name: b, from: created, on: settle, otherwise: true, to: created}`, "FSM062", nil},
		"holds kept by a stronger guard": {always, ", holds: [amount >= 100]", `
  - {name: a, from: created, on: settle, when: [amount > 150], to: paid}
  - {name: b, from: created, on: settle, otherwise: true, to: created}`, "FSM062", nil},
		"holds broken by a weaker guard": {always, ", holds: [amount >= 100]", `
  - {name: a, from: created, on: settle, when: [amount > 10], to: paid}
  - {name: b, from: created, on: settle, otherwise: true, to: created}`, "FSM062", []string{`can break "amount >= 100", which state "paid" holds when amount = `}},
		"holds kept by a set": {always, ", holds: [agreed == true, due_at exists true]", `
  - {name: a, from: created, on: pay, to: paid, set: {agreed: true, due_at: $now + $grace}}`, "FSM062", nil},
		"holds broken by a set": {", holds: [agreed == true]", ", holds: [agreed == true]", `
  - {name: in, from: created, on: pay, to: open, set: {agreed: true}}
  - {name: a,  from: open, on: pay, to: paid, set: {agreed: false}}`, "FSM062", []string{`"a" on pay can break "agreed == true"`}},
		"holds kept by an earlier step": {always, ", holds: [due_at exists true]", `
  - {name: in, from: created, on: pay, to: open, set: {due_at: $now}}
  - {name: a,  from: open, on: pay, to: paid}`, "FSM062", nil},
		"holds broken by a way around": {always, ", holds: [due_at exists true]", `
  - {name: in,     from: created, on: pay, to: open, set: {due_at: $now}}
  - {name: around, from: created, on: count, to: open}
  - {name: a,      from: open, on: pay, to: paid}`, "FSM062", []string{`"a" on pay can break "due_at exists true", which state "paid" holds when due_at = absent`}},
		"holds broken inside": {", holds: [amount > 0]", always, `
  - {name: in, from: created, on: count, to: open, set: {amount: 1}}
  - {name: a,  from: open, on: settle}
  - {name: b,  from: open, on: pay, to: paid}`, "FSM062", []string{`"a" on settle can break "amount > 0"`}},
		"holds over a sum": {", holds: [tries > 0]", always, `
  - {name: in, from: created, on: count, to: open, set: {tries: $tries + 1}}
  - {name: b,  from: open, on: pay, to: paid}`, "FSM062", nil},
		"holds kept by otherwise": {", holds: [amount > 0]", always, `
  - {name: a, from: created, on: settle, when: [amount <= 0], to: created}
  - {name: b, from: created, on: settle, otherwise: true, to: open}
  - {name: c, from: open, on: pay, to: paid}`, "FSM062", nil},
		"timer taken by all": {", timeout: {after: $grace, fire: count}", always, `
  - {name: in, from: created, on: pay, to: open}
  - {name: a,  from: open, on: count, when: [tries < $limit], to: open, set: {tries: $tries + 1}}
  - {name: b,  from: open, on: count, when: [tries >= $limit], to: paid}`, "FSM041", nil},
		"timer with a bound payload": {", timeout: {after: 1h, fire: {pay: {sum: 5}}}", always, `
  - {name: in, from: created, on: count, to: open}
  - {name: a,  from: open, on: pay, when: [sum == 5], to: paid}`, "FSM041", nil},
		"timer with the wrong payload": {", timeout: {after: 1h, fire: {pay: {sum: 6}}}", always, `
  - {name: in, from: created, on: count, to: open}
  - {name: a,  from: open, on: pay, when: [sum == 5], to: paid}`, "FSM040", []string{`fires pay, which the state never takes`}},
		"timer at a field has passed": {", holds: [due_at exists true], timeout: {at: due_at, fire: count}", always, `
  - {name: in, from: created, on: pay, to: open, set: {due_at: $now + $grace}}
  - {name: a,  from: open, on: count, when: [due_at <= $now], to: paid}`, "FSM041", nil},
		"timer at a field that has passed": {", holds: [due_at exists true], timeout: {at: due_at, fire: count}", always, `
  - {name: in, from: created, on: pay, to: open, set: {due_at: $now + $grace}}
  - {name: a,  from: open, on: count, when: [due_at > $now], to: paid}`, "FSM040", []string{"never takes"}},
		"raise proven by the row": {always, always, `
  - {name: a, from: created, on: pay, when: [sum > 5], to: open, set: {amount: $sum}, raise: STORE}
  - {name: b, from: created, on: pay, otherwise: true, to: paid}
  - {name: c, from: open, on: STORE, when: [amount > 5], to: paid}`, "FSM048", nil},
		"raise refused for a value": {always, always, `
  - {name: a, from: created, on: pay, when: [sum > 5], to: open, set: {amount: $sum}, raise: STORE}
  - {name: b, from: created, on: pay, otherwise: true, to: paid}
  - {name: c, from: open, on: STORE, when: [amount > 9], to: paid}`, "FSM048", []string{`state "open" refuses when sum = `}},
		"write-once proven absent": {always, always, `
  - {name: a, from: created, on: pay, when: [tx exists false], set: {tx: x}}
  - {name: b, from: created, on: count, to: paid}`, "FSM072", nil},
		"write-once by the way": {always, always, `
  - {name: a, from: created, on: pay, to: open, set: {tx: x}}
  - {name: b, from: open, on: count, to: paid}`, "FSM072", nil},
		"absent operand of a required field": {always, always, `
  - {name: a, from: created, on: bill, when: [method exists true], to: open}
  - {name: b, from: created, on: bill, otherwise: true, to: paid}
  - {name: c, from: open, on: pay, when: [code exists true], to: paid, set: {note: $code}}`, "FSM073", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := findings(t, fmt.Sprintf(frame, c.open, c.paid, c.rows[1:]), c.code)
			if len(got) != len(c.want) {
				t.Fatalf("got %q, want %q", got, c.want)
			}
			for i := range c.want {
				if !strings.Contains(got[i], c.want[i]) {
					t.Errorf("got %q, want %q", got[i], c.want[i])
				}
			}
		})
	}
}

// largeSpec is a machine of the given number of rows: chains of states with
// guards, holds and timeouts.
func largeSpec(rows int) []byte {
	var b strings.Builder
	states := rows / 4
	b.WriteString("machine: large\nversion: 1.0.0\nid: {large_id: uuid}\nfields:\n  tries: {type: int, default: 0, min: 0}\n  ok: {type: bool, default: false}\nstates:\n")
	for i := range states {
		kind := "{kind: operational, holds: [tries >= 0], timeout: {after: 1h, fire: expire}}"
		if i == 0 {
			kind = "{kind: initial}"
		}
		fmt.Fprintf(&b, "  s%d: %s\n", i, kind)
	}
	b.WriteString("  done: {kind: success, terminal: true}\nevents:\n  step: {fields: {n: int}}\n  expire: {}\ntransitions:\n")
	for i := range states {
		next := fmt.Sprintf("s%d", i+1)
		if i == states-1 {
			next = "done"
		}
		fmt.Fprintf(&b, "  - {name: small%d, from: s%d, on: step, when: [n < 10, ok == false], to: %s}\n", i, i, next)
		fmt.Fprintf(&b, "  - {name: large%d, from: s%d, on: step, when: [n >= 10], to: %s, set: {tries: $tries + 1}}\n", i, i, next)
		fmt.Fprintf(&b, "  - {name: other%d, from: s%d, on: step, otherwise: true, to: done}\n", i, i)
		fmt.Fprintf(&b, "  - {name: late%d, from: s%d, on: expire, to: done}\n", i, i)
	}
	return []byte(b.String())
}

func lowered(tb testing.TB, source []byte) []*ir.Machine {
	tb.Helper()
	list := &diag.List{}
	f := syntax.Parse("spec/large.yaml", source, list)
	if f == nil {
		tb.Fatal("not readable")
	}
	machines := ir.Lower([]*syntax.File{f}, list)
	if list.HasErrors() {
		tb.Fatal(string(diag.Text(list, nil, false)))
	}
	return machines
}

func BenchmarkCheck10000Rows(b *testing.B) {
	machines := lowered(b, largeSpec(10000))
	for b.Loop() {
		Check(machines, &diag.List{})
	}
}

// TestManyRowsOfOneEvent: a group of many rows is searched in one sweep.
func TestManyRowsOfOneEvent(t *testing.T) {
	var rows strings.Builder
	for i := range 400 {
		fmt.Fprintf(&rows, "  - {name: a%d, from: created, on: pay, when: [sum >= %d, sum < %d], to: paid}\n", i, i*10, i*10+10)
	}
	rows.WriteString("  - {name: odd, from: created, on: pay, when: [sum == 1234], to: paid}\n")
	got := findings(t, fmt.Sprintf(frame, "", "", rows.String()), "FSM030")
	if len(got) != 1 || !strings.Contains(got[0], `"a123" and "odd" of pay in state "created" can both hold when sum = 1234`) {
		t.Errorf("got %q", got)
	}
}

func TestCheckIsDeterministic(t *testing.T) {
	for _, r := range Rules() {
		first, sources := one(t, Example(r.Code))
		want := string(diag.Text(first, sources, false))
		for range 5 {
			again, _ := one(t, Example(r.Code))
			if got := string(diag.Text(again, sources, false)); got != want {
				t.Fatalf("%s: got\n%s\nand\n%s", r.Code, got, want)
			}
		}
	}
}
