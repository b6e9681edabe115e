package proptest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// standards are tables of published standards.
const standards = "../gen/testdata/standards"

// TestExplorationReachesTheStandards: calls from creation take every row of
// tables that were not written for the exploration, but for what no record can do.
func TestExplorationReachesTheStandards(t *testing.T) {
	known := map[string]string{
		"ppp_lcp": "no_peer from Ack_Rcvd", // a record that gets there has all its restarts
	}
	paths, err := filepath.Glob(filepath.Join(standards, "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no tables: %v", err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, e := explore(Load(t, standards, name).Machine)
			if got := strings.Join(e.unreached(), ", "); got != known[name] {
				t.Errorf("no call reaches %q, want %q", got, known[name])
			}
		})
	}
}

const triple = `
machine: triple
version: 1.0.0
fields:
  a: {type: int, default: 0, min: 0, max: 65535}
  b: {type: int, default: 0, min: 0, max: 4294967295}
states:
  open: {kind: initial}
  done: {kind: success, terminal: true}
events:
  SET:   {writes: [a, b]}
  CLOSE: {fields: {x: {type: int, min: 1, max: 1000}, y: {type: int, min: -5, max: 70000}, z: int}}
transitions:
  - {name: set,   from: open, on: SET}
  - {name: close, from: open, on: CLOSE, when: [x == $y, y == $z, z == $a, a == $b], to: done}
`

// compile is the machine of one table.
func compile(t *testing.T, name, text string) *ir.Machine {
	t.Helper()
	all, list, err := gen.Load([]gen.Source{{Path: name + ".yaml", Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	if list.HasErrors() {
		t.Fatal(list.Sorted()[0].Message)
	}
	return all[0]
}

// TestSamplesHaveEqualValues: where a guard wants five values to be equal, a
// sample of three cases has one in which they are.
func TestSamplesHaveEqualValues(t *testing.T) {
	m := compile(t, "triple", triple)
	for _, s := range situations(m, now) {
		if s.state == nil || s.event.Text != "CLOSE" {
			continue
		}
		accepted := 0
		for tc := range s.cases(caller{}, 3, 1) {
			if _, rej := tc.decide(m); rej == nil {
				accepted++
			}
		}
		if accepted == 0 {
			t.Error("no case has five equal values")
		}
		return
	}
	t.Error("there is no such situation")
}

const countdown = `
machine: countdown
version: 1.0.0
fields:
  ticks: {type: int, default: 9, min: 0}
  token: optional string
states:
  counting: {kind: initial}
  over:     {kind: success, terminal: true}
events:
  TICK: {writes: [token]}
transitions:
  - {name: tick, from: counting, on: TICK, when: [ticks > 0], set: {ticks: $ticks - 1}}
  - {name: stop, from: counting, on: TICK, otherwise: true, to: over}
`

// TestAimCountsDown: the distance to a row that waits for a counter is less with
// each step of it, and the exploration gets there.
func TestAimCountsDown(t *testing.T) {
	m := compile(t, "countdown", countdown)
	root, e := explore(m)
	if left := e.unreached(); len(left) > 0 {
		t.Errorf("not reached: %v", left)
	}
	way := NewAim(m, m.Rows[len(m.Rows)-1])
	far := map[int64]int{}
	root.each(func(n *node) {
		if n.record != nil && n.state().Text == "counting" {
			far[n.record.Get(m.Fields[0]).(int64)], _ = way.Distance(n.record, n.now)
		}
	})
	for left := int64(1); left <= 9; left++ {
		if far[left] <= far[left-1] {
			t.Errorf("with %d left it is as far as %d, with one less as %d", left, far[left], far[left-1])
		}
	}
}
