package check

import (
	"slices"
	"strings"
	"testing"
)

// TestNames gives declarations, by section of the spec, and the finding that
// they must have.
func TestNames(t *testing.T) {
	for name, c := range map[string]struct {
		fields, states, events, rows, tail string
		code, want                         string
	}{
		"state and event":        {states: "Pay: {kind: operational}", code: "FSM011", want: `event "pay" becomes "Pay" in Go, like state "Pay"`},
		"state and fixed name":   {states: "record: {kind: operational}", code: "FSM011", want: `state "record" becomes "Record" in Go`},
		"two states":             {states: "on-hold: {kind: operational}\n  on_hold: {kind: operational}", code: "FSM011", want: `state "on_hold" becomes "OnHold" in Go, like state "on-hold"`},
		"field and event":        {fields: "pay: optional string", code: "FSM011", want: `event "pay" becomes "Pay" in the record's Go type, like field "pay"`},
		"field and id":           {fields: "order-id: optional string", code: "FSM011", want: `field "order-id" becomes "OrderID"`},
		"expanded row":           {events: "stop: {}", rows: "- {name: stop, from: [created, shut], on: stop, to: paid}\n  - {name: stop_shut, from: shut, on: pay, to: paid}", states: "shut: {kind: operational}", code: "FSM011", want: `transition "stop_shut" becomes "TransitionStopShut"`},
		"keyword state":          {states: "Select: {kind: operational}", code: "FSM013", want: `state "Select" has the name of the Go keyword select`},
		"keyword state, lower":   {states: "type: {kind: operational}", code: "FSM013", want: `keyword type`},
		"reserved state":         {states: "ORDER: {kind: operational}", code: "FSM014", want: `state "ORDER" is a reserved word of SQL`},
		"reserved column":        {fields: "user: optional string", code: "FSM014", want: `field "user" is a reserved word of SQL`},
		"reserved table":         {tail: "tables:\n  table:\n    key: [a]\n    columns: {a: int}", code: "FSM014", want: `table "table" is a reserved word`},
		"reserved table column":  {tail: "tables:\n  rows:\n    key: [check]\n    columns: {check: int}", code: "FSM014", want: `column "check" is a reserved word`},
		"fixed column":           {fields: "last_event: optional string", code: "FSM012", want: `field "last_event" becomes "last_event" in table order_records`},
		"long column":            {fields: strings.Repeat("f", 64) + ": optional string", code: "FSM086", want: "has 64 bytes, of which PostgreSQL keeps 63"},
		"long table":             {tail: "tables:\n  " + strings.Repeat("t", 64) + ":\n    key: [a]\n    columns: {a: int}", code: "FSM086", want: "table \"ttt"},
		"capitals under sql":     {tail: "sql: {history: Steps}", code: "FSM086", want: `table "Steps" is no name that SQL keeps without quotes`},
		"schema under sql":       {tail: "sql: {table: shop.orders}", code: "FSM086", want: `table "shop.orders" is no name`},
		"two columns":            {fields: "a_b: optional int\n  a-b: optional int", code: "FSM012", want: `field "a-b" becomes "a_b" in table order_records, like field "a_b"`},
		"table of the machine":   {tail: "tables:\n  order_history:\n    key: [a]\n    columns: {a: int}", code: "FSM012", want: `table "order_history" becomes "order_history" in the database, like history table`},
		"event field and record": {fields: "amount: optional int", events: "settle: {fields: {amount: int}}", code: "FSM015", want: `field "amount" of event "settle" has the name of field "amount"`},
		"query and effect":       {tail: "effects:\n  find: {delivery: queryable}\n  query_find: {delivery: keyed}", code: "FSM011", want: `effect "query_find" becomes "QueryFind" in the Go interface Handlers, like the query of effect "find"`},
		"engine's face":          {fields: "columns: optional int", code: "FSM011", want: `field "columns" becomes "Columns" in the record's Go type, a name that is taken`},
		"event field, special":   {events: "settle: {fields: {now: time}}", code: "FSM015", want: `has the name of the special $now`},
		"unused field":           {fields: "amount: optional int", code: "FSM010", want: `field "amount" is not used`},
		"duplicate rows":         {events: "stop: {}", rows: "- {name: pay, from: created, on: stop, to: paid}", code: "FSM004", want: `row "pay" is declared twice`},
	} {
		t.Run(name, func(t *testing.T) {
			source := "machine: order\nversion: 1.0.0\nid: {order_id: uuid}\n"
			if c.fields != "" {
				source += "fields:\n  " + c.fields + "\n"
			}
			source += "states:\n  created: {kind: initial}\n  paid: {kind: success, terminal: true}\n  " + c.states +
				"\nevents:\n  pay: {}\n  " + c.events + "\ntransitions:\n  - {name: pay, from: created, on: pay, to: paid}\n  " + c.rows + "\n" + c.tail + "\n"
			list, _ := one(t, source)
			var all []string
			for _, d := range list.Sorted() {
				all = append(all, string(d.Code)+" "+d.Message)
				if string(d.Code) == c.code && strings.Contains(d.Message, c.want) {
					return
				}
			}
			t.Errorf("want %s %s, got\n%s", c.code, c.want, strings.Join(all, "\n"))
		})
	}
}

func TestPackageNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"order": true, "wal": true, "order2": true, "big_order": true,
		"type": false, "string": false, "time": false, "Order": false, "order-2": false, "order_test": false, "main": false,
	} {
		list, _ := one(t, strings.Replace(Example("FSM022"), "machine: order", "machine: "+name, 1))
		found := strings.Contains(strings.Join(codesIn(list), " "), codeReservedName) ||
			strings.Contains(strings.Join(codesIn(list), " "), "FSM00")
		if found == ok {
			t.Errorf("machine %q: accepted is %t, want %t (%v)", name, !found, ok, codesIn(list))
		}
	}
}

// TestColumnsMayHave63Bytes: the longest name that both databases keep.
func TestColumnsMayHave63Bytes(t *testing.T) {
	list, _ := one(t, strings.Replace(Example("FSM022"), "states:", "fields: {"+strings.Repeat("f", 63)+": optional string}\nstates:", 1))
	if slices.Contains(codesIn(list), codeSQLName) {
		t.Errorf("got %v", list.Sorted())
	}
}
