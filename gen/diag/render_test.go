package diag

import (
	"encoding/json"
	"strings"
	"testing"
)

func span(file string, line, col, length int) Span {
	return Span{File: file, Start: Pos{line, col}, End: Pos{line, col + length}}
}

func sample() (*List, Sources) {
	src := Sources{"spec/order.yaml": []byte("machine: order\nstates:\n  - {name: pay, to: piad}\n")}
	var l List
	l.Warnf("FSM010", span("spec/order.yaml", 2, 1, 6), "", "later")
	l.Errorf("FSM003", span("spec/order.yaml", 3, 21, 5), `did you mean "paid"?`, "state %q is not declared", "piad")
	l.Errorf("FSM003", span("spec/order.yaml", 1, 1, 7), "h", "first <b>")
	return &l, src
}

func TestTextShowsSourceAndCaret(t *testing.T) {
	l, src := sample()
	want := `spec/order.yaml:1:1: error: first <b> [FSM003]
  machine: order
  ^^^^^^^
  help: h
spec/order.yaml:2:1: warning: later [FSM010]
  states:
  ^^^^^^
spec/order.yaml:3:21: error: state "piad" is not declared [FSM003]
  - {name: pay, to: piad}
                    ^^^^^
  help: did you mean "paid"?
`
	if got := string(Text(l, src, false)); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestTextColour(t *testing.T) {
	l, src := sample()
	got := string(Text(l, src, true))
	for _, want := range []string{"\x1b[1;31merror\x1b[0m", "\x1b[1;33mwarning\x1b[0m", "\x1b[36mhelp:\x1b[0m"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	if plain := string(Text(l, src, false)); strings.Contains(plain, "\x1b") {
		t.Errorf("escape without colour: %q", plain)
	}
}

func TestTextCarets(t *testing.T) {
	long := strings.Repeat("a", 200) + "WRONG" + strings.Repeat("b", 200)
	cases := map[string]struct {
		source string
		at     Span
		under  string // what the carets stand below
	}{
		"tab":             {"\tkey: x", span("f", 1, 2, 3), "key"},
		"several lines":   {"a: [b,\n  c]", Span{"f", Pos{1, 4}, Pos{2, 4}}, "[b,"},
		"long line":       {long, span("f", 1, 201, 5), "WRONG"},
		"long line start": {long, span("f", 1, 1, 4), "aaaa"},
		"not ascii":       {"ключ: знач", span("f", 1, 7, 4), "знач"},
		"control":         {"a: \x1b[2Jx", span("f", 1, 4, 1), "\uFFFD"},
		"carriage return": {"a: b\r\nc: d\r\n", span("f", 1, 4, 1), "b"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var l List
			l.Errorf("FSM001", c.at, "", "m")
			lines := strings.Split(string(Text(&l, Sources{"f": []byte(c.source)}, false)), "\n")
			line, caret := []rune(lines[1]), lines[2]
			start, end := strings.Index(caret, "^"), len(strings.TrimRight(caret, " "))
			if got := string(line[start:min(end, len(line))]); got != c.under {
				t.Errorf("carets below %q, want %q:\n%s", got, c.under, strings.Join(lines, "\n"))
			}
			if n := len(line); n > maxExcerpt+4 {
				t.Errorf("line of %d characters", n)
			}
		})
	}
}

func TestTextWithoutSource(t *testing.T) {
	var l List
	l.Errorf("FSM001", span("gone", 7, 1, 1), "", "m")
	l.Errorf("FSM001", span("short", 7, 1, 1), "", "m")
	want := "gone:7:1: error: m [FSM001]\nshort:7:1: error: m [FSM001]\n"
	if got := string(Text(&l, Sources{"short": []byte("x\n")}, false)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestJSON(t *testing.T) {
	l, _ := sample()
	data, err := JSON(l)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Errors, Warnings int
		Diagnostics      []struct {
			Severity, Code, File, Message, Help string
			Line, Column, EndLine, EndColumn    int
		}
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if got.Errors != 2 || got.Warnings != 1 || len(got.Diagnostics) != 3 {
		t.Fatalf("got %+v", got)
	}
	last := got.Diagnostics[2]
	if last.Code != "FSM003" || last.Line != 3 || last.Column != 21 || last.EndColumn != 26 || last.Help == "" {
		t.Errorf("got %+v", last)
	}
	if !strings.Contains(string(data), "first <b>") {
		t.Error("angle brackets are escaped")
	}
}

func TestJSONEmptyIsAList(t *testing.T) {
	data, err := JSON(new(List))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), `"diagnostics": []`) {
		t.Errorf("got %s", data)
	}
}

func TestSARIF(t *testing.T) {
	l, _ := sample()
	l.Errorf("FSM099", Span{File: "/abs path/x.yaml"}, "", "whole file")
	data, err := SARIF(l, []Rule{{"FSM003", "undeclared name", "text", "fix", Error}, {"FSM010", "unused name", "text", "fix", Warning}}, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	var log sarifLog
	if err := json.Unmarshal(data, &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	if log.Version != "2.1.0" || run.Tool.Driver.Version != "1.2.3" || len(run.Tool.Driver.Rules) != 2 || len(run.Results) != 4 {
		t.Fatalf("got %s", data)
	}
	whole, first, warned := run.Results[0], run.Results[1], run.Results[2]
	if loc := whole.Locations[0].Physical; loc.Region != nil || loc.Artifact.URI != "file:///abs%20path/x.yaml" || whole.RuleIndex != -1 {
		t.Errorf("whole file: %+v", loc)
	}
	if first.RuleID != "FSM003" || first.RuleIndex != 0 || first.Level != "error" || !strings.Contains(first.Message.Text, "help: h") {
		t.Errorf("got %+v", first)
	}
	if warned.Level != "warning" || warned.RuleIndex != 1 {
		t.Errorf("got %+v", warned)
	}
	if r := first.Locations[0].Physical.Region; *r != (sarifRegion{1, 1, 1, 8}) {
		t.Errorf("got region %+v", r)
	}
}

func TestSortedDropsRepeats(t *testing.T) {
	var l List
	for range 3 {
		l.Errorf("FSM001", span("f", 1, 1, 1), "", "same")
	}
	if got := len(l.Sorted()); got != 1 {
		t.Errorf("got %d diagnostics, want 1", got)
	}
}
