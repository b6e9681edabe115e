package fsm_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

type door uint8

func (d door) String() string { return []string{"none", "open", "closed", "locked"}[d] }

type push uint8

func (p push) String() string { return []string{"none", "close", "lock", "make"}[p] }

const (
	open, closed, locked door = 1, 2, 3
	shut, lock, build    push = 1, 2, 3
)

var doors = fsm.Table[uint16, door, push]{
	1: {Name: "make", Event: build, To: open, Raises: shut},
	2: {Name: "lock", From: closed, Event: lock, To: locked, Effects: []string{"ring"}},
	3: {Name: "shut", From: open, Event: shut, To: closed},
	4: {Name: "shut", From: closed, Event: shut, To: closed, Internal: true},
	5: {Name: "shut", From: closed, Event: lock, To: locked},
}

func TestTableRow(t *testing.T) {
	if got := doors.Row(2).Name; got != "lock" {
		t.Errorf("row 2 is %q, want lock", got)
	}
	for _, none := range []uint16{0, 6, 65535} {
		if got := doors.Row(none); !reflect.DeepEqual(*got, fsm.Row[door, push]{}) {
			t.Errorf("row %d, which the table has not, is %v", none, *got)
		}
	}
	if got, want := doors.All(), []uint16{1, 2, 3, 4, 5}; !slices.Equal(got, want) {
		t.Errorf("transitions %v, want %v", got, want)
	}
}

// A row of the spec is told by its name and its event.
func TestTableLeaving(t *testing.T) {
	for _, c := range []struct {
		of   uint16
		from door
		want uint16
	}{{3, open, 3}, {3, closed, 4}, {5, closed, 5}, {3, locked, 0}} {
		if got := doors.Leaving(c.of, c.from); got != c.want {
			t.Errorf("the row of transition %d leaves %s by %d, want %d", c.of, c.from, got, c.want)
		}
	}
}

// Events come once, in the order of the spec.
func TestTableEvents(t *testing.T) {
	for from, want := range map[door][]push{0: {build}, open: {shut}, closed: {shut, lock}, locked: nil} {
		if got := doors.Events(from); !slices.Equal(got, want) {
			t.Errorf("events of %s are %v, want %v", from, got, want)
		}
	}
}

func TestTableInfos(t *testing.T) {
	want := []fsm.TransitionInfo{
		{Name: "make", Event: "make", To: "open", Raises: "close"},
		{Name: "lock", From: "closed", Event: "lock", To: "locked", Effects: []string{"ring"}},
	}
	if got := doors.Infos()[:2]; !reflect.DeepEqual(got, want) {
		t.Errorf("infos %v, want %v", got, want)
	}
}

// Who changes a list that facts gave changes no other's.
func TestFactsGiveCopies(t *testing.T) {
	facts := fsm.NewFacts(fsm.Spec{
		Name: "door", States: []string{"open"}, Terminal: []string{"locked"}, Timeouts: map[string]string{"open": "close"},
		Transitions: doors.Infos(), Effects: []fsm.EffectInfo{{Name: "ring"}}, Schemas: map[string]string{"sqlite": "CREATE"},
	})
	facts.States()[0], facts.TerminalStates()[0], facts.Timeouts()["open"] = "x", "x", "x"
	facts.Transitions()[0].Name, facts.Effects()[0].Name = "x", "x"
	if s := facts.States()[0] + facts.TerminalStates()[0] + facts.Timeouts()["open"] + facts.Transitions()[0].Name + facts.Effects()[0].Name; s != "openlockedclosemakering" {
		t.Errorf("the facts have become %q", s)
	}
}

func TestFactsOfNoEffects(t *testing.T) {
	facts := fsm.NewFacts(fsm.Spec{Name: "door", Schemas: map[string]string{"sqlite": "CREATE"}})
	if _, err := facts.Schema("oracle"); err == nil || err.Error() != `door: no schema for dialect "oracle"` {
		t.Errorf("the schema of a dialect that is none: %v", err)
	}
	const unknown = `machine door has no such effect "ring"`
	if _, err := facts.TableWrite(fsm.Effect{Name: "ring"}); err == nil || !strings.Contains(err.Error(), unknown) {
		t.Errorf("a table's write: %v, want %s", err, unknown)
	}
	if _, err := facts.StartOf(fsm.Effect{Name: "ring"}); err == nil || !strings.Contains(err.Error(), unknown) {
		t.Errorf("another machine's start: %v, want %s", err, unknown)
	}
}
