package simulate

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// blinker goes back and forth by its deadlines for ever.
const blinker = `machine: blinker
version: 1.0.0
id: {blinker_id: string}
params:
  pause: {type: duration, default: 1s}
fields:
  count: {type: int, default: 0}
states:
  bright: {kind: initial,     timeout: {after: $pause, fire: dim}}
  dark:   {kind: operational, timeout: {after: $pause, fire: lit}}
events:
  dim:  {}
  lit:  {}
  note: {}
transitions:
  - {name: dim,  from: bright,  on: dim, to: dark, set: {count: $count + 1}}
  - {name: lit,  from: dark, on: lit, to: bright}
  - {name: note, from: bright,  on: note, when: [count < 2], set: {count: $count + 1}}
`

func session(t *testing.T) *Session {
	t.Helper()
	machines, list, err := gen.Load([]gen.Source{{Path: "blinker.yaml", Data: []byte(blinker)}})
	if err != nil {
		t.Fatal(err)
	}
	if list.HasErrors() {
		t.Fatalf("%s", diag.Text(list, nil, false))
	}
	s, err := New(machines[0], Config{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// do obeys lines that must succeed and returns the text of the last reply.
func do(t *testing.T, s *Session, lines ...string) string {
	t.Helper()
	var text string
	for _, line := range lines {
		reply := s.Do(line)
		if text = reply.Text(Plain); reply.Err != nil {
			t.Fatalf("%s: %v\n%s", line, reply.Err, text)
		}
	}
	return text
}

func TestAdvanceFiresDeadlinesInOrder(t *testing.T) {
	s := session(t)
	do(t, s, "fire create", "advance 3500ms")
	if got := s.where(); got != "dark" || s.record.Version != 4 || !s.now.Equal(Epoch.Add(3500*time.Millisecond)) {
		t.Errorf("%s, version %d, %s", got, s.record.Version, s.now)
	}
	if at := s.history[3].at; !at.Equal(Epoch.Add(3 * time.Second)) {
		t.Errorf("the third deadline fired at %s", at)
	}
}

func TestAdvanceEnds(t *testing.T) {
	s := session(t)
	do(t, s, "fire create")
	if reply := s.Do("advance 100h"); reply.Err == nil || !strings.Contains(reply.Err.Error(), "stopped after 1000 deadlines") {
		t.Errorf("got %v", reply.Err)
	}
}

func TestParamsApplyToTheNextDeadline(t *testing.T) {
	s := session(t)
	do(t, s, "fire create", "set pause 1h", "advance 1s")
	if want := Epoch.Add(time.Hour + time.Second); !s.timer.at.Equal(want) {
		t.Errorf("armed at %s, want %s", s.timer.at, want)
	}
}

func TestAnInternalRowKeepsTheDeadline(t *testing.T) {
	s := session(t)
	do(t, s, "fire create", "advance 500ms", "fire note")
	if !s.timer.at.Equal(Epoch.Add(time.Second)) {
		t.Errorf("armed at %s", s.timer.at)
	}
}

func TestUndoTakesBackOneChange(t *testing.T) {
	s := session(t)
	do(t, s, "fire create", "fire note", "set pause 5s", "advance 10s", "undo", "undo")
	if s.where() != "bright" || s.record.Version != 2 || len(s.params) != 0 || !s.now.Equal(Epoch) {
		t.Errorf("%s, version %d, params %v, %s", s.where(), s.record.Version, s.params, s.now)
	}
	s.Do("fire lit") // refused: nothing to take back
	do(t, s, "undo", "undo")
	if reply := s.Do("undo"); reply.Err == nil || s.record != nil {
		t.Errorf("undo of nothing: %v, record %v", reply.Err, s.record)
	}
}

func TestRefusalsExplainThemselves(t *testing.T) {
	s := session(t)
	do(t, s, "fire create", "fire note", "fire note")
	reply := s.Do("fire note")
	text := reply.Text(Plain)
	if !errors.Is(reply.Err, errRefused) || !strings.Contains(text, "count < 2 is false in row note: 2 < 2") || !strings.Contains(text, "legal now: dim") {
		t.Errorf("%v\n%s", reply.Err, text)
	}
	if coloured := reply.Text(Colours); !strings.Contains(coloured, "\x1b[31mrefused\x1b[0m") {
		t.Errorf("got %q", coloured)
	}
}

func TestWhatIsNotUnderstoodNamesTheNearest(t *testing.T) {
	s := session(t)
	for line, want := range map[string]string{
		"fir create":     `did you mean "fire"?`,
		"fire creat":     `did you mean "create"?`,
		"fire":           "name an event",
		"fire create x":  "write field=value",
		"fire dim x=1":   "dim carries no fields",
		"advance soon":   "not a duration",
		"advance -1s":    "not a duration",
		"set paus 1s":    `did you mean "pause"?`,
		"as somebody":    "there is no actor somebody",
		"set pause long": "not of type duration",
	} {
		reply := s.Do(line)
		if reply.Err == nil || !strings.Contains(reply.Err.Error(), want) || errors.Is(reply.Err, errRefused) {
			t.Errorf("%s: %v, want %s", line, reply.Err, want)
		}
	}
}

func TestParseValue(t *testing.T) {
	word := &ir.Enum{Name: ir.Name{Text: "word"}, Values: []ir.Name{{Text: "yes"}, {Text: "no"}}}
	str, num := ir.Type{Base: ir.String}, ir.Type{Base: ir.Int}
	var tried []ir.Base
	for _, c := range []struct {
		text string
		t    ir.Type
		want ir.Value // nil: an error
	}{
		{"5", num, int64(5)},
		{"5.5", num, nil},
		{"true", ir.Type{Base: ir.Bool}, true},
		{"yes", ir.Type{Base: ir.Bool}, nil},
		{"a b", str, "a b"},
		{`"a \"b\""`, str, `a "b"`},
		{"'a b'", str, "a b"},
		{"null", str, nil},
		{"90s", ir.Type{Base: ir.Duration}, 90 * time.Second},
		{"now", ir.Type{Base: ir.Time}, Epoch},
		{"now+1h", ir.Type{Base: ir.Time}, Epoch.Add(time.Hour)},
		{"now1h", ir.Type{Base: ir.Time}, nil},
		{"2026-01-01T10:00:00+01:00", ir.Type{Base: ir.Time}, Epoch},
		{"yes", ir.Type{Base: ir.EnumOf, Enum: word}, "yes"},
		{"yess", ir.Type{Base: ir.EnumOf, Enum: word}, nil},
		{`{"a": [1, 2]}`, ir.Type{Base: ir.JSON}, `{"a":[1,2]}`},
		{"{a}", ir.Type{Base: ir.JSON}, nil},
		{`[a, "b, c"]`, ir.Type{Base: ir.ListOf, Elem: &str}, []any{"a", "b, c"}},
		{"[]", ir.Type{Base: ir.ListOf, Elem: &str}, []any{}},
		{"[1, x]", ir.Type{Base: ir.ListOf, Elem: &num}, nil},
		{"00000000-0000-4000-8000-000000000001", ir.Type{Base: ir.UUID}, "00000000-0000-4000-8000-000000000001"},
		{"1", ir.Type{Base: ir.UUID}, nil},
	} {
		if c.want != nil {
			tried = append(tried, c.t.Base)
		}
		got, err := parseValue(c.text, c.t, Epoch)
		if (err != nil) != (c.want == nil) || (err == nil && !equal(got, c.want)) {
			t.Errorf("%s as %s: %v, %v", c.text, c.t, got, err)
		}
	}
	for _, base := range ir.BaseTypes() {
		if !slices.Contains(tried, base) {
			t.Errorf("this test writes no value of type %s", base)
		}
	}
	if v, err := parseValue("null", ir.Type{Base: ir.Int, Optional: true}, Epoch); v != nil || err != nil {
		t.Errorf("absent: %v, %v", v, err)
	}
}

func equal(a, b ir.Value) bool {
	if at, ok := a.(time.Time); ok {
		return at.Equal(b.(time.Time))
	}
	return reflect.DeepEqual(a, b)
}

func TestSplitKeepsGroupsTogether(t *testing.T) {
	got := split(`fire x a=[1, 2] b={"c d": 'e'} f="g h" i='j k'`, ' ')
	want := []string{"fire", "x", "a=[1, 2]", `b={"c d": 'e'}`, `f="g h"`, "i='j k'"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestTalkPromptsUntilQuit(t *testing.T) {
	var out bytes.Buffer
	in := strings.NewReader("fire create\nnonsense\nquit\nfire dim\n")
	render := func(r Reply) ([]byte, error) { return []byte(r.Text(Plain)), nil }
	if err := Talk(session(t), in, &out, render); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	if !strings.HasPrefix(got, "blinker none> ") || !strings.Contains(got, "blinker bright> error: nonsense is not a command") || strings.Contains(got, "dark") {
		t.Errorf("got %s", got)
	}
}
