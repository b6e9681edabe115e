package check

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// absent is the value of a name without one.
const absent = -1 << 40

// truths are what the brute force finds.
type truths struct {
	overlap, dead, chosen, refused, broken, brokenLoose map[string]bool
	uncovered, records                                  bool
}

// truth tries every value of the universe for every variable.
func (tb *table) truth() truths {
	out := truths{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, false, false}
	for _, r := range tb.rows {
		for _, c := range r.when {
			out.dead["dead "+c.text(tb)] = true
		}
	}
	values := make([]int, len(tb.vars))
	var walk func(i int)
	walk = func(i int) {
		if i == len(tb.vars) {
			tb.try(values, &out)
			return
		}
		for _, v := range tb.vars[i].values(tb) {
			values[i] = v
			walk(i + 1)
		}
	}
	walk(0)
	return out
}

// try judges one case: values of the stored fields, the payload, the params.
func (tb *table) try(values []int, out *truths) {
	for _, r := range tb.rows {
		for _, c := range r.when {
			if c.holds(tb, values, false) {
				out.dead["dead "+c.text(tb)] = false
			}
		}
	}
	if !all(tb, tb.open, values, true) {
		return // no such record
	}
	out.records = true
	var best, rest *row
	var holding []*row
	for i := range tb.rows {
		r := &tb.rows[i]
		switch {
		case r.otherwise:
			rest = r
		case all(tb, r.when, values, false):
			for _, o := range tb.rows[:i] {
				if o.priority == r.priority && !o.otherwise && all(tb, o.when, values, false) {
					out.overlap["overlap "+o.name+" "+r.name] = true
				}
			}
			holding = append(holding, r)
			if best == nil || r.priority > best.priority {
				best = r
			}
		}
	}
	if best == nil && rest != nil {
		best, holding = rest, []*row{rest}
	}
	if best == nil {
		out.uncovered = true
		return
	}
	out.chosen[best.name] = true
	for _, r := range holding { // an overlap is a fault of its own: either row may be meant
		if r.priority == best.priority && r.to == "mid" {
			tb.step(r, values, out)
		}
	}
}

// step is the new record of r, its promises, and what it raises.
func (tb *table) step(r *row, values []int, out *truths) {
	record := slices.Clone(values)
	for i, v := range tb.vars { // an event's value becomes the stored one
		if v.stores >= 0 {
			record[v.stores] = values[i]
		}
	}
	storable := true
	if r.set != nil {
		v := r.set.value.eval(tb, values, false)
		storable = tb.vars[r.set.target].allows(tb, v)
		record[r.set.target] = v
	}
	whole := true
	for _, c := range tb.mid {
		if c.holds(tb, record, true) {
			continue
		}
		whole = false
		key := "holds " + r.name + " " + c.text(tb)
		out.brokenLoose[key] = true
		out.broken[key] = out.broken[key] || storable
	}
	if !r.raise || !storable || !whole {
		return
	}
	x := r.arg.eval(tb, record, true)
	if !tb.x.allows(tb, x) {
		out.refused[r.name] = true
		return
	}
	for _, next := range tb.next {
		if tb.allNext(next.when, record, x) {
			if next.reject {
				out.refused[r.name] = true
			}
			return
		}
	}
	out.refused[r.name] = true
}

// allNext decides guards of the raised event: its field stands for x.
func (tb *table) allNext(when []clause, record []int, x int) bool {
	for _, c := range when {
		left := x
		if c.left >= 0 {
			left = record[c.left]
		}
		if !c.decide(tb, left, c.rightValues(tb, record, true)) {
			return false
		}
	}
	return true
}

func all(tb *table, clauses []clause, values []int, stored bool) bool {
	for _, c := range clauses {
		if !c.holds(tb, values, stored) {
			return false
		}
	}
	return true
}

// read is the value of a variable: where the event writes a stored one, guards
// see the incoming value.
func (tb *table) read(i int, values []int, stored bool) int {
	if !stored && tb.vars[i].incoming >= 0 {
		return values[tb.vars[i].incoming]
	}
	return values[i]
}

func (c clause) holds(tb *table, values []int, stored bool) bool {
	return c.decide(tb, tb.read(c.left, values, stored), c.rightValues(tb, values, stored))
}

func (c clause) rightValues(tb *table, values []int, stored bool) []int {
	switch {
	case c.right == nowVar:
		return []int{0}
	case c.right >= 0:
		return []int{tb.read(c.right, values, stored)}
	}
	return c.literals
}

// decide is the meaning of an operator.
func (c clause) decide(tb *table, left int, right []int) bool {
	switch c.op {
	case "exists":
		return (left != absent) == (right[0] == 1)
	case "not_exists":
		return (left == absent) == (right[0] == 1)
	}
	if left == absent || slices.Contains(right, absent) {
		return false
	}
	switch c.op {
	case "==", "in":
		return slices.Contains(right, left)
	case "!=", "not_in":
		return !slices.Contains(right, left)
	case "<":
		return left < right[0]
	case "<=":
		return left <= right[0]
	case ">":
		return left > right[0]
	case ">=":
		return left >= right[0]
	case "contains": // left is a set of words
		return left&(1<<right[0]) != 0
	}
	if c.op != "matches" {
		panic("the brute force does not know the operator " + c.op)
	}
	return tb.matching[c.pattern][left]
}

func (e expr) eval(tb *table, values []int, stored bool) int {
	v := e.literal
	switch {
	case e.null:
		return absent
	case e.a == nowVar:
		v = 0
	case e.a >= 0:
		v = tb.read(e.a, values, stored)
	}
	other := e.by
	if e.b >= 0 {
		other = tb.read(e.b, values, stored)
	}
	if v == absent || other == absent {
		return absent
	}
	return v + e.sign*other
}

// allows reports whether v is a value that the variable can have.
func (x variable) allows(tb *table, v int) bool {
	if v == absent {
		return x.optional
	}
	size := v
	if tb.theme == "words" || tb.theme == "patterns" {
		size = utf8.RuneCountInString(tb.words[v])
	}
	return !x.bounded || x.min <= size && size <= x.max
}

// values are those of the universe that the variable can have.
func (x variable) values(tb *table) []int {
	var out []int
	universe := tb.universe
	switch x.kind {
	case "flag":
		universe = []int{0, 1}
	case "list":
		universe = nil
		for set := range 1 << len(tb.words) {
			universe = append(universe, set)
		}
	}
	for _, v := range universe {
		if x.allows(tb, v) {
			out = append(out, v)
		}
	}
	if x.optional {
		out = append(out, absent)
	}
	return out
}

func quoteAll(list []string) string { return `["` + strings.Join(list, `", "`) + `"]` }
