package check

import (
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen/diag"
)

// Each edit of the examples of FSM063 to FSM066 is a cure that
// FORMAT.md names: the warning goes away, and nothing else appears.
func TestOrdersAndDeadlinesAreCured(t *testing.T) {
	for _, c := range []struct {
		example, name, code string
		edits               []string // old, new, ...
	}{
		{"FSM063", "as it is", "FSM063", nil},
		{"FSM063", "a destination of its own", "", []string{"delivery: keyed, to: shop", "delivery: keyed, to: publisher"}},
		{"FSM063", "the work before it has fails", "", []string{
			"enable:  {delivery: idempotent, to: shop}", "enable:  {delivery: idempotent, to: shop, fails: FAILED}",
			"do: [enable]}", "}", "entry: [publish]", "entry: [enable, publish]"}},
		{"FSM063", "a timeout", "", []string{"kind: operational,", "kind: operational, timeout: {after: 1h, fire: FAILED},", "FAILED:  {}", "FAILED:  {internal: true}"}},
		{"FSM063", "behind it", "", []string{"to: publishing, do: [enable]", "to: publishing", "entry: [publish]", "entry: [publish, enable]"}},
		{"FSM063", "an answer in the same order between them", "", []string{
			"publishing, do: [enable]}", "checking, do: [enable]}\n  - {name: ok, from: checking, on: OK, to: publishing}",
			"  publishing:", "  checking:   {kind: operational, timeout: {after: 1h, fire: LATE}, entry: [check]}\n  publishing:",
			"  DONE:    {}", "  DONE:    {}\n  OK:      {}\n  LATE:    {internal: true}",
			"effects:", "effects:\n  check:   {delivery: idempotent, to: shop, returns: OK}",
			"to: published}", "to: published}\n  - {name: late, from: checking, on: LATE, to: broken}"}},
		{"FSM063", "a deadline between them proves nothing", "FSM063", []string{
			"publishing, do: [enable]}", "checking, do: [enable]}",
			"  publishing:", "  checking:   {kind: operational, timeout: {after: 1h, fire: OK}, entry: [check]}\n  publishing:",
			"  DONE:    {}", "  DONE:    {}\n  OK:      {internal: true}",
			"effects:", "effects:\n  check:   {delivery: idempotent, to: shop, returns: OK}",
			"to: published}", "to: published}\n  - {name: ok, from: checking, on: OK, to: publishing}"}},

		{"FSM064", "as it is", "FSM064", nil},
		{"FSM064", "destinations of their own", "", []string{"delivery: keyed, to: mail, with: [buyer_id]", "delivery: keyed, to: buyers, with: [buyer_id]", "to: bank, with: [sent_cent]", "to: returns, with: [sent_cent]"}},
		{"FSM064", "for both", "", []string{"with: [buyer_id]", "with: [buyer_id, seller_id]", "to: bank, with: [sent_cent]", "to: returns, with: [sent_cent]"}},
		{"FSM064", "never both", "", []string{"delivery: keyed, to: mail, with: [buyer_id]", "delivery: keyed, to: buyers, with: [buyer_id]", "to: bank, with: [sent_cent]", "to: bank, with: [sent_cent]", "otherwise: true, do:", "otherwise: true, to: sold, do:"}},
		{"FSM064", "bytes are no money", "", []string{"delivery: keyed, to: mail, with: [buyer_id]", "delivery: keyed, to: buyers, with: [buyer_id]", "unit: cent", "unit: bytes"}},

		{"FSM066", "as it is", "FSM066", nil},
		{"FSM066", "queryable", "", []string{"delivery: keyed", "delivery: queryable"}},
		{"FSM066", "no money", "", []string{"unit: cent", "unit: bytes"}},
		{"FSM066", "the success leads there too", "", []string{"success, terminal: true", "success, terminal: true, entry: [refund]"}},
		{"FSM065", "as it is", "FSM065", nil},
		{"FSM065", "internal", "", []string{"expire: {}}", "expire: {internal: true}}"}},
		{"FSM065", "system only", "", []string{"expire: {}}", "expire: {by: system}}", "states:", "actors: {buyer: {}}\nstates:", "{pay: {}", "{pay: {by: buyer}"}},
		{"FSM065", "a guard on time", "", []string{"on: expire, to: gone}", "on: expire, when: [due <= $now], to: gone}\n  - {name: early, from: open, on: expire, otherwise: true, reject: early}",
			"states:", "fields: {due: time}\nfailures: {early: {retry: never, status: 409}}\nstates:", "after: 48h", "at: due"}},
		{"FSM065", "another row for others", "", []string{"expire: {}}", "expire: {fields: {why: cause}}}", "fire: expire", "fire: {expire: {why: late}}",
			"on: expire, to: gone}", "on: expire, when: [why == late, due <= $now], to: gone}\n  - {name: drop, from: open, on: expire, when: [why == unwanted], to: gone}\n  - {name: early, from: open, on: expire, otherwise: true, reject: early}",
			"states:", "enums: {cause: [late, unwanted]}\nfields: {due: time}\nfailures: {early: {retry: never, status: 409}}\nstates:", "after: 48h", "at: due"}},
	} {
		t.Run(c.example+"/"+c.name, func(t *testing.T) {
			source := Example(diag.Code(c.example))
			for i := 0; i < len(c.edits); i += 2 {
				if !strings.Contains(source, c.edits[i]) {
					t.Fatalf("the example has no %q", c.edits[i])
				}
				source = strings.ReplaceAll(source, c.edits[i], c.edits[i+1])
			}
			list, _ := one(t, source)
			var want []string
			if c.code != "" {
				want = []string{c.code}
			}
			if got := codesIn(list); !slices.Equal(got, want) {
				t.Errorf("got %v, want %v: %v", got, want, list.Sorted())
			}
		})
	}
}
