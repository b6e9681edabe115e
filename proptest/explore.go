package proptest

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// node is a record that a sequence of calls from nothing leads to.
type node struct {
	steps    []interp.Step // of the last call
	record   *interp.Record
	now      time.Time // of the last call
	before   *node
	children []*node
	expanded bool // every call was tried
}

// path is the steps from creation to n.
func (n *node) path() []interp.Step {
	if n.before == nil {
		return nil
	}
	return append(n.before.path(), n.steps...)
}

func (n *node) state() *ir.State {
	if n.record == nil {
		return nil
	}
	return n.record.State
}

// Bounds of the exploration.
const (
	perState   = 24   // records of a state whose events are tried
	perPayload = 48   // payloads of an event and caller on one record
	maxNodes   = 1000 // calls of a machine
)

// explorer walks a machine breadth first from creation, with the interpreter.
type explorer struct {
	machine *ir.Machine
	params  map[*ir.Param]ir.Value
	// fill has the values that matter anywhere in the machine: what is
	// stored now decides later.
	fill     map[domain.Var][]ir.Value
	counters map[*ir.Field]bool
	expanded map[*ir.State]int
	seenRows map[*ir.Row]bool
	seen     map[string]bool // signatures of expanded records
	nodes    int
	payloads int // of an event and caller on one record
}

// explore returns the tree of calls: its root is no record yet. Records that
// differ in what guards can see bring their successors, up to perState of a
// state, and whatever takes a row for the first time does.
func explore(m *ir.Machine) (*node, *explorer) {
	e := &explorer{machine: m, params: smallParams(m), fill: machineClasses(m), counters: Counters(m), expanded: map[*ir.State]int{},
		seenRows: map[*ir.Row]bool{}, seen: map[string]bool{}, payloads: perPayload}
	root := &node{now: now}
	for queue := []*node{root}; len(queue) > 0 && e.nodes < maxNodes; queue = queue[1:] {
		queue = append(queue, e.expand(queue[0])...)
	}
	for _, row := range m.Rows {
		if row.Reject == nil && !e.seenRows[row] {
			e.aimAt(row, root)
		}
	}
	return root, e
}

// smallParams lowers limits, so that loops that count up to them end soon.
func smallParams(m *ir.Machine) map[*ir.Param]ir.Value {
	params := map[*ir.Param]ir.Value{}
	for p := range Limits(m) {
		if limit, ok := p.Default.(int64); ok && limit > 2 {
			params[p] = int64(2)
		}
	}
	return params
}

// Limits are the params that fields are counted up to or down from.
func Limits(m *ir.Machine) map[*ir.Param]bool {
	limits, counters := map[*ir.Param]bool{}, Counters(m)
	meet := func(a, b ir.Operand) {
		if a.Param != nil && b.Field != nil && counters[b.Field] {
			limits[a.Param] = true
		}
	}
	for _, row := range m.Rows {
		for _, c := range row.When {
			meet(c.Left, c.Right)
			meet(c.Right, c.Left)
		}
		for _, a := range row.Set {
			meet(a.Value.A, ir.Operand{Field: a.Target})
		}
	}
	return limits
}

// machineClasses lists, for each payload field, the values that any guard,
// holds or assignment of the machine can tell apart, a present one first.
func machineClasses(m *ir.Machine) map[domain.Var][]ir.Value {
	var views []domain.View
	for _, row := range m.Rows {
		views = append(views, domain.View{Event: row.Event, Clauses: row.When, Assigns: assigns(row, row.Event)})
		if row.Reject == nil {
			views = append(views, domain.View{Event: row.Event, Clauses: row.Target().Holds}, domain.View{Clauses: row.Target().Holds})
		}
	}
	for _, ev := range m.Events {
		views = append(views, domain.View{Event: ev, Clauses: reads(payloadFields(ev))})
	}
	classes := map[domain.Var][]ir.Value{}
	space := domain.Join(m, now, views...)
	for i, v := range space.Vars {
		classes[v] = space.Classes[i]
	}
	return classes
}

// expand tries every event on n, now and when each of its times is past,
// and returns the successors worth expanding, those with a new row first.
func (e *explorer) expand(n *node) []*node {
	var fresh, other []*node
	done := map[string]bool{}
	n.expanded = true
	for _, at := range n.moments() {
		for _, ev := range e.machine.Events {
			s := newSituation(e.machine, n.state(), ev, at)
			for _, c := range callers(e.machine) {
				for tc := range e.cases(s, n, c) {
					result, rej := tc.decide(e.machine)
					if rej != nil || result.AlreadyThere() {
						continue
					}
					child := &node{steps: result.Steps, record: result.Record, now: at, before: n}
					if key := e.outcome(child); done[key] {
						continue
					} else {
						done[key] = true
					}
					n.children = append(n.children, child)
					e.nodes++
					if e.news(child) {
						fresh = append(fresh, child)
					} else if e.wanted(child) {
						other = append(other, child)
					}
				}
			}
		}
	}
	return append(fresh, other...)
}

// outcome names what a call did: two that did the same are one.
func (e *explorer) outcome(n *node) string {
	var b strings.Builder
	for _, s := range n.steps {
		fmt.Fprint(&b, s.Row.Index, " ")
	}
	b.Write(interp.MarshalRecord(e.machine, n.record))
	return b.String()
}

// moments are now, and just after each of the record's times.
func (n *node) moments() []time.Time {
	out := []time.Time{n.now}
	if n.record == nil {
		return out
	}
	for _, v := range n.record.Values {
		if at, ok := v.(time.Time); ok && !at.Before(n.now) && at.Year() < 9000 {
			out = append(out, at.Add(time.Second))
		}
	}
	slices.SortFunc(out, time.Time.Compare)
	return slices.CompactFunc(out, time.Time.Equal)
}

// cases are the payloads of a situation on the record of n: what decides now
// exhaustively, the rest once present, once absent, and at random.
func (e *explorer) cases(s *situation, n *node, c caller) iter.Seq[testCase] {
	return func(yield func(testCase) bool) {
		if !c.mayFire(s.rows) {
			return
		}
		rng := rand.New(rand.NewPCG(uint64(e.nodes), 3))
		space := s.on(n.record)
		for _, v := range s.space.Vars {
			if v.Event != nil {
				space.Extend(v, e.fill[v]...)
			}
		}
		for a := range concat(one(space.First()), s.assignments(space, e.payloads)) {
			for style := range 4 {
				in := interp.Input{Event: s.event, Actor: c.actor(s.machine, n.record), Now: s.now, Params: e.params}
				for _, f := range payloadFields(s.event) {
					v := domain.Var{Field: f, Event: s.event}
					value, ok := a.Lookup(v)
					if !ok {
						value = pick(e.fill[v], style, rng)
					}
					in.Args = append(in.Args, value)
				}
				if !yield(testCase{n.record, in}) {
					return
				}
			}
		}
	}
}

func one(a domain.Assignment) iter.Seq[domain.Assignment] {
	return func(yield func(domain.Assignment) bool) { yield(a) }
}

func concat(parts ...iter.Seq[domain.Assignment]) iter.Seq[domain.Assignment] {
	return func(yield func(domain.Assignment) bool) {
		for _, part := range parts {
			for a := range part {
				if !yield(a) {
					return
				}
			}
		}
	}
}

// pick takes one from the middle of a class, so that others are on both sides
// of it, the last (absent, where that is allowed), or any.
func pick(class []ir.Value, style int, rng *rand.Rand) ir.Value {
	switch {
	case len(class) == 0:
		return nil
	case style == 0:
		return class[(len(class)-1)/2]
	case style == 1:
		return class[len(class)-1]
	}
	return class[rng.IntN(len(class))]
}

// news reports whether n took a row that no node before it took.
func (e *explorer) news(n *node) bool {
	isNew := false
	for _, s := range n.steps {
		isNew = isNew || !e.seenRows[s.Row]
		e.seenRows[s.Row] = true
	}
	if isNew {
		e.wanted(n)
	}
	return isNew
}

func (e *explorer) wanted(n *node) bool {
	key := e.signature(n.record)
	if e.seen[key] || e.expanded[n.record.State] >= perState {
		return false
	}
	e.seen[key] = true
	e.expanded[n.record.State]++
	return true
}

// signature tells records apart by state, enums, bools and counters, by
// whether their times are past, and by which other fields are present.
func (e *explorer) signature(r *interp.Record) string {
	var b strings.Builder
	b.WriteString(r.State.Text)
	for _, f := range e.machine.Fields {
		v := r.Get(f)
		switch f.Type.Base {
		case ir.Bool, ir.EnumOf:
			fmt.Fprint(&b, " ", v)
		case ir.Time:
			at, there := v.(time.Time)
			fmt.Fprint(&b, " ", there && at.After(now))
		case ir.String, ir.Int, ir.Duration, ir.UUID, ir.JSON, ir.ListOf:
			if e.counters[f] {
				fmt.Fprint(&b, " ", v)
			} else {
				fmt.Fprint(&b, " ", v != nil)
			}
		default:
			panic(ir.NoForm("proptest.signature", f.Type.Base))
		}
	}
	return b.String()
}

// Counters are the fields that rows add to or subtract from.
func Counters(m *ir.Machine) map[*ir.Field]bool {
	counters := map[*ir.Field]bool{}
	for _, row := range m.Rows {
		for _, a := range row.Set {
			if a.Value.Kind.Sum() && a.Target.Type.Base == ir.Int {
				counters[a.Target] = true
			}
		}
	}
	return counters
}

// unreached lists the accepting rows that no call took.
func (e *explorer) unreached() []string {
	var out []string
	for _, row := range e.machine.Rows {
		if name := row.Text + " from " + stateName(row.From); row.Reject == nil && !e.seenRows[row] && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
