package docs_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/docs"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// specs loads all machines of spec/.
func specs(t *testing.T) []*ir.Machine {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", "spec", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var sources []gen.Source
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, gen.Source{Path: "spec/" + filepath.Base(path), Data: data})
	}
	machines, list, err := gen.Load(sources)
	if err != nil {
		t.Fatal(err)
	}
	if list.HasErrors() {
		for _, d := range list.Sorted() {
			t.Logf("%s: %s %s", d.Span, d.Code, d.Message)
		}
		t.Fatal("spec/ does not compile")
	}
	if len(machines) == 0 || len(machines) != len(paths) {
		t.Fatalf("%d machines of %d specs", len(machines), len(paths))
	}
	return machines
}

// section returns the part of page between the given heading and the next.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, "\n## "+heading+"\n")
	if !found {
		t.Fatalf("no section %q", heading)
	}
	body, _, _ := strings.Cut(rest, "\n## ")
	return body
}

func TestEverythingNamedIsInTheReadme(t *testing.T) {
	for _, m := range specs(t) {
		t.Run(m.Text, func(t *testing.T) {
			page := docs.Machine(m, "stateDiagram-v2\n")
			wants := func(heading, name string) {
				if !strings.Contains(section(t, page, heading), "\n| `"+name+"` ") {
					t.Errorf("section %s has no line for %q", heading, name)
				}
			}
			for _, s := range m.States {
				wants("States", s.Text)
			}
			for _, r := range m.Rows {
				heading := "Transitions"
				if r.Reject != nil {
					heading = "Refusals"
				}
				if !strings.Contains(section(t, page, heading), " | `"+r.Text+"` ") {
					t.Errorf("section %s has no line for %q", heading, r.Text)
				}
			}
			for _, e := range m.Events {
				wants("Events", e.Text)
			}
			for _, e := range m.Effects {
				wants("Effects", e.Text)
			}
			for _, inv := range m.Invariants {
				wants("Invariants", inv.Text)
			}
			for _, x := range m.Metrics {
				wants("Metrics", x.Text)
			}
			for _, f := range m.Fields {
				wants("Record", f.Text)
			}
			for _, p := range m.Params {
				wants("Parameters", p.Text)
			}
			for _, tab := range m.Tables {
				for _, c := range tab.Columns {
					wants("Table `"+tab.Text+"`", c.Text)
				}
			}
		})
	}
}

// cells counts the cells of a table line: an escaped bar is text.
func cells(line string) int {
	return strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
}

func TestTablesAreWellFormed(t *testing.T) {
	pages := []string{docs.Index(specs(t))}
	for _, m := range specs(t) {
		pages = append(pages, docs.Machine(m, "stateDiagram-v2\n"))
	}
	for _, page := range pages {
		lines, width, tables := strings.Split(page, "\n"), 0, 0
		for i, line := range lines {
			switch {
			case !strings.HasPrefix(line, "|"):
				width = 0
			case width == 0:
				if lines[i-1] != "" {
					t.Errorf("line %d: no blank line before a table", i+1)
				}
				width, tables = cells(line), tables+1
			case cells(line) != width:
				t.Errorf("line %d has %d bars, its table %d: %s", i+1, cells(line), width, line)
			}
		}
		if tables == 0 || !strings.HasSuffix(page, "|\n") {
			t.Errorf("%d tables; the page ends in %q", tables, page[max(0, len(page)-40):])
		}
	}
}

func TestEveryInvariantHasEnforcers(t *testing.T) {
	for _, m := range specs(t) {
		for _, inv := range m.Invariants {
			enforcers := docs.InvariantEnforcers(m, inv)
			if len(enforcers) == 0 {
				t.Errorf("%s.%s: nothing enforces it", m.Text, inv.Text)
			}
			for _, e := range enforcers {
				where, what, _ := strings.Cut(e, ": ")
				if !slices.Contains([]string{"check", "go", "postgres", "sqlite", "test"}, where) || what == "" {
					t.Errorf("%s.%s: enforcer %q", m.Text, inv.Text, e)
				}
			}
		}
	}
}

// TestInspectKeys reads the output as another tool would: by the keys that
// are promised to it.
func TestInspectKeys(t *testing.T) {
	for _, m := range specs(t) {
		out, err := docs.Inspect(m)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(out), "[]null") || !strings.HasSuffix(string(out), "}\n") {
			t.Errorf("%s: malformed", m.Text)
		}
		var got map[string]any
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		need(t, m.Text, got, "machine", "version", "states", "transitions", "events", "effects", "invariants")
		every(t, got, "states", len(m.States), "name", "kind", "initial", "terminal", "recoverable", "timeout", "holds")
		every(t, got, "transitions", len(m.Rows), "name", "from", "on", "to", "by", "when", "otherwise", "priority", "do")
		every(t, got, "events", len(m.Events), "name", "source", "fields")
		every(t, got, "effects", len(m.Effects), "name", "delivery")
		every(t, got, "invariants", len(m.Invariants), "name", "enforced_by")
		for i, s := range got["states"].([]any) {
			timeout, has := s.(map[string]any)["timeout"].(map[string]any)
			if has != (m.States[i].Timeout != nil) {
				t.Errorf("%s.%s: timeout %v", m.Text, m.States[i], timeout)
			}
			if has {
				need(t, m.States[i].Text, timeout, "after", "fire")
			}
		}
	}
}

func every(t *testing.T, got map[string]any, list string, n int, keys ...string) {
	t.Helper()
	items, ok := got[list].([]any)
	if !ok || len(items) != n {
		t.Errorf("%s: %d items (a list: %v), want %d", list, len(items), ok, n)
	}
	for _, item := range items {
		need(t, list, item.(map[string]any), keys...)
	}
}

// lists are the keys whose value is a list, never null.
var lists = []string{"by", "when", "do", "holds", "fields", "enforced_by", "states", "transitions", "events", "effects", "invariants"}

func need(t *testing.T, where string, object map[string]any, keys ...string) {
	t.Helper()
	for _, key := range keys {
		value, ok := object[key]
		if !ok {
			t.Errorf("%s: no key %q in %v", where, key, object)
		}
		if _, isList := value.([]any); slices.Contains(lists, key) && !isList {
			t.Errorf("%s: %q is %v, want a list", where, key, value)
		}
	}
}

func TestInspectFacts(t *testing.T) {
	machines := specs(t)
	find := func(name string) docs.Inspection {
		i := slices.IndexFunc(machines, func(m *ir.Machine) bool { return m.Text == name })
		return docs.Inspected(machines[i])
	}
	deal := find("deal")
	offer := deal.States[slices.IndexFunc(deal.States, func(s docs.StateInfo) bool { return s.Name == "OFFER_PENDING" })]
	if offer.Timeout == nil || *offer.Timeout.After != "48h" || offer.Timeout.Fire != "EXPIRE" {
		t.Errorf("OFFER_PENDING: timeout %+v, want 48h / EXPIRE (document 003, Timeouts)", offer.Timeout)
	}
	sources := 0
	for _, r := range find("registration").Transitions {
		if r.Name == "global_error_handler" {
			sources++
			if !r.Wildcard || r.From == nil || *r.To != "failed" || r.Priority != 0 {
				t.Errorf("global_error_handler: %+v", r)
			}
		}
	}
	if sources != 9 {
		t.Errorf("* stands for %d states, want the 9 that are not terminal", sources)
	}
	for _, r := range find("upload").Transitions {
		if r.Reject != nil && r.To != nil {
			t.Errorf("%s refuses and still has a target", r.Name)
		}
	}
}

func TestInspectTextShowsEveryRow(t *testing.T) {
	for _, m := range specs(t) {
		text := docs.InspectText(m)
		for _, r := range m.Rows {
			if !strings.Contains(text, "\n"+r.Text+" ") {
				t.Errorf("%s: no line for row %s", m.Text, r.Text)
			}
		}
		if strings.Contains(text, " \n") {
			t.Errorf("%s: blanks at the end of a line", m.Text)
		}
	}
}

func TestDeterministic(t *testing.T) {
	machines := specs(t)
	index := docs.Index(machines)
	for range 20 {
		again := specs(t)
		if docs.Index(again) != index {
			t.Fatal("Index differs from run to run")
		}
		for i, m := range again {
			a, _ := docs.Inspect(machines[i])
			b, _ := docs.Inspect(m)
			if docs.Machine(m, "") != docs.Machine(machines[i], "") || string(a) != string(b) {
				t.Fatalf("%s differs from run to run", m.Text)
			}
		}
	}
}

// What the databases leave free is listed, and nothing else: a column that the event
// brings, a fact that is stored, a guard over a fact that is not.
func TestReadmeListsWhatIsFree(t *testing.T) {
	for _, m := range specs(t) {
		if m.Text != "deal" && m.Text != "gc" {
			continue
		}
		body := section(t, docs.Machine(m, "stateDiagram-v2\n"), "What the databases leave free")
		wants := map[string][]string{
			"deal": {
				"| `counter_offer` | `COUNTER_OFFER` | `price_nano` |  |",
				"| `fund` | `DEPOSIT_CONFIRMED` | `deposit_tx: $tx_hash`, `payout_nano: $price_nano - $withheld`, `commission_nano: $commission`, `fees_nano: $withheld - $commission` | " +
					"`amount_nano >= $price_nano`<br>`amount_nano <= $surplus_above_nano`<br>`withheld < $price_nano`<br>`commission <= $withheld` |",
				"| `approve` | `APPROVE` | `publish_by: $now + $publish_timeout` | `draft == $draft_version` |",
			},
			// run is stored in swept_run, and so the guard on it is judged.
			"gc": {"| `sweep` | `gc_sweep` | `swept_run: $run` |  |"},
		}
		for _, line := range wants[m.Text] {
			if !strings.Contains(body, line) {
				t.Errorf("%s: the list lacks %s", m, line)
			}
		}
		for _, row := range []string{"mutual_by_owner", "payment_cancelled", "submit_offer"} {
			if strings.Contains(body, "| `"+row+"` ") {
				t.Errorf("%s: the list has row %s, which is judged", m, row)
			}
		}
	}
}
