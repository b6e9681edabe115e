package ir_test

import (
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/syntax"
)

func lower(t *testing.T, files map[string]string) ([]*ir.Machine, []diag.Diagnostic) {
	t.Helper()
	var l diag.List
	var parsed []*syntax.File
	for _, name := range []string{"order", "parcel"} {
		text, ok := files[name]
		if !ok {
			continue
		}
		f := syntax.Parse(name+".yaml", []byte(text), &l)
		if f == nil {
			t.Fatalf("%s does not parse: %v", name, l.Sorted())
		}
		parsed = append(parsed, f)
	}
	return ir.Lower(parsed, &l), l.Sorted()
}

const order = `machine: order
version: 1.0.0
actors: {buyer: {is: buyer_id}, clerk: {}}
enums: {reason: [late, lost]}
params: {patience: {type: duration, default: 48h}, limit: {type: int, default: 3}}
fields:
  buyer_id: {type: int, immutable: true}
  total: {type: int, unit: cents, min: 1}
  # when the money came
  paid_at: optional time
  why: optional reason
states:
  open: {kind: initial, exit: [log_out], timeout: {after: $patience, fire: {cancel: {why: late}}}}
  paid: {kind: success, terminal: true, entry: [receipt], holds: [paid_at exists true]}
  cancelled: {kind: terminal}
events:
  place: {by: buyer, writes: [total]}
  pay: {by: buyer, fields: {amount: {type: int, unit: cents}}}
  cancel: {writes: [why]}
effects:
  log_out: {log: INFO, doc: leaving}
  receipt: {delivery: keyed, to: mail, with: [buyer_id, total]}
  note: {delivery: keyed, to: mail, with: {paid: $amount, who: $actor, when: $now}}
do: [audit]
metrics: {audit: {type: counter, labels: {state: $state}}}
transitions:
  - {name: place, from: none, on: place, to: open, set: {buyer_id: $actor}}
  - {name: pay, from: open, on: pay, when: [amount >= $total], to: paid, set: {paid_at: $now}, do: [note]}
  - {name: cancel, from: "*", on: cancel, to: cancelled}
`

func TestLowerResolvesAMachine(t *testing.T) {
	ms, problems := lower(t, map[string]string{"order": order})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	m := ms[0]
	if got := m.Fields[2].Doc; got != "when the money came" {
		t.Errorf("doc of paid_at is %q", got)
	}
	pay := m.Rows[1]
	if pay.From != m.States[0] || pay.To != m.States[1] || pay.When[0].Left.Event != pay.Event {
		t.Errorf("row pay is %+v", pay)
	}
	var order []string
	for _, a := range pay.Actions {
		if a.Metric != nil {
			order = append(order, a.Metric.Text)
		} else {
			order = append(order, a.Effect.Text)
		}
	}
	if got := strings.Join(order, " "); got != "log_out note receipt audit" {
		t.Errorf("effects in order %q, want exit, row, entry, machine", got)
	}
	cancel := m.Rows[2]
	if !cancel.Wildcard || cancel.Priority != 0 || len(m.Rows) != 3 {
		t.Errorf("the wildcard expands to %d rows; %+v", len(m.Rows)-2, cancel)
	}
	if !m.States[0].Initial || m.States[1].Initial {
		t.Error("initial is not derived from the creation row")
	}
}

func TestLowerAddsCreation(t *testing.T) {
	text := strings.Replace(order, "  - {name: place, from: none, on: place, to: open, set: {buyer_id: $actor}}\n", "", 1)
	ms, problems := lower(t, map[string]string{"order": strings.Replace(text, "  place: {by: buyer, writes: [total]}\n", "", 1)})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	create := ir.Creation(ms[0])
	if create == nil || create.Event.Text != "create" || len(create.Event.Writes) != 2 || create.To.Text != "open" {
		t.Errorf("got %+v", create)
	}
}

// Each case edits the good machine in one place and names what must be said.
func TestLowerReports(t *testing.T) {
	tests := []struct {
		old, new string
		code     diag.Code
		message  string
		help     string
	}{
		{"to: paid, set", "to: piad, set", "FSM003", `state "piad" is not declared`, `did you mean "paid"?`},
		{"on: pay, when", "on: pya, when", "FSM003", `event "pya" is not declared`, `did you mean "pay"?`},
		{"do: [note]}", "do: [nota]}", "FSM003", `effect or metric "nota" is not declared`, `"note"`},
		{"paid_at: optional time", "paid_at: optional tyme", "FSM003", `type "tyme" is not declared`, `"time"`},
		{"by: buyer, fields", "by: byer, fields", "FSM003", `actor "byer" is not declared`, `"buyer"`},
		{"amount >= $total", "amount >= $totl", "GUARD_FIELD_UNDEFINED", `field "totl" is not declared`, `"total"`},
		{"amount >= $total", "amunt >= $total", "GUARD_FIELD_UNDEFINED", `field "amunt" is not declared`, `"amount"`},
		{"amount >= $total", "amount >= $buyer_id", "", "", ""},
		{"unit: cents}}}", "unit: euros}}}", "GUARD_TYPE_ERROR", "count in different units, euros and cents", "convert"},
		{"amount >= $total", "amount >= many", "GUARD_TYPE_ERROR", `"many" is not a value of type int`, "whole number"},
		{"amount >= $total", "amount matches ^1", "GUARD_TYPE_ERROR", `operator "matches" does not fit`, "on int"},
		{"paid_at exists true", "paid_at < $now", "FSM009", "$now is not known in holds", "rows and payloads"},
		{"paid_at exists true", "total < $limit", "FSM009", `param "limit" is not known in holds`, "store the value"},
		{"set: {paid_at: $now}", "set: {paid_at: $amount}", "FSM008", "$amount has type int, not optional time", "type optional time"},
		{"set: {paid_at: $now}", "set: {paid_at: $now+1h}", "FSM008", "is not an expression", "blanks"},
		{"set: {paid_at: $now}", "set: {paid_at: $now + 1}", "FSM008", "can't be added", "unit"},
		{"set: {paid_at: $now}", "set: {why: lte}", "FSM008", `"lte" is not a value of type optional reason`, `"late"`},
		{"default: 48h", "default: soon", "FSM008", `"soon" is not a value of type duration`, "unit"},
		{"after: $patience", "after: -1s", "FSM006", "duration -1s is not positive", "longer than 0"},
		{"after: $patience", "after: $limit", "FSM008", "$limit has type int", "duration"},
		{"{cancel: {why: late}}", "{cancel: {whi: late}}", "FSM003", `field of event cancel "whi" is not declared`, `"why"`},
		{"name: cancel, from: \"*\"", "name: cancel, from: null", "FSM006", "an empty `from`", "none"},
		{"to: cancelled}", "to: cancelled, reject: late}", "FSM003", `failure class "late"`, ""},
		{"machine: order", "machine: ordre", "FSM007", `machine "ordre" stands in file "order.yaml"`, "rename"},
		{"clerk: {}}", "clerk: {is: clerk_name}}\nid: {clerk_name: string}", "FSM008", `"clerk_name" is of type string and "buyer_id", the id of actor "buyer", of type int`, "one type"},
		{"clerk: {}", "clerk: {is: paid_at}", "FSM008", `field "paid_at" has type optional time, which no caller's id has`, "uuid, string or int"},
		{"paid_at: optional time", "paid_at: optional time\n  extra: {type: json, default: \"null\"}", "FSM008", `"null" is not a value of type json`, "absence"},
		{"paid_at: optional time", "paid_at: optional time\n  era: {type: time, default: \"0000-01-01T00:00:00Z\"}", "FSM008", `is not a value of type time`, "write a time"},
		{"clerk: {}", "system: {}", "FSM004", "reserved", "always exists"},
		{"with: [buyer_id, total]", "with: [buyer_id, total], fails: {cancel: {why: $why}}", "FSM009", `field "why" is not known in an answer`, "let the row"},
		{"with: [buyer_id, total]", "with: [buyer_id, total], fails: {pay: {amount: $limit}}", "", "", ""},
		{"with: [buyer_id, total]", "with: [buyer_id, error]", "FSM009", "$error is not known", "`fails`"},
		{"from: \"*\", on: cancel", "from: \"*\", on: place", "", "", ""},
		{"log_out: {log: INFO, doc: leaving}", "log_out: {log: INFO, delivery: keyed}", "FSM006", "says 2 times what it is", "exactly one"},
		{"log_out: {log: INFO, doc: leaving}", "log_out: {log: INFO, retry: x}", "FSM006", `key "retry" means nothing`, "remove"},
	}
	for _, tt := range tests {
		t.Run(tt.new, func(t *testing.T) {
			if !strings.Contains(order, tt.old) {
				t.Fatalf("%q is not in the machine", tt.old)
			}
			_, problems := lower(t, map[string]string{"order": strings.Replace(order, tt.old, tt.new, 1)})
			if tt.code == "" {
				if len(problems) > 0 {
					t.Fatalf("got %v, want none", problems)
				}
				return
			}
			if len(problems) == 0 {
				t.Fatal("nothing is reported")
			}
			for _, d := range problems {
				if d.Code == tt.code && strings.Contains(d.Message, tt.message) && strings.Contains(d.Help, tt.help) {
					return
				}
			}
			t.Errorf("got %v\nwant [%s] %s\n     help: %s", problems, tt.code, tt.message, tt.help)
		})
	}
}

func TestLowerSpansAreSmall(t *testing.T) {
	_, problems := lower(t, map[string]string{"order": strings.Replace(order, "amount >= $total", "amount >= $totl", 1)})
	d := problems[0]
	line := strings.Split(strings.Replace(order, "amount >= $total", "amount >= $totl", 1), "\n")[d.Span.Start.Line-1]
	if got := line[d.Span.Start.Col-1 : d.Span.End.Col-1]; got != "totl" {
		t.Errorf("the span covers %q, want the name alone", got)
	}
}

func TestLowerRefersAcrossMachines(t *testing.T) {
	parcel := `machine: parcel
version: 1.0.0
fields: {order_total: int}
states: {packed: {kind: initial}, gone: {kind: terminal}}
events: {send: {}}
transitions: [{name: send, from: packed, on: send, to: gone}]
`
	with := strings.Replace(order, "  note:", "  ship: {start: parcel, with: {order_total: $total}}\n  note:", 1)
	with = strings.Replace(with, "do: [note]}", "do: [note, ship]}", 1)
	ms, problems := lower(t, map[string]string{"order": with, "parcel": parcel})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, e := range ms[0].Effects {
		if e.Text == "ship" && (e.Machine != ms[1] || len(e.With) != 1) {
			t.Errorf("ship starts %v with %v", e.Machine, e.With)
		}
	}
	_, problems = lower(t, map[string]string{"order": strings.Replace(with, "order_total:", "total:", 1), "parcel": parcel})
	if len(problems) == 0 || problems[0].Code != "FSM003" {
		t.Errorf("a field that the started machine lacks: %v", problems)
	}
}
