package fsm_test

import (
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

func TestVerdicts(t *testing.T) {
	low := fsm.Check("stock >= 3", false, fsm.Read("stock", 2))
	holds := fsm.Check("open == true", true, fsm.Read("open", true))
	need := fsm.Need{Row: "pay", Clause: "amount == $price", Fields: []string{"amount"}}
	closed := &fsm.Rejection{Reason: fsm.ErrHoldsFailed}
	for _, tt := range []struct {
		name    string
		options []fsm.Option
		fires   error // what comes of firing it without a payload
		want    fsm.Verdict
		reason  fsm.Reason
		text    string
	}{
		{name: "no transition", options: []fsm.Option{{Event: "other", May: true}}, reason: fsm.ErrInvalidTransition, text: "m: go: no transition"},
		{name: "another's", options: []fsm.Option{{Event: "go"}}, reason: fsm.ErrNotAllowed, text: "m: go: not allowed"},
		{
			name: "guard", options: []fsm.Option{{Event: "go", Row: "pay", May: true, Known: []fsm.Clause{holds, low}}},
			reason: fsm.ErrGuardFailed, text: "m: go: guard failed: pay wants stock >= 3 (stock is 2)",
		},
		{
			name:    "a refusal that does not apply is no obstacle",
			options: []fsm.Option{{Event: "go", Row: "no", May: true, Known: []fsm.Clause{low}, Refuses: true}},
			reason:  fsm.ErrGuardFailed, text: "m: go: guard failed",
		},
		{
			name:    "refused",
			options: []fsm.Option{{Event: "go", Row: "no", May: true, Known: []fsm.Clause{holds}, Refuses: true, Failure: "late", Status: 409}, {Event: "go", Row: "pay", May: true}},
			want:    fsm.Verdict{Rows: []string{"no"}}, reason: fsm.ErrRefused, text: "m: go: refused as late",
		},
		{
			name:    "the payload decides",
			options: []fsm.Option{{Event: "go", Row: "pay", May: true, Carries: true, Needs: []fsm.Need{need}}, {Event: "go", Row: "no", May: true, Carries: true, Refuses: true}},
			fires:   closed, want: fsm.Verdict{Legal: true, Rows: []string{"pay", "no"}, Needs: []fsm.Need{need}},
		},
		{name: "legal", options: []fsm.Option{{Event: "go", Row: "pay", May: true}}, want: fsm.Verdict{Legal: true, Rows: []string{"pay"}}},
		{
			name: "what the row demands beside its guard", options: []fsm.Option{{Event: "go", Row: "pay", May: true}},
			fires: closed, want: fsm.Verdict{Rows: []string{"pay"}}, reason: fsm.ErrHoldsFailed, text: ": : state condition failed",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base := &fsm.Rejection{Machine: "m", Reason: fsm.ErrInvalidTransition, Event: "?"}
			decode := func(event string, _ []byte) (string, error) { return event, nil }
			got := fsm.Verdicts(base, []string{"go"}, tt.options, decode, func(string) error { return tt.fires })[0]
			if got.Legal != tt.want.Legal || !slices.Equal(got.Rows, tt.want.Rows) || len(got.Needs) != len(tt.want.Needs) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
			switch {
			case got.Why == nil && tt.reason != "":
				t.Errorf("it is legal, want %s", tt.reason)
			case got.Why != nil && (got.Why.Reason != tt.reason || got.Why.Error() != tt.text):
				t.Errorf("it says %q, want %q", got.Why.Error(), tt.text)
			}
			if base.Event != "?" || base.Reason != fsm.ErrInvalidTransition {
				t.Errorf("the beginning of all rejections became %+v", base)
			}
		})
	}
}
