package store

import (
	"slices"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// valued is a record of which only the values matter.
type valued []any

func (v valued) StateName() string { return "open" }
func (v valued) Columns() []string { return make([]string, len(v)) }
func (v valued) Values() []any     { return v }
func (v valued) Pointers() []any   { return nil }

func TestChangedComparesWhatIsStored(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		before, after any
		want          bool
	}{
		"a text":                {"a", "b", true},
		"the same text":         {"a", "a", false},
		"a number":              {int64(1), int64(2), true},
		"the same number":       {int64(1), int64(1), false},
		"a bool":                {true, false, true},
		"a value that comes":    {nil, "a", true},
		"a value that goes":     {"a", nil, true},
		"none stays none":       {nil, nil, false},
		"a time":                {noon, noon.Add(time.Microsecond), true},
		"the same time, abroad": {noon, noon.In(time.FixedZone("x", 3600)), false},
		"a list":                {[]string{"a", "b"}, []string{"b", "a"}, true},
		"the same list":         {[]string{"a", "b"}, []string{"a", "b"}, false},
		"a list of numbers":     {[]int64{1}, []int64{2}, true},
		"the same numbers":      {[]int64{1}, []int64{1}, false},
		"an empty list comes":   {nil, []string{}, true},
		"text becomes number":   {"1", int64(1), true},
	} {
		s := StepWrite{Before: valued{"id", "same", tt.before}, Record: valued{"id", "same", tt.after}}
		if got := slices.Equal(s.Changed(s.Record.Values()), []int{2}); got != tt.want {
			t.Errorf("%s: Changed lists %v", name, s.Changed(s.Record.Values()))
		}
	}
}

// TestWithoutBeforeEverythingChanged, but for the id.
func TestWithoutBeforeEverythingChanged(t *testing.T) {
	t.Parallel()
	s := StepWrite{Record: valued{"id", "open", nil, int64(1)}}
	if got := s.Changed(s.Record.Values()); !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("Changed lists %v", got)
	}
}

var _ fsm.Record = valued{}
