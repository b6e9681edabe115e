package mermaid

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// hostile is every ASCII character that is not a letter or a digit, and the
// pairs that begin something in Mermaid or Markdown.
const hostile = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ -- --> %% %%{init}%% $$ __ :: ::: [*] <<fork>> <b> </b> <br/> &lt; #59; end note"

func name(s string) ir.Name { return ir.Name{Text: s} }

func clause(text string) *ir.Clause { return &ir.Clause{Text: text} }

// door is a machine with each thing that a picture can show.
func door() *ir.Machine {
	var (
		closed = &ir.State{Name: name("closed"), Kind: ir.Initial, Initial: true}
		open   = &ir.State{Name: name("wide-open"), Index: 1, Kind: ir.Operational, Holds: []*ir.Clause{clause("key exists true")}}
		end    = &ir.State{Name: name("end"), Index: 2, Kind: ir.Terminal, Terminal: true, Holds: []*ir.Clause{clause("key exists true")}}
		create = &ir.Event{Name: name("create")}
		push   = &ir.Event{Name: name("push"), By: []*ir.Actor{{Name: name("guest")}, {Name: name("owner")}}}
		knock  = &ir.Event{Name: name("knock")}
		burn   = &ir.Event{Name: name("burn")}
		ring   = ir.Action{Effect: &ir.Effect{Name: name("ring.bell"), Kind: ir.Call}}
		log    = ir.Action{Effect: &ir.Effect{Name: name("log_knock"), Kind: ir.Log}}
		count  = ir.Action{Metric: &ir.Metric{Name: name("pushes_total")}}
		audit  = ir.Action{Effect: &ir.Effect{Name: name("audit"), Kind: ir.Call}}
		limit  = &ir.Param{Name: name("limit"), Default: 90 * time.Minute}
	)
	open.Entry = []ir.Action{ring, log}
	open.Timeout = &ir.Timeout{After: &ir.Operand{Param: limit, Text: "limit"}, Fire: &ir.Fire{Event: burn}}
	return &ir.Machine{
		Name:   name("door"),
		States: []*ir.State{closed, open, end},
		Events: []*ir.Event{create, push, knock, burn},
		Do:     []ir.Action{audit},
		Rows: []*ir.Row{
			{Name: name("create"), Group: 0, Event: create, To: closed},
			{Name: name("enter"), Group: 1, From: closed, Event: push, By: push.By[1:], When: []*ir.Clause{clause("strength >= 3"), clause("key in [a, b]")}, To: open, Do: []ir.Action{ring, count}},
			{Name: name("break"), Group: 2, From: closed, Event: push, Otherwise: true, To: open, Raise: &ir.Fire{Event: burn}},
			{Name: name("knock"), Group: 3, From: closed, Event: knock, Do: []ir.Action{ring, log}},
			{Name: name("refuse"), Group: 4, From: open, Event: knock, Reject: &ir.Failure{Name: name("busy")}},
			{Name: name("fire"), Group: 5, From: closed, Event: burn, Wildcard: true, To: end},
			{Name: name("fire"), Group: 5, From: open, Event: burn, Wildcard: true, To: end},
		},
	}
}

func TestDiagram(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("testdata", "door.mmd"))
	if err != nil {
		t.Fatal(err)
	}
	if got := Diagram(door()); got != string(want) {
		t.Errorf("Diagram(door) =\n%s\nwant\n%s", got, want)
	}
}

func TestNoteOnlyWhereAClauseBegins(t *testing.T) {
	m := door()
	text := Diagram(m)
	if n := strings.Count(text, "note right of"); n != 2 {
		t.Fatalf("%d notes, want 2: closed does not hold the clause, so it begins in both states after it", n)
	}
	m.States[0].Holds = m.States[1].Holds
	if text = Diagram(m); strings.Contains(text, "note right of end") {
		t.Errorf("note repeats a clause that every state before holds:\n%s", text)
	}
}

func TestPriorityIsShownWhereItDecides(t *testing.T) {
	m := door()
	m.Rows[2].Otherwise, m.Rows[2].Priority, m.Rows[2].Raise = false, -1, nil
	text := Diagram(m)
	if !strings.Contains(text, "or (priority -1)\n") || !strings.Contains(text, "by owner (priority 0)") {
		t.Errorf("priorities of push are not drawn:\n%s", text)
	}
	m.Rows[2].Priority = 0
	if text = Diagram(m); !strings.Contains(text, "or [true]\n") || strings.Contains(text, "priority") {
		t.Errorf("equal priorities are drawn, or the bare alternative is not:\n%s", text)
	}
}

func TestShortDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		48 * time.Hour: "48h", 90 * time.Minute: "1h30m", 10 * time.Second: "10s", 30 * time.Minute: "30m",
		time.Hour + time.Second: "1h0m1s", 500 * time.Millisecond: "500ms",
	} {
		if got := short(d); got != want {
			t.Errorf("short(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestRealParserAcceptsEveryNameAndText(t *testing.T) {
	diagrams := []Named{{"door", Diagram(door())}}
	for _, text := range append(strings.Fields(hostile), hostile) {
		m := door()
		m.States[1].Text = text
		m.Events[1].Text, m.Events[2].Text = text, text
		m.Rows[1].When[0].Text = text
		m.Rows[1].Do[0].Effect.Text = text
		m.States[1].Holds[0].Text = text
		diagrams = append(diagrams, Named{text, Diagram(m)})
	}
	for _, word := range append(words, "ACCEPTED", "State", "End", "any", "check-exists", "1st", "__proto__") {
		m := door()
		m.States[0].Text = word
		diagrams = append(diagrams, Named{"state " + word, Diagram(m)})
	}
	Parse(t, diagrams)
}
