package syntax

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen/diag"
)

const sound = `machine: order
version: 1.0.0
doc: An order.
fields:
  total: {type: int, min: 1}
  note: optional string
states:
  open:
    kind: initial
    holds: [total > 0]
  paid: {kind: success, terminal: true}
events:
  pay: {}
transitions:
  - {name: pay, from: open, on: pay, to: paid}
`

// Each mistake gets one diagnostic, in its own line, with the help that mends
// it.
func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		name, old, text string
		place           string // line:column
		help            string // a part of it
	}{
		{"missing colon", "states:\n", "states\n", "7:1", "`states: …`"},
		{"missing colon, nested", "  open:\n", "  open\n", "8:3", "`open: …`"},
		{"missing colon, first line", "machine: order", "machine order", "1:1", "`machine: …`"},
		{"missing colon before a value", "    kind: initial", "    kind initial", "9:5", "`kind: …`"},
		{"missing colon between braces", "{kind: success", "{kind success", "11:10", "`kind: success`"},
		{"no blank behind the colon", "    kind: initial", "    kind:initial", "9:5", "with a blank after the colon"},
		{"no blank behind the colon between braces", "{kind: success", "{kind:success", "11:10", "with a blank behind the colon"},
		{"no blank behind the dash", "  - {name", "  -{name", "15:3", "write \"- \""},
		{"tab", "    kind: initial", "\tkind: initial", "9:1", "indent with spaces"},
		{"no-break space", "    kind: initial", "\u00a0   kind: initial", "9:1", "indent with spaces"},
		{"open double quote", "An order.", `"An order.`, "3:6", "the same quote"},
		{"open single quote", "An order.", "'An order.", "3:6", "the same quote"},
		{"open quote in a row", "name: pay", `name: "pay`, "15:12", "the same quote"},
		{"open bracket", "[total > 0]", "[total > 0", "10:12", "write ]"},
		{"open brace", "min: 1}", "min: 1", "5:10", "write }"},
		{"open brace in the last row", "to: paid}", "to: paid", "15:5", "write }"},
		{"brace too many", "min: 1}", "min: 1}}", "5:29", "remove it"},
		{"bracket too many", "0]", "0]]", "10:23", "remove it"},
		{"brackets cross", "0]", "0}", "10:12", "write ]"},
		{"text behind a quote", "An order.", `"An" order.`, "3:11", "whole value in quotes"},
		{"text behind brackets", "An order.", "[draft] An order.", "3:14", "whole value in quotes"},
		{"indented less", "    holds:", "   holds:", "10:1", "column 1 or 3 or 5"},
		{"indented more", "    holds:", "      holds:", "10:1", "like the line above"},
		{"top key indented", "events:", " events:", "12:1", "column 1 or 3"},
		{"duplicate key", "doc: An order.", "doc: An order.\ndoc: Again.", "4:1", "remove one of the two"},
		{"anchor", "{type: int", "&t {type: int", "5:10", "write the value out"},
		{"alias", "optional string", "*t", "6:9", "\"*\" in quotes"},
		{"star", "from: open", "from: *", "15:23", "\"*\" in quotes"},
		{"merge key", "{kind: success,", "{<<: {kind: success},", "11:10", "write the keys out"},
		{"tag", "An order.", "!important thing", "3:6", "in quotes"},
		{"second document", "events:\n", "---\nevents:\n", "12:1", "a file of its own"},
		{"end of document", "events:\n", "...\nevents:\n", "12:1", "remove the line"},
		{"list in a guard", "[total > 0]", "[total in [1, 2]]", "10:13", "quote a guard"},
		{"colon in a text", "An order.", "Note: an order.", "3:6", "\"Note: an order.\""},
		{"colon in a text between braces", "terminal: true}", "terminal: true, doc: a: b}", "11:46", "quote a text that has a colon"},
		{"comma missing", "from: open, on", "from: open on", "15:23", "the comma that is missing"},
		{"comma in a text", "terminal: true}", "terminal: true, doc: paid, at last}", "11:52", "quote a text that has a comma"},
		{"hash", "An order.", "#1 of orders", "3:5", "a # begins a comment"},
		{"percent", "An order.", "%d orders", "3:6", "in quotes"},
		{"at", "An order.", "@home", "3:6", "in quotes"},
		{"backtick", "An order.", "`x`", "3:6", "in quotes"},
		{"ampersand", "An order.", "&c", "3:6", "write the value out"},
		{"bar", "An order.", "| An order.", "3:6", "in the next line"},
		{"greater", "An order.", "> 3 orders", "3:6", "in the next line"},
		{"dash", "An order.", "- An order.", "3:6", "in quotes"},
		{"escape", "An order.", `"a\d"`, "3:1", "single quotes"},
		{"control character", "An order.", "An\x01order.", "3:8", "remove it"},
		{"byte order mark within", "An order.", "\ufeffAn order.", "3:6", "leave it out"},
		{"not UTF-8", "An order.", "An\xe9order.", "3:8", "save the file as UTF-8"},
		{"list for a map", "  paid: {kind: success, terminal: true}", "  paid: [success]", "11:9", "write a map"},
		{"map for a list", "  - {name", "  pay: {name", "15:3", "write a list"},
		{"misspelt section", "states:", "sates:", "7:1", "did you mean \"states\"?"},
		{"misspelt key", "from:", "fron:", "15:17", "did you mean \"from\"?"},
		{"empty", sound, "", "1:1", "machine: NAME"},
		{"comments only", sound, "# later\n", "1:1", "machine: NAME"},
		{"a list", sound, "- machine: order\n", "1:1", "machine: NAME"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(sound, c.old) {
				t.Fatalf("the spec has no %q", c.old)
			}
			for _, end := range []string{"\n", "\r\n"} {
				source := strings.ReplaceAll(strings.Replace(sound, c.old, c.text, 1), "\n", end)
				list := &diag.List{}
				Parse("order.yaml", []byte(source), list)
				got := list.Sorted()
				if len(got) != 1 {
					t.Fatalf("%d diagnostics: %v", len(got), got)
				}
				if place := fmt.Sprintf("%d:%d", got[0].Span.Start.Line, got[0].Span.Start.Col); place != c.place || !strings.Contains(got[0].Help, c.help) {
					t.Errorf("%s: %s\nhelp: %s\nwant %s, help with %q", place, got[0].Message, got[0].Help, c.place, c.help)
				}
			}
		})
	}
}

// A byte order mark at the beginning and line ends of any system change nothing,
// and the words that YAML 1.1 takes for true and false are words.
func TestReadsAlike(t *testing.T) {
	words := strings.Replace(sound, "states:", "enums: {lamp: [on, off, yes, no, y]}\nstates:", 1)
	for _, source := range []string{sound, "\ufeff" + sound, strings.ReplaceAll(sound, "\n", "\r\n"), words, strings.Replace(sound, "on: pay", "\"on\": pay", 1)} {
		list := &diag.List{}
		f := Parse("order.yaml", []byte(source), list)
		if f == nil || list.Len() > 0 {
			t.Fatalf("%q: %v", source[:10], list.Sorted())
		}
		row := f.Root.Get("transitions").Items[0]
		if on := row.Get("on"); on == nil || on.Text != "pay" {
			t.Errorf("the row has no key `on`: %v", row.Entries)
		}
		for i, word := range f.Root.Get("enums").Get("lamp").Each() {
			if want := []string{"on", "off", "yes", "no", "y"}[i]; word.Kind != Scalar || word.Text != want {
				t.Errorf("%q is read as %v %q", want, word.Kind, word.Text)
			}
		}
	}
}

func FuzzFindMistake(f *testing.F) {
	f.Add(sound)
	f.Add("a: [\n{'\"\n- ?")
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Split(text, "\n")
		if m := findMistake(lines); m != nil && (m.line < 1 || m.line > len(lines) || m.col < 1 || m.help == "") {
			t.Errorf("%+v", m)
		}
	})
}
