package gen_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// word is one value of a closed vocabulary together with one type: what a table looks
// like that uses it.
type word struct {
	name     string                        // vocabulary and value, or the construct
	sections map[string]string             // lines that it adds to the sections of [table]
	refused  diag.Code                     // what the checker says where the two do not fit
	docs     []string                      // texts that the page of the machine has to have
	diagram  []string                      // texts that the diagram has to have
	golang   []string                      // texts that the generated Go has to have
	sql      []string                      // texts that the schema of each database has to have
	postgres []string                      // texts that the schema of PostgreSQL alone has to have: it reads who fires
	decides  func(*testing.T, *ir.Machine) // what the interpreter makes of it; nil: [TestWordsDecideAlike] compares
	whole    bool                          // it decides about the whole machine, and stands in a table without the others
}

// sectionsOf lists the sections of a table that a word may add to, in their order.
var sectionsOf = []string{"actors", "params", "fields", "unique", "tables", "states", "events", "effects", "metrics", "invariants"}

// table is the machine of a type with what words add to it. Lines of "machine" stand at its top.
func table(base ir.Base, words ...word) gen.Source {
	var b strings.Builder
	name := machineOf(base, words...)
	fmt.Fprintf(&b, "machine: %s\nversion: 1.0.0\nenums: {colour: [red, green]}\n", name)
	for _, w := range words {
		b.WriteString(w.sections["machine"])
	}
	b.WriteString("failures:\n  refusal: {retry: never, status: 409}\n  repeated: {retry: {first: 1s, attempts: 3}}\n")
	common := map[string]string{
		"fields": fmt.Sprintf("  x: optional %[1]s\n  y: optional %[1]s\n  cause: optional string\n", values[base].written),
		"states": "  open: {kind: initial}\n  closed: {kind: terminal}\n",
		"events": "  store: {writes: [optional x, optional y]}\n  resume: {}\n  finish: {}\n  broke: {internal: true, writes: [optional cause]}\n",
	}
	if base == ir.Time {
		common["fields"] += "  span: optional duration\n"
	}
	for _, section := range sectionsOf {
		lines := common[section]
		for _, w := range words {
			lines += w.sections[section]
		}
		if lines != "" {
			fmt.Fprintf(&b, "%s:\n%s", section, lines)
		}
	}
	b.WriteString("transitions:\n  - {name: stored, from: open, on: store}\n  - {name: finished, from: open, on: finish, to: closed}\n")
	b.WriteString("  - {name: broken, from: open, on: broke, to: open}\n")
	for _, w := range words {
		b.WriteString(w.sections["transitions"])
	}
	return gen.Source{Path: name + ".yaml", Data: []byte(b.String())}
}

// machineOf names the machine of [table].
func machineOf(base ir.Base, words ...word) string {
	if len(words) > 0 && words[0].whole {
		return "whole_" + string(base)
	}
	return "word_" + string(base)
}

// begun is the machine that the tables start.
func begun(base ir.Base) gen.Source {
	return gen.Source{Path: "begun_" + string(base) + ".yaml", Data: fmt.Appendf(nil, `machine: begun_%s
version: 1.0.0
enums: {colour: [red, green]}
fields: {v: optional %s}
states: {begun: {kind: initial}, over: {kind: terminal}}
events: {begin: {writes: [optional v]}, finish: {}}
transitions:
  - {name: began, from: none, on: begin, to: begun}
  - {name: finished, from: begun, on: finish, to: over}
`, base, values[base].written)}
}

// wordsOf lists every value of the vocabularies as tables of a type use it. A value
// without a form here has a name and nothing else.
func wordsOf(base ir.Base) []word {
	var all []word
	for _, op := range ir.Ops() {
		if !slices.Contains(refused[base], op) { // [TestEveryTypeHasItsOperators] has these
			all = append(all, operatorWord(base, op, len(all)))
		}
	}
	for _, kind := range ir.ExprKinds() {
		all = append(all, expressionWords(base, kind)...)
	}
	for _, d := range ir.Deliveries() {
		all = append(all, formed("delivery "+string(d), func() word { return deliveryWord(d) }))
	}
	for _, kind := range ir.EffectKinds() {
		all = append(all, effectWords(base, kind)...)
	}
	for _, kind := range ir.MetricTypes() {
		all = append(all, formed("metric "+string(kind), func() word { return metricWord(base, kind) }))
	}
	for _, of := range ir.Observations() {
		all = append(all, formed("observation "+string(of), func() word { return observationWord(of) }))
	}
	for _, s := range ir.Specials() {
		all = append(all, specialWord(s))
	}
	for _, k := range ir.Kinds() {
		all = append(all, kindWord(k))
	}
	for _, s := range ir.EventSources() {
		all = append(all, sourceWord(s))
	}
	return append(all, constructs(base)...)
}

// formed is a word, or its name alone if a property of gen/ir has no form for it.
func formed(name string, make func() word) (w word) {
	defer func() {
		if _, gap := recover().(*ir.NoFormError); gap {
			w = word{name: name}
		}
	}()
	return make()
}

// operatorWord stores x and y, enters a state where the operator holds, and, where
// the operator may stand there, holds it: Go decides the guard, the databases the state.
func operatorWord(base ir.Base, op ir.Op, n int) word {
	clause := fmt.Sprintf("x %s %s", op, strings.ReplaceAll(pairs[op].right, "LITERAL", values[base].literal))
	holds := ""
	if op.InChecks() {
		holds = fmt.Sprintf(", holds: ['%s']", clause)
	}
	return word{
		name: "operator " + string(op),
		sections: map[string]string{
			"states": fmt.Sprintf("  held%d: {kind: snapshot%s}\n", n, holds),
			"events": fmt.Sprintf("  ask%d: {}\n", n),
			"transitions": fmt.Sprintf("  - {name: yes%[1]d, from: open, on: ask%[1]d, when: ['%[2]s'], to: held%[1]d}\n"+
				"  - {name: no%[1]d, from: open, on: ask%[1]d, otherwise: true, reject: refusal}\n"+
				"  - {name: back%[1]d, from: held%[1]d, on: resume, to: open}\n", n, clause),
		},
		docs:    []string{clause},
		diagram: []string{fmt.Sprintf("ask%d", n), fmt.Sprintf("held%d", n)},
	}
}

// sum is a sum or difference of a type: the field that it is set to, and the right side.
type sum struct{ target, right string }

// sums lists what a type may be added to, with the sign "+" or subtracted from, with "-"; nil for a
// type that has neither.
func sums(base ir.Base, sign string) []sum {
	switch base {
	case ir.Int:
		return []sum{{"x", "$x " + sign + " $y"}, {"x", "$x " + sign + " 1"}}
	case ir.Duration:
		return []sum{{"x", "$x " + sign + " $y"}, {"x", "$x " + sign + " 1m"}}
	case ir.Time:
		list := []sum{{"x", "$x " + sign + " $span"}, {"x", "$x " + sign + " 1m"}}
		if sign == "+" {
			return append(list, sum{"x", "$now + $span"})
		}
		return append(list, sum{"span", "$x - $y"}, sum{"span", "$now - $x"})
	case ir.String, ir.Bool, ir.UUID, ir.JSON, ir.ListOf, ir.EnumOf:
		return nil
	}
	panic(ir.NoForm("sums", base))
}

// expressionWords set a field by an expression, and give it to an effect.
func expressionWords(base ir.Base, kind ir.ExprKind) (all []word) {
	name := "expression " + kind.String()
	switch kind {
	case ir.Read:
		literal := setWord(name+" of a literal", "y", written(base))
		literal.refused = noLiteral(base)
		return []word{setWord(name, "y", "$x"), literal}
	case ir.Null:
		w := setWord(name, "y", "null")
		delete(w.sections, "effects") // it has no type there
		w.sections["transitions"] = strings.ReplaceAll(w.sections["transitions"], ", do: [tell_expression_null]", "")
		return []word{w}
	case ir.Add:
		return sumWords(name, base, "+")
	case ir.Sub:
		return sumWords(name, base, "-")
	}
	return []word{{name: name}}
}

// sumWords are the sums or differences of a type, or one that is refused.
func sumWords(name string, base ir.Base, sign string) (all []word) {
	for _, s := range sums(base, sign) {
		all = append(all, setWord(name+" "+s.right, s.target, s.right))
	}
	if all == nil {
		w := setWord(name, "y", "$x "+sign+" $y")
		w.refused = ir.CodeType
		all = []word{w}
	}
	return all
}

func setWord(name, target, right string) word {
	event := identifier(name)
	return word{
		name: name,
		sections: map[string]string{
			"events":      fmt.Sprintf("  %s: {}\n", event),
			"effects":     fmt.Sprintf("  tell_%s: {delivery: keyed, to: listener, with: {v: %s}}\n", event, right),
			"transitions": fmt.Sprintf("  - {name: %[1]s, from: open, on: %[1]s, set: {%[2]s: %[3]s}, do: [tell_%[1]s]}\n", event, target, right),
		},
		docs:    []string{event, strings.Trim(right, "[]")},
		diagram: []string{event},
	}
}

// deliveryWord delivers x by a class: as a message, where nothing has to follow from its
// loss, and, where the class can answer, as the work of a state, with each answer that
// the class has.
func deliveryWord(d ir.Delivery) word {
	w := word{name: "delivery " + string(d), docs: []string{"| " + string(d) + " |"}, diagram: []string{"go_" + string(d)}}
	w.sections = map[string]string{
		"events":      fmt.Sprintf("  go_%s: {}\n", d),
		"transitions": fmt.Sprintf("  - {name: went_%[1]s, from: open, on: go_%[1]s, do: [say_%[1]s]}\n", d),
		"effects":     fmt.Sprintf("  say_%[1]s: {delivery: %[1]s, with: {v: $x}}\n", d),
	}
	if d.InStep() {
		return w
	}
	answers, do := "returns: resume, fails: {broke: {cause: $error}}", ""
	if d.MayBeLost() {
		answers += ", lost: resume"
	}
	if d.Repeats() {
		answers += ", retry: repeated, cleanup: tidy_" + string(d)
	}
	effects := fmt.Sprintf("  work_%[1]s: {delivery: %[1]s, to: worker, with: {v: $x}, %[2]s}\n", d, answers)
	if d.Repeats() {
		effects += fmt.Sprintf("  tidy_%s: {delivery: idempotent, to: worker, with: {v: $x}}\n", d)
	}
	if !d.NeedsLost() {
		effects += fmt.Sprintf("  say_%[1]s: {delivery: %[1]s, to: listener, with: {v: $x}}\n", d)
		do = ", do: [say_" + string(d) + "]"
	}
	w.sections["effects"] = effects
	w.sections["states"] = fmt.Sprintf("  wait_%[1]s: {kind: operational, entry: [work_%[1]s], timeout: {after: 10m, fire: resume}}\n", d)
	w.sections["transitions"] = fmt.Sprintf("  - {name: went_%[1]s, from: open, on: go_%[1]s, to: wait_%[1]s%[2]s}\n"+
		"  - {name: answered_%[1]s, from: wait_%[1]s, on: resume, to: open}\n"+
		"  - {name: broke_%[1]s, from: wait_%[1]s, on: broke, to: open}\n", d, do)
	w.diagram = append(w.diagram, "wait_"+string(d), "after 10m / resume")
	return w
}

// effectWords are the effects of a kind that carry x. [deliveryWord] has calls.
func effectWords(base ir.Base, kind ir.EffectKind) (all []word) {
	const columns = "columns: {id: uuid, v: optional %s}}\n"
	name, row := "effect "+kind.String(), ""
	switch kind {
	case ir.Call:
		return nil
	case ir.Log:
		for _, level := range ir.Levels() {
			w := rowWord(name+" "+string(level), fmt.Sprintf("{log: %s, with: {v: $x}}", level), "")
			w.docs, w.diagram = append(w.docs, "log "+string(level)), w.diagram[:1] // a picture shows no log lines
			all = append(all, w)
		}
		return all
	case ir.Start:
		w := rowWord(name, fmt.Sprintf("{start: begun_%s, with: {v: $x}}", base), "")
		if base == ir.EnumOf {
			w.refused = ir.CodeType // an enum belongs to one machine
		}
		return []word{w}
	case ir.Upsert, ir.Update:
		row = "{id: $id, v: $x}"
	case ir.Delete:
		row = "{id: $id}"
	default:
		return []word{{name: name}}
	}
	text := kind.String()
	return []word{rowWord(name, fmt.Sprintf("{%[1]s: of_%[1]s, row: %[2]s}", text, row), fmt.Sprintf("  of_%s: {key: [id], "+columns, text, values[base].written))}
}

// rowWord causes an effect from a row of its own.
func rowWord(name, effect, table string) word {
	event := identifier(name)
	return word{
		name: name,
		sections: map[string]string{
			"tables":      table,
			"events":      fmt.Sprintf("  %s: {}\n", event),
			"effects":     fmt.Sprintf("  do_%s: %s\n", event, effect),
			"transitions": fmt.Sprintf("  - {name: %[1]s, from: open, on: %[1]s, do: [do_%[1]s]}\n", event),
		},
		docs:    []string{"do_" + event},
		diagram: []string{event, "do_" + event},
	}
}

// metricWord counts rows, with labels that may be absent and labels that are there.
func metricWord(base ir.Base, kind ir.MetricType) word {
	event, value := "count_"+string(kind), ""
	if kind.NeedsValue() {
		value = ", value: $weight"
	}
	if kind.HasBuckets() {
		value += ", buckets: [1, 10]"
	}
	return word{
		name: "metric " + string(kind),
		sections: map[string]string{
			"events":      fmt.Sprintf("  %s: {fields: {weight: int, about: %s}}\n", event, values[base].written),
			"metrics":     fmt.Sprintf("  m_%s: {type: %[1]s, labels: {v: $x, w: $about, at: $now, left: $from}%s}\n", kind, value),
			"transitions": fmt.Sprintf("  - {name: %[1]s, from: open, on: %[1]s, do: [m_%[2]s]}\n", event, kind),
		},
		docs:    []string{"m_" + string(kind), "| " + string(kind) + " |"},
		diagram: []string{event},
	}
}

// observationWord has a metric that no row lists. [metricWord] has the others.
func observationWord(of ir.Observed) word {
	w := word{name: "observation " + string(of)}
	if !of.ByRows() {
		w.sections = map[string]string{"metrics": fmt.Sprintf("  seen_%[1]s: {type: counter, of: %[1]s, labels: [x]}\n", of)}
		w.docs = []string{"seen_" + string(of)}
	}
	return w
}

// specialWord gives a special to an effect: of a row, or of what fails.
func specialWord(s ir.Special) word {
	switch s {
	case ir.ErrorText: // each [deliveryWord] that can fail has it
		return word{name: "special " + string(s), docs: []string{"`cause`"}}
	case ir.ActorID:
		w := setWord("special "+string(s), "who", "$actor")
		delete(w.sections, "effects")
		w.sections["fields"] = "  who: optional string\n"
		w.sections["actors"] = "  caller: {}\n"
		w.sections["events"] = "  special_actor: {by: caller}\n"
		w.sections["transitions"] = strings.ReplaceAll(w.sections["transitions"], ", do: [tell_special_actor]", "")
		return w
	case ir.Now, ir.StateName, ir.FromName:
		return rowWord("special "+string(s), fmt.Sprintf("{delivery: keyed, to: listener, with: {v: $%s}}", s), "")
	}
	return word{name: "special " + string(s)}
}

// kindWord has a state of a kind, with x as what it holds.
func kindWord(k ir.Kind) word {
	w := word{name: "kind " + string(k), docs: []string{"| " + string(k) + " |"}}
	if k == ir.Initial || k == ir.Terminal {
		return w // every table has one: open, closed
	}
	w.sections = map[string]string{
		"states":      fmt.Sprintf("  at_%[1]s: {kind: %[1]s, holds: [x exists true]}\n", k),
		"events":      fmt.Sprintf("  to_%s: {}\n", k),
		"transitions": fmt.Sprintf("  - {name: to_%[1]s, from: open, on: to_%[1]s, when: [x exists true], to: at_%[1]s}\n  - {name: from_%[1]s, from: at_%[1]s, on: resume, to: open}\n", k),
	}
	w.diagram = []string{"at_" + string(k)}
	return w
}

// sourceWord has an event of a source that brings x.
func sourceWord(s ir.EventSource) word {
	event := "from_" + string(s)
	return word{
		name: "source " + string(s),
		sections: map[string]string{
			"events":      fmt.Sprintf("  %s: {source: %s, writes: [optional x]}\n", event, s),
			"transitions": fmt.Sprintf("  - {name: %[1]s, from: open, on: %[1]s}\n", event),
		},
		docs:    []string{"`" + event + "` | " + string(s)},
		diagram: []string{event},
	}
}

// identifier makes a name of words and signs.
func identifier(name string) string {
	return strings.ToLower(strings.NewReplacer(" + ", "_plus_", " - ", "_minus_", " ", "_", "$", "", "-", "_").Replace(name))
}
