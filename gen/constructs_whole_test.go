package gen_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// wholeConstructs are what a table says once: who its callers are, what is locked, and the
// switches of the whole machine.
func wholeConstructs(base ir.Base) []word {
	return append(strictWords(base), isWord(base), lockWord(), repeatWord(), fatalWord())
}

// isWord has an actor whose id is a field of the record.
func isWord(base ir.Base) word {
	w := word{
		name: "construct is", whole: true,
		docs: []string{"| `owner` | the caller whose id is the record's `keeper` |"}, diagram: []string{"claim"},
		golang: []string{"isOwner(r *Record) bool { return a.Role == RoleOwner && a.ID == "}, postgres: []string{"NEW.actor_role IS DISTINCT FROM 'owner' OR r.keeper = NEW.actor_id"},
		sections: map[string]string{
			"actors":      "  owner: {is: keeper}\n",
			"fields":      fmt.Sprintf("  keeper: {type: %s, immutable: true}\n", values[base].written),
			"events":      "  claim: {by: owner}\n",
			"transitions": "  - {name: claimed, from: open, on: claim}\n",
		},
		decides: func(t *testing.T, m *ir.Machine) {
			keeper := values[base]
			record := fmt.Sprintf(`"keeper":%s`, keeper.less)
			owner := m.Actors[0]
			for id, want := range map[string]string{keeper.less: "claimed", keeper.more: "not_allowed"} {
				by := interp.Actor{Role: owner, ID: valueOf(t, m, "keeper", id)}
				if got := outcome(fireAs(t, m, record, "claim", by)); got != want {
					t.Errorf("the interpreter says %s to %s", got, id)
				}
			}
		},
	}
	if !base.Identifies() {
		w.refused = ir.CodeType
	}
	return w
}

// strictWords are a guard of which a strict machine knows that its names are present, and one of
// which it does not.
func strictWords(base ir.Base) []word {
	clause, known := "x == $y", "x exists true, y exists true"
	if slices.Contains(refused[base], ir.Eq) {
		clause, known = "cause == ant", "cause exists true"
	}
	strict := func(name, when string) word {
		return word{
			name: "construct " + name, whole: true, docs: []string{"Strict: a guard reads an optional name only where it is known to be present."},
			sections: map[string]string{
				"machine":     "strict: true\n",
				"events":      "  compare: {}\n",
				"transitions": fmt.Sprintf("  - {name: compared, from: open, on: compare, when: [%s]}\n  - {name: unlike, from: open, on: compare, otherwise: true, reject: refusal}\n", when),
			},
			diagram: []string{"compare"},
		}
	}
	open := strict("strict of what may be absent", clause)
	open.refused = "FSM034"
	return []word{strict("strict", known+", "+clause), open}
}

// lockWord has a lock around an effect, which the engine takes, and one of an event, for its caller.
func lockWord() word {
	return word{
		name: "construct lock",
		docs: []string{"`effect:{x}` for 40s", "`call:{id}` for 30s"}, diagram: []string{"enter / guarded"},
		golang: []string{`Lock: fsm.Lock{Key: "effect:{x}", TTL: 40 * time.Second}`},
		sections: map[string]string{
			"events":      "  enter: {lock: {key: \"call:{id}\", ttl: 30s}}\n",
			"effects":     "  guarded: {delivery: keyed, to: listener, lock: {key: \"effect:{x}\", ttl: 40s}, with: {x: $x}}\n",
			"transitions": "  - {name: entered, from: open, on: enter, do: [guarded]}\n",
		},
	}
}

// repeatWord answers an event that had its effect before.
func repeatWord() word {
	return word{
		name: "construct repeat", whole: true,
		docs: []string{"An event without a key that led to the present state succeeds again without a step."}, diagram: []string{"again", "there"},
		golang: []string{"case There:\n\t\treturn Steps{}, nil\n"},
		sections: map[string]string{
			"machine":     "repeat: success\n",
			"states":      "  there: {kind: snapshot}\n",
			"events":      "  again: {}\n",
			"transitions": "  - {name: repeated, from: open, on: again, to: there}\n  - {name: returned, from: there, on: resume, to: open}\n",
		},
		decides: func(t *testing.T, m *ir.Machine) {
			if got := outcome(fireAs(t, m, `"state":"there"`, "again", interp.System())); got != "already there" {
				t.Errorf("the interpreter says %s", got)
			}
		},
	}
}

// fatalWord has an event for a step that can't be recorded. No stage fires it, but each takes it.
func fatalWord() word {
	return word{
		name: "construct fatal", whole: true,
		docs: []string{"A decided step that cannot be recorded fires `crashed`."}, diagram: []string{"crashed", "down"},
		golang: []string{"FatalEvent() (fsm.Event, bool) {\n\treturn fsm.Event{Name: \"crashed\""}, sql: []string{"crashed"},
		sections: map[string]string{
			"machine":     "fatal: crashed\n",
			"states":      "  down: {kind: error}\n",
			"events":      "  crashed: {internal: true}\n",
			"transitions": "  - {name: fell, from: \"*\", on: crashed, to: down}\n  - {name: rose, from: down, on: resume, to: open}\n",
		},
		decides: func(t *testing.T, m *ir.Machine) {
			if m.Fatal == nil || m.Fatal.Text != "crashed" {
				t.Errorf("the fatal event is %v", m.Fatal)
			}
			if got := outcome(fireAs(t, m, "", "crashed", interp.System())); got != "fell" {
				t.Errorf("the interpreter says %s", got)
			}
		},
	}
}

// fireAs fires an event without a payload at a record, which is open unless its JSON says otherwise.
func fireAs(t *testing.T, m *ir.Machine, record, event string, by interp.Actor) (interp.Result, *interp.Rejection) {
	t.Helper()
	i := slices.IndexFunc(m.Events, func(e *ir.Event) bool { return e.Text == event })
	return interp.Fire(m, recordOf(t, m, record), interp.Input{Event: m.Events[i], Actor: by, Now: time.Unix(0, 0)})
}

func recordOf(t *testing.T, m *ir.Machine, members string) *interp.Record {
	t.Helper()
	data := `{"id":"00000000-0000-4000-8000-000000000009"`
	if !strings.Contains(members, `"state"`) {
		data += `,"state":"open"`
	}
	if members != "" {
		data += "," + members
	}
	record, err := interp.UnmarshalRecord(m, []byte(data+"}"))
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// valueOf reads a value of a field.
func valueOf(t *testing.T, m *ir.Machine, field, json string) ir.Value {
	t.Helper()
	i := slices.IndexFunc(m.Fields, func(f *ir.Field) bool { return f.Text == field })
	return recordOf(t, m, fmt.Sprintf("%q:%s", field, json)).Get(m.Fields[i])
}

// outcome is the row that was taken, or the reason why none was.
func outcome(r interp.Result, rejected *interp.Rejection) string {
	switch {
	case rejected != nil:
		return string(rejected.Reason)
	case r.AlreadyThere():
		return "already there"
	}
	return r.Steps[0].Row.Text
}
