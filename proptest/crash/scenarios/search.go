package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/proptest"
)

// epoch is when every scenario begins in the search.
var epoch = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// Bounds of a search.
const (
	perStates  = 40   // worlds with the same states that are gone on with
	maxMoments = 4000 // that are gone on with
)

// search goes through what can happen, breadth first.
type search struct {
	*Group
	every    bool // callers fire what machines fire by themselves, too
	seen     map[string]bool
	expanded map[string]int
	taken    map[*ir.Row]bool   // of all machines
	missing  map[*ir.Row]bool   // of the machine under test
	waiting  map[*ir.State]bool // of the same: their deadlines have not fired
	found    []*moment
	kept     []*moment // all that were worth going on with
	counters map[*ir.Field]bool
	moments  int
	exact    bool // worlds that differ in any value are told apart
}

// Search finds scenarios that take each transition of the machine under test. It returns
// those that it did not find or that are shut, and the states whose deadline fires in no scenario. Callers
// fire the events that the machine fires itself only if nothing else takes a transition.
func (c *Group) Search() (found []Scenario, missing []*ir.Row, silent []*ir.State) {
	s := &search{Group: c, missing: map[*ir.Row]bool{}, waiting: map[*ir.State]bool{}, counters: c.counters()}
	for _, r := range c.Proven().Rows {
		if r.Reject == nil && !shut(c.Proven(), r) {
			s.missing[r] = true
		}
	}
	for _, state := range c.Proven().States {
		if state.Timeout != nil {
			s.waiting[state] = true
		}
	}
	s.run()
	s.aim()
	if len(s.missing) > 0 {
		s.every = true
		s.run()
		s.aim()
	}
	for _, m := range s.found {
		if !slices.ContainsFunc(s.found, func(other *moment) bool { return m.leadsTo(other) }) {
			s := m.scenario()
			s.Takes = slices.DeleteFunc(s.Takes, func(r *ir.Row) bool { return !slices.Contains(c.Proven().Rows, r) })
			s.Name = s.Takes[len(s.Takes)-1].Text
			found = append(found, s)
		}
	}
	for _, r := range c.Proven().Rows {
		if s.missing[r] || r.Reject == nil && shut(c.Proven(), r) {
			missing = append(missing, r)
		}
	}
	for _, state := range c.Proven().States {
		if s.waiting[state] {
			silent = append(silent, state)
		}
	}
	return number(found), missing, silent
}

// counters lists the fields that rows count with, up or down.
func (c *Group) counters() map[*ir.Field]bool {
	out := map[*ir.Field]bool{}
	for _, m := range c.machines {
		maps.Copy(out, proptest.Counters(m))
	}
	return out
}

// number gives scenarios of one name different names.
func number(list []Scenario) []Scenario {
	count := map[string]int{}
	for i := range list {
		name := list[i].Name
		if count[name]++; count[name] > 1 {
			list[i].Name = fmt.Sprintf("%s %d", name, count[name])
		}
	}
	return list
}

// leadsTo reports whether other goes on where m ends.
func (m *moment) leadsTo(other *moment) bool {
	for at := other.before; at != nil; at = at.before {
		if at == m {
			return true
		}
	}
	return false
}

func (s *search) run() {
	s.seen, s.expanded, s.taken, s.moments, s.kept = map[string]bool{}, map[string]int{}, map[*ir.Row]bool{}, 0, nil
	root := &moment{world: &world{instances: make([]instance, len(s.machines)), now: epoch, keys: map[string]bool{}, rows: rows{}}}
	for queue := []*moment{root}; len(queue) > 0 && len(s.missing)+len(s.waiting) > 0 && s.moments < maxMoments; queue = queue[1:] {
		s.moments++
		s.kept = append(s.kept, queue[0])
		var fresh, other []*moment
		for _, next := range s.successors(queue[0]) {
			switch isNew := s.news(next); {
			case isNew:
				fresh = append(fresh, next)
			case s.wanted(next.world):
				other = append(other, next)
			}
		}
		queue = append(queue, append(fresh, other...)...)
	}
}

// news reports whether m takes a transition, of any machine, that no earlier moment took.
// It keeps m if the transition, or the deadline of a state, was missing.
func (s *search) news(m *moment) bool {
	isNew, found := false, false
	for _, r := range m.took {
		isNew = isNew || !s.taken[r]
		s.taken[r] = true
		found = found || s.missing[r]
		delete(s.missing, r)
	}
	if m.timed != nil && s.waiting[m.timed] {
		found = true
		delete(s.waiting, m.timed)
	}
	if found {
		s.found = append(s.found, m)
	}
	if isNew {
		s.wanted(m.world)
	}
	return isNew
}

func (s *search) wanted(w *world) bool {
	signature, states := s.signature(w)
	if s.seen[signature] || s.expanded[states] >= perStates {
		return false
	}
	s.seen[signature] = true
	s.expanded[states]++
	return true
}

// signature tells worlds apart by states, enums, bools and counters, by whether
// times are past, by which other fields are there, and by what is awaited.
func (s *search) signature(w *world) (all, states string) {
	var b strings.Builder
	for i, f := range w.instances {
		if f.record == nil {
			b.WriteString("-")
			continue
		}
		states += f.record.State.Text + " "
		for _, field := range s.machines[i].Fields {
			switch v := f.record.Get(field).(type) {
			case bool:
				fmt.Fprint(&b, " ", v)
			case time.Time:
				fmt.Fprint(&b, " ", v.After(w.now))
			default:
				if field.Type.Base == ir.EnumOf || s.counters[field] {
					fmt.Fprint(&b, " ", v)
				} else {
					fmt.Fprint(&b, " ", v != nil)
				}
			}
		}
		fmt.Fprint(&b, f.timer != nil, f.timer != nil && !f.timer.at.After(w.now))
	}
	for _, j := range w.jobs {
		fmt.Fprint(&b, " ", j.machine, j.effect.Text)
	}
	return states + b.String() + w.rows.signature(), states
}

// successors is what can happen next: work that is awaited is replied to, and
// what is due fires, before a caller comes or time passes.
func (s *search) successors(m *moment) []*moment {
	var out []*moment
	done := map[string]bool{}
	add := func(next *moment) bool {
		key := s.outcome(next)
		if !done[key] {
			done[key] = true
			out = append(out, next)
			return true
		}
		return false
	}
	switch i := m.dueDeadline(); {
	case len(m.jobs) > 0:
		s.replies(m, add)
	case i >= 0:
		s.fireDeadline(m, i, add)
	default:
		s.waits(m, add)
		s.calls(m, add)
	}
	return out
}

// outcome names what happened: two things that did the same are one.
func (s *search) outcome(m *moment) string {
	signature, _ := s.signature(m.world)
	if s.exact {
		signature = s.identity(m.world)
	}
	for _, r := range m.took {
		signature += fmt.Sprint(" ", r.Index)
	}
	return signature
}

// dueDeadline returns the machine whose deadline is due, -1 for none.
func (w *world) dueDeadline() int {
	return slices.IndexFunc(w.instances, func(f instance) bool { return f.timer != nil && !f.timer.at.After(w.now) })
}
