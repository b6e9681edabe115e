package check

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// table is a random machine: a record in state open, whose fields have any
// values that the holds allow, meets the event go. Values are numbers; words
// are places in a list of words, times are hours from now.
type table struct {
	rng      *rand.Rand
	theme    string // words, uuids, numbers, times, durations, choices, lists, patterns
	lengths  bool   // words of several lengths, which bounds tell apart
	sums     bool   // a set adds two variables
	patterns bool
	words    []string
	universe []int
	matching map[string][]bool // pattern -> whether it matches a word
	vars     []variable
	open     []clause
	mid      []clause
	rows     []row
	next     []row    // of the raised event
	x        variable // its field
}

const (
	literal = -1 // no variable
	nowVar  = -2
	eventX  = -3 // the field of the raised event
)

type variable struct {
	name             string
	where            string // field, event, param, incoming
	kind             string // main, flag, list
	optional         bool
	bounded          bool
	min, max         int
	incoming, stores int // a field that the event writes, and the other way round
}

type clause struct {
	left, right int
	op          string
	literals    []int
	pattern     string
}

type row struct {
	name              string
	when              []clause
	priority          int
	otherwise, reject bool
	to                string
	set               *set
	raise             bool
	arg               expr
}

type set struct {
	target int
	value  expr
}

type expr struct {
	null     bool
	literal  int
	a, b     int // variables, or literal
	sign, by int
}

var themes = []string{"words", "words", "uuids", "numbers", "numbers", "numbers", "times", "durations", "choices", "lists", "patterns"}

func newTable(rng *rand.Rand) *table {
	tb := &table{rng: rng, theme: themes[rng.IntN(len(themes))], matching: map[string][]bool{}}
	n := 2 + rng.IntN(3)
	tb.setUniverse(n)
	if len(tb.universe) > 12 {
		n = min(n, 3)
	}
	for i := range n {
		tb.addVar(fmt.Sprintf("v%d", i), "main")
	}
	if tb.theme == "lists" {
		tb.addVar("list", "list")
	}
	if rng.IntN(3) == 0 {
		tb.addVar("flag", "flag")
	}
	if rng.IntN(3) == 0 {
		tb.addIncoming()
	}
	if rng.IntN(3) == 0 {
		tb.open = tb.clauses(1, true)
	}
	if rng.IntN(2) == 0 {
		tb.mid = tb.clauses(1+rng.IntN(2), true)
	}
	tb.addRows()
	return tb
}

func (tb *table) setUniverse(n int) {
	if tb.lengths = tb.theme == "words" && tb.rng.IntN(2) == 0; tb.lengths {
		// three others of each length that a bound tells apart
		tb.words = []string{"aa", "bb", "cc", "dd", "ee", "ff", "d", "e", "f", "", "iii", "jjj", "kkk"}
	}
	switch tb.theme {
	case "uuids", "words":
		if tb.lengths {
			break
		}
		for i := range 3 + n + 2 {
			if tb.theme == "words" {
				tb.words = append(tb.words, []string{"aa", "bb", "cc", "d", "e", "f", "g", "h", "i"}[i])
			} else {
				tb.words = append(tb.words, fmt.Sprintf("00000000-0000-4000-8000-0000000000%02d", 50+i))
			}
		}
	case "choices":
		tb.words = []string{"red", "green", "blue"}
	case "lists":
		tb.words = []string{"aa", "bb", "cc", "d"}
	case "patterns":
		tb.words = []string{""}
		for i := 0; len(tb.words[i]) < 3; i++ {
			for _, c := range []string{"a", "b", "c"} {
				tb.words = append(tb.words, tb.words[i]+c)
			}
		}
		tb.words = append(tb.words, "B", "0", "d", "e") // others that are as long, and one that (?i) folds
		tb.patterns = true
	case "numbers":
		tb.universe = span(-n-4, n+7)
	default: // a literal of 4, two sums with 4, and a strict order of what is left
		tb.universe = span(-16, 16)
	}
	if tb.words != nil {
		tb.universe = span(0, len(tb.words)-1)
	}
}

func span(from, to int) []int {
	var out []int
	for v := from; v <= to; v++ {
		out = append(out, v)
	}
	return out
}

func (tb *table) addVar(name, kind string) {
	v := variable{name: name, kind: kind, where: "field", incoming: -1, stores: -1}
	switch tb.rng.IntN(4) {
	case 0:
		v.where = "event"
	case 1:
		if kind == "main" && tb.theme != "times" {
			v.where = "param"
		}
	}
	if v.where != "param" {
		v.optional = tb.rng.IntN(3) == 0
		if kind == "main" && tb.rng.IntN(4) == 0 {
			tb.bound(&v)
		}
	}
	tb.vars = append(tb.vars, v)
}

func (tb *table) bound(v *variable) {
	switch tb.theme {
	case "numbers":
		v.min = tb.rng.IntN(3)
	case "words", "patterns":
		if tb.theme == "words" && !tb.lengths {
			return
		}
		v.min = tb.rng.IntN(2)
	default:
		return
	}
	v.bounded, v.max = true, v.min+1+tb.rng.IntN(2)
}

// addIncoming lets the event write a field, which guards then see.
func (tb *table) addIncoming() {
	i := tb.rng.IntN(len(tb.vars))
	if tb.vars[i].where != "field" || len(tb.vars) > 3 {
		return
	}
	v := tb.vars[i]
	v.where, v.stores = "incoming", i
	v.optional = v.optional && tb.rng.IntN(2) == 0
	tb.vars[i].incoming = len(tb.vars)
	tb.vars = append(tb.vars, v)
}

func (tb *table) addRows() {
	n := 2 + tb.rng.IntN(2)
	tb.x = variable{name: "x", kind: "main", optional: tb.rng.IntN(3) == 0}
	if tb.rng.IntN(4) == 0 {
		tb.bound(&tb.x)
	}
	for i := range n {
		r := row{name: fmt.Sprintf("r%d", i), priority: 10 + 10*tb.rng.IntN(3)/2, to: "done"}
		r.when = tb.clauses(1+tb.rng.IntN(3), false)
		if tb.rng.IntN(2) == 0 {
			r.to = "mid"
			r.set = tb.newSet()
			if tb.rng.IntN(2) == 0 {
				r.raise, r.arg = true, tb.expr(tb.x, true)
			}
		}
		tb.rows = append(tb.rows, r)
	}
	if last := &tb.rows[n-1]; tb.rng.IntN(3) == 0 {
		last.otherwise, last.when = true, nil
	}
	next := row{name: "taken", when: tb.clauses(tb.rng.IntN(2), true)}
	if tb.rng.IntN(2) == 0 {
		next.when = append(next.when, tb.clauseOf(eventX, tb.rng.IntN(2) == 0, true))
	}
	tb.next = append(tb.next, next)
}

func (tb *table) newSet() *set {
	var targets []int
	for i, v := range tb.vars {
		if v.where == "field" && v.kind == "main" && v.incoming < 0 {
			targets = append(targets, i)
		}
	}
	if len(targets) == 0 || tb.rng.IntN(3) == 0 {
		return nil
	}
	target := targets[tb.rng.IntN(len(targets))]
	return &set{target, tb.expr(tb.vars[target], false)}
}

// expr is a right side for a name of the main type.
func (tb *table) expr(target variable, stored bool) expr {
	readable := func(v variable) bool {
		return v.kind == "main" && (v.where == "field" || v.where == "param" || v.where == "event" && !stored)
	}
	e := expr{literal: tb.literal(), a: literal, b: literal}
	if target.optional && tb.rng.IntN(6) == 0 {
		e.null = true
		return e
	}
	switch any := slices.ContainsFunc(tb.vars, readable); {
	case tb.theme == "times" && (!any || tb.rng.IntN(3) == 0):
		e.a = nowVar
	case !any || tb.theme != "times" && tb.rng.IntN(4) == 0:
		return e
	default:
		e.a = tb.pick(readable)
	}
	if tb.theme != "numbers" && tb.theme != "times" && tb.theme != "durations" || tb.rng.IntN(2) == 0 {
		return e
	}
	e.sign = 1 - 2*tb.rng.IntN(2)
	e.by = 1 + tb.rng.IntN(2)
	if tb.theme != "numbers" {
		e.by = 4
	}
	if tb.theme == "numbers" && tb.rng.IntN(5) == 0 {
		e.b = tb.pick(readable)
		tb.sums = true
	}
	return e
}

func (tb *table) pick(ok func(variable) bool) int {
	for {
		if i := tb.rng.IntN(len(tb.vars)); ok(tb.vars[i]) {
			return i
		}
	}
}

func (tb *table) literal() int {
	if tb.patterns {
		return 1 + tb.rng.IntN(3)
	}
	if tb.words != nil {
		return tb.rng.IntN(3)
	}
	if tb.theme == "durations" {
		return 4 * tb.rng.IntN(2)
	}
	return tb.rng.IntN(4)
}

// clauses are n random clauses; stored: of holds, which see the record alone.
func (tb *table) clauses(n int, stored bool) []clause {
	var out []clause
	readable := func(v variable) bool {
		return v.where == "field" || !stored && v.where == "event"
	}
	if !slices.ContainsFunc(tb.vars, readable) {
		return nil
	}
	for range n {
		i := tb.pick(readable)
		if c := tb.clauseOf(i, tb.rng.IntN(3) > 0, stored); !slices.ContainsFunc(out, func(o clause) bool { return o.text(tb) == c.text(tb) }) {
			out = append(out, c)
		}
	}
	return out
}

// clauseOf is a clause about variable i.
func (tb *table) clauseOf(i int, related, stored bool) clause {
	c := clause{left: i, right: literal}
	x := tb.x
	if i >= 0 {
		x = tb.vars[i]
	}
	if tb.rng.IntN(8) == 0 || x.kind == "flag" {
		c.op, c.literals = []string{"exists", "not_exists"}[tb.rng.IntN(2)], []int{tb.rng.IntN(2)}
		if x.kind == "flag" && tb.rng.IntN(3) > 0 {
			c.op = []string{"==", "!="}[tb.rng.IntN(2)]
		}
		return c
	}
	c.op = []string{"==", "!="}[tb.rng.IntN(2)]
	switch tb.theme {
	case "numbers", "times", "durations":
		c.op = []string{"==", "!=", "<", "<=", ">", ">="}[tb.rng.IntN(6)]
	case "patterns":
		if !stored && tb.rng.IntN(2) == 0 {
			c.op, c.pattern = "matches", []string{"^a", "b$", "^[ab]{2}$", "^a*$", "a", "^.?$", "(?i)^B"}[tb.rng.IntN(7)]
			tb.match(c.pattern)
			return c
		}
	}
	if x.kind == "list" {
		c.op = "contains"
		if stored {
			c.op, c.literals = "exists", []int{1}
			return c
		}
	}
	other := func(v variable) bool {
		return v.kind == "main" && v.where != "incoming" && (v.where == "field" || !stored) && v.name != x.name
	}
	if tb.theme == "times" && (!related || !slices.ContainsFunc(tb.vars, other)) {
		c.right = nowVar
		if stored {
			c.right, c.op, c.literals = literal, "exists", []int{tb.rng.IntN(2)}
		}
		return c
	}
	if related && slices.ContainsFunc(tb.vars, other) {
		c.right = tb.pick(other)
		return c
	}
	c.literals = []int{tb.literal()}
	if x.kind == "main" && tb.rng.IntN(4) == 0 {
		c.op = []string{"in", "not_in"}[tb.rng.IntN(2)]
		if v := tb.literal(); v != c.literals[0] {
			c.literals = append(c.literals, v)
		}
	}
	return c
}

func (tb *table) match(pattern string) {
	if tb.matching[pattern] != nil {
		return
	}
	re := regexp.MustCompile(pattern)
	for _, w := range tb.words {
		tb.matching[pattern] = append(tb.matching[pattern], re.MatchString(w))
	}
}

// show writes a value as YAML.
func (tb *table) show(v int) string {
	switch {
	case tb.words != nil:
		return tb.words[v]
	case tb.theme == "durations":
		return fmt.Sprintf("%dh", v)
	}
	return fmt.Sprint(v)
}

func (c clause) text(tb *table) string {
	name := "x"
	kind := "main"
	if c.left >= 0 {
		name, kind = tb.vars[c.left].name, tb.vars[c.left].kind
	}
	var values []string
	for _, v := range c.literals {
		if c.op == "exists" || c.op == "not_exists" || kind == "flag" {
			values = append(values, fmt.Sprint(v == 1))
		} else {
			values = append(values, tb.show(v))
		}
	}
	right := strings.Join(values, ", ")
	switch {
	case c.pattern != "":
		right = c.pattern
	case c.right == nowVar:
		right = "$now"
	case c.right >= 0:
		right = "$" + tb.vars[c.right].name
	case c.op == "in" || c.op == "not_in":
		right = "[" + right + "]"
	}
	return name + " " + c.op + " " + right
}

func (e expr) text(tb *table) string {
	switch {
	case e.null:
		return "null"
	case e.a == literal:
		return fmt.Sprintf("%q", tb.show(e.literal))
	}
	out := "$now"
	if e.a >= 0 {
		out = "$" + tb.vars[e.a].name
	}
	if e.sign == 0 {
		return out
	}
	out += map[int]string{1: " + ", -1: " - "}[e.sign]
	switch {
	case e.b >= 0:
		return out + "$" + tb.vars[e.b].name
	case tb.theme == "numbers":
		return out + fmt.Sprint(e.by)
	}
	return out + fmt.Sprintf("%dh", e.by)
}

func texts(tb *table, clauses []clause) string {
	var out []string
	for _, c := range clauses {
		out = append(out, c.text(tb))
	}
	if out == nil {
		return "[]"
	}
	return quoteAll(out)
}

func (tb *table) typeOf(v variable) string {
	t := map[string]string{"uuids": "uuid", "numbers": "int", "times": "time", "durations": "duration", "choices": "colour"}[tb.theme]
	if t == "" {
		t = "string"
	}
	switch v.kind {
	case "flag":
		t = "bool"
	case "list":
		t = "list<string>"
	}
	if v.optional {
		t = "optional " + t
	}
	out := "{type: " + t
	if v.bounded {
		out += fmt.Sprintf(", min: %d, max: %d", v.min, v.max)
	}
	return out
}

// yaml writes the machine.
func (tb *table) yaml() string {
	var b strings.Builder
	b.WriteString("machine: order\nversion: 1.0.0\nid: {order_id: uuid}\nenums: {colour: [red, green, blue]}\n")
	var params, fields, facts, fill, writes []string
	for _, v := range tb.vars {
		optional := ""
		if v.optional {
			optional = "optional "
		}
		switch v.where {
		case "param":
			params = append(params, fmt.Sprintf("  %s: %s, default: %q}\n", v.name, tb.typeOf(v), tb.show(tb.literal())))
		case "field":
			fields = append(fields, fmt.Sprintf("  %s: %s}\n", v.name, tb.typeOf(v)))
			fill = append(fill, optional+v.name)
		case "event":
			facts = append(facts, fmt.Sprintf("%s: %s}", v.name, tb.typeOf(v)))
		case "incoming":
			writes = append(writes, optional+v.name)
		}
	}
	if params != nil {
		b.WriteString("params:\n" + strings.Join(params, ""))
	}
	if fields != nil {
		b.WriteString("fields:\n" + strings.Join(fields, ""))
	}
	fmt.Fprintf(&b, "failures: {no: {retry: never, status: 409}}\nstates:\n  start: {kind: initial}\n  open: {kind: operational, holds: %s}\n  mid: {kind: operational, holds: %s}\n  done: {kind: success, terminal: true}\n", texts(tb, tb.open), texts(tb, tb.mid))
	fmt.Fprintf(&b, "events:\n  fill: {writes: [%s]}\n  go: {fields: {%s}, writes: [%s]}\n  ADVANCE: {internal: true, fields: {x: %s}}}\n  leave: {}\ntransitions:\n",
		strings.Join(fill, ", "), strings.Join(facts, ", "), strings.Join(writes, ", "), tb.typeOf(tb.x))
	b.WriteString("  - {name: in, from: start, on: fill, to: open}\n  - {name: out, from: mid, on: leave, to: done}\n")
	for _, r := range tb.rows {
		fmt.Fprintf(&b, "  - {name: %s, from: open, on: go, priority: %d, to: %s", r.name, r.priority, r.to)
		if r.otherwise {
			b.WriteString(", otherwise: true")
		} else {
			b.WriteString(", when: " + texts(tb, r.when))
		}
		if r.set != nil {
			fmt.Fprintf(&b, ", set: {%s: %s}", tb.vars[r.set.target].name, r.set.value.text(tb))
		}
		if r.raise {
			fmt.Fprintf(&b, ", raise: {ADVANCE: {x: %s}}", r.arg.text(tb))
		}
		b.WriteString("}\n")
	}
	for _, r := range tb.next {
		fmt.Fprintf(&b, "  - {name: %s, from: mid, on: ADVANCE, to: done, when: %s}\n", r.name, texts(tb, r.when))
	}
	return b.String()
}
