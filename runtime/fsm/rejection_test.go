package fsm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

func TestRejectionIsItsReason(t *testing.T) {
	err := fmt.Errorf("fire: %w", &fsm.Rejection{Machine: "m", Event: "e", Reason: fsm.ErrImmutable})
	if !errors.Is(err, fsm.ErrImmutable) || errors.Is(err, fsm.ErrGuardFailed) {
		t.Error("errors.Is does not go by the reason")
	}
}

func TestEveryReasonHasWords(t *testing.T) {
	for _, r := range []fsm.Reason{
		fsm.ErrInvalidTransition, fsm.ErrNotAllowed, fsm.ErrGuardFailed, fsm.ErrRefused, fsm.ErrHoldsFailed,
		fsm.ErrImmutable, fsm.ErrOutOfRange, fsm.ErrOverflow, fsm.ErrInvalidEvent, fsm.ErrCorrupt, fsm.ErrExists,
	} {
		if words := r.Error(); words == "" || strings.Contains(words, "_") {
			t.Errorf("%s reads %q", string(r), words)
		}
	}
}

func TestExplainKeepsTheFirstFailingClause(t *testing.T) {
	x := &fsm.Rejection{Machine: "m", Event: "go", State: "s", Reason: fsm.ErrNotAllowed}
	x.Candidate("one",
		fsm.Check("a == 1", true, fsm.Read("a", 1)),
		fsm.Check("b == $c", false, fsm.Read("b", fsm.Some("x")), fsm.Read("c", fsm.None[string]())),
		fsm.Check("d == 1", false, fsm.Read("d", 2)))
	x.Candidate("two", fsm.Check("e == 1", false, fsm.Read("e", 2)))
	if !errors.Is(x, fsm.ErrGuardFailed) {
		t.Errorf("reason is %s", string(x.Reason))
	}
	const want = `m: go in s: guard failed: one wants b == $c (b is "x", c is absent); two wants e == 1 (e is 2)`
	if got := x.Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	data, err := json.Marshal(x)
	const encoded = `{"machine":"m","reason":"guard_failed","state":"s","event":"go","rows":[` +
		`{"name":"one","clause":"b == $c","seen":[{"name":"b","value":"x"},{"name":"c","value":null}]},` +
		`{"name":"two","clause":"e == 1","seen":[{"name":"e","value":2}]}]}`
	if err != nil || string(data) != encoded {
		t.Errorf("got  %s, %v\nwant %s", data, err, encoded)
	}
}

// TestMayListsWhatIsOpen: an event is possible if the actor may take one of its transitions.
func TestMayListsWhatIsOpen(t *testing.T) {
	x := &fsm.Rejection{Machine: "m", Event: "go", State: "s", Reason: fsm.ErrInvalidTransition}
	x.May(false, "closed", "closed too")
	x.May(true, "open")
	x.May(true)
	x.May(true, "first", "last")
	if got, want := strings.Join(x.Legal, ", "), "open, first, last"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if want := "m: go in s: no transition; possible: open, first, last"; x.Error() != want {
		t.Errorf("got  %s\nwant %s", x, want)
	}
	x.Reason = fsm.ErrNotAllowed
	if want := "m: go in s: not allowed"; x.Error() != want {
		t.Errorf("got  %s\nwant %s", x, want)
	}
}
