package crash

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// checker compares what the database holds with the event logs and the static tables. It
// does not use the engine.
type checker struct {
	tables map[string]table // by machine
	facts  *facts
	logs   map[string][]entry // by tag
	// problem reports a problem of a run.
	problem func(tag, format string, args ...any)
}

// table is the static table of a machine.
type table struct {
	edges   map[string]edge // by what edgeKey says
	effects map[string]fsm.EffectInfo
	lost    map[string]string // at_most_once effect to the event of its loss
}

func edgeKey(transition, from, event string) string { return transition + "/" + from + "/" + event }

func (h historyRow) key() string { return edgeKey(h.transition, h.from, h.event) }

func tablesOf(all machines) map[string]table {
	out := map[string]table{}
	for _, m := range all {
		t := table{map[string]edge{}, map[string]fsm.EffectInfo{}, map[string]string{}}
		for _, e := range m.edges {
			t.edges[edgeKey(e.transition, e.from, e.event)] = e
		}
		for _, info := range m.Effects() {
			t.effects[info.Name] = info
			if event := m.LostEvent(info.Name); info.HasLost && event != nil {
				t.lost[info.Name] = event.Name
			}
		}
		out[m.Name()] = t
	}
	return out
}

func newChecker(tables map[string]table, f *facts, logs map[string][]entry, problem func(tag, format string, args ...any)) *checker {
	return &checker{tables: tables, facts: f, logs: logs, problem: problem}
}

// check checks everything.
func (c *checker) check() {
	c.histories()
	c.acceptedEvents()
	c.requested()
	c.deliveries()
	c.order()
	c.leftStates()
	c.nothingLeft()
}

// place is a step of a record's history and one of its effects.
type place struct {
	machine, id string
	version     int64
	effect      string
}

// histories checks that versions run from 1 to that of the record, and that each row is a
// transition of the table and begins in the state where the one before it ended.
func (c *checker) histories() {
	last := map[string]historyRow{}
	for _, h := range c.facts.history {
		record := h.machine + " " + h.id
		before := last[record]
		if h.version != before.version+1 {
			c.problem(h.tag, "%s: version %d follows version %d", record, h.version, before.version)
		}
		if h.from != before.to {
			c.problem(h.tag, "%s: version %d leaves %q, version %d ended in %q", record, h.version, h.from, before.version, before.to)
		}
		if e, ok := c.tables[h.machine].edges[h.key()]; !ok || e.to != h.to {
			c.problem(h.tag, "%s: version %d, %s from %s by %s to %s, is not in the table", record, h.version, h.transition, h.from, h.event, h.to)
		}
		last[record] = h
	}
	for machine, records := range c.facts.records {
		for id, r := range records {
			h := last[machine+" "+id]
			if h.version != r.version || h.to != r.state {
				c.problem(h.tag, "%s %s is in %s at version %d, its history ends in %s at version %d", machine, id, r.state, r.version, h.to, h.version)
			}
			delete(last, machine+" "+id)
		}
	}
	for record, h := range last {
		c.problem(h.tag, "%s has a history and no row", record)
	}
}

// callersPart returns the key as the caller gave it. The engine stores call:role:id:key,
// with the colons of role and id escaped.
func callersPart(key string) string {
	parts := strings.SplitN(key, ":", 4)
	return parts[len(parts)-1]
}

// acceptedEvents checks that an event which the engine reported as accepted is in the
// history, and that its key was consumed by it.
func (c *checker) acceptedEvents() {
	keys := map[string]keyRow{}
	for _, k := range c.facts.keys {
		keys[k.machine+" "+callersPart(k.key)] = k
	}
	type step struct {
		machine, id string
		version     int64
	}
	steps := map[step]historyRow{}
	for _, h := range c.facts.history {
		steps[step{h.machine, h.id, h.version}] = h
	}
	for tag, entries := range c.logs {
		for _, e := range entries {
			if e.Entry != accepted {
				continue
			}
			k, ok := keys[e.Machine+" "+e.Key]
			if !ok || k.id != e.Record || k.event != e.Event || k.version != e.Version {
				c.problem(tag, "%s %s: %s was accepted at version %d, its key says %+v", e.Machine, e.Record, e.Event, e.Version, k)
			}
			// The event is the last step or, of a chain, an earlier one.
			at := step{e.Machine, e.Record, e.Version}
			for steps[at].event != e.Event && c.tables[e.Machine].edges[steps[step{e.Machine, e.Record, at.version - 1}].key()].raises {
				at.version--
			}
			if steps[at].event != e.Event {
				c.problem(tag, "%s %s: %s was accepted at version %d and is not in the history", e.Machine, e.Record, e.Event, e.Version)
			}
		}
	}
}

// keyed checks that each step was made with a key of its own, and that the engine
// reported it to a caller. This holds if only callers make steps and each repeats its
// call until it knows the outcome.
func (c *checker) keyed() {
	reported := map[string]bool{}
	for _, entries := range c.logs {
		for _, e := range entries {
			if e.Entry == accepted {
				reported[e.Machine+" "+e.Key] = true
			}
		}
	}
	steps := map[string]int{}
	for _, k := range c.facts.keys {
		steps[fmt.Sprint(k.machine, " ", k.id, " ", k.version)]++
		if !reported[k.machine+" "+callersPart(k.key)] {
			c.problem("", "key %+v is used, and no caller was told", k)
		}
	}
	for _, h := range c.facts.history {
		if n := steps[fmt.Sprint(h.machine, " ", h.id, " ", h.version)]; n != 1 {
			c.problem(h.tag, "%s %s: version %d, %s, has %d keys", h.machine, h.id, h.version, h.event, n)
		}
	}
}

// requested checks that each step left exactly the messages of its effects, and for
// effects inside its transaction the markers.
func (c *checker) requested() {
	messages, markers := map[place]int{}, map[place]int{}
	for _, o := range c.facts.outbox {
		messages[place{o.machine, o.id, o.version, o.effect}]++
	}
	for _, m := range c.facts.markers {
		markers[place{m.machine, m.id, m.version, m.effect}]++
	}
	for _, h := range c.facts.history {
		t := c.tables[h.machine]
		e := t.edges[h.key()]
		for _, name := range e.effects {
			info := t.effects[name]
			at := place{h.machine, h.id, h.version, name}
			switch {
			case info.Kind != fsm.EffectCall:
			case info.Delivery == fsm.InTransaction:
				if markers[at] != 1 {
					c.problem(h.tag, "transaction effect %+v happened %d times", at, markers[at])
				}
				delete(markers, at)
			default:
				// Work of a state that the raised event leaves at once never begins.
				if n, unbegun := messages[at], info.Work && e.raises; n != 1 && (n != 0 || !unbegun) {
					c.problem(h.tag, "the outbox has %d rows of %+v", n, at)
				}
				delete(messages, at)
			}
		}
	}
	for at, n := range messages {
		c.problem("", "the outbox has %d rows of %+v, for which no step asks", n, at)
	}
	for at, n := range markers {
		c.problem("", "transaction effect %+v happened %d times, and no step asks for it", at, n)
	}
}

// deliveries checks that each effect was delivered as its class allows.
func (c *checker) deliveries() {
	of := map[string][]entry{} // by message
	for tag, entries := range c.logs {
		over := false
		for _, e := range entries {
			over = over || e.Entry == ended
			if e.ID != "" {
				of[e.ID] = append(of[e.ID], e)
			}
			if over && e.ID != "" {
				c.problem(tag, "%s %s: %s came only when the scenario had ended", e.Machine, e.Record, e.Effect)
			}
		}
	}
	for _, o := range c.facts.outbox {
		c.delivery(o, of[o.message])
		delete(of, o.message)
	}
	for id, entries := range of {
		e := entries[0]
		if !c.cleansUp(e.Machine, e.Effect) {
			c.problem(e.Scenario, "%s %s: %s was called with the unknown id %s", e.Machine, e.Record, e.Effect, id)
		}
	}
}

func (c *checker) cleansUp(machine, effect string) bool {
	for _, info := range c.tables[machine].effects {
		if info.Cleanup == effect {
			return true
		}
	}
	return false
}

func (c *checker) delivery(o outboxRow, entries []entry) {
	info := c.tables[o.machine].effects[o.effect]
	count := map[entryKind]int{}
	attempt, sinceAsked := 0, true
	cut := c.logged(o.tag, killedHere)
	for _, e := range entries {
		count[e.Entry]++
		if e.Record != o.id || e.Version != o.version || e.Effect != o.effect || !sameJSON(string(e.Payload), o.payload) {
			c.problem(o.tag, "%+v was dispatched as %s %s at version %d with %s", o, e.Effect, e.Record, e.Version, e.Payload)
		}
		switch e.Entry {
		case asked:
			sinceAsked = true
		case called:
			anew := e.Attempt <= firstOf(cut) && c.logged(o.tag, repaired) // a requeued message begins with attempt 1
			if e.Attempt <= attempt && !anew {
				c.problem(o.tag, "attempt %d of %+v follows attempt %d", e.Attempt, o, attempt)
			}
			if info.Delivery == fsm.Queryable && !sinceAsked {
				c.problem(o.tag, "%+v was repeated without being asked for", o)
			}
			attempt, sinceAsked = e.Attempt, false
		}
	}
	// A run is killed once. Every other attempt ends.
	most := 1
	if cut && info.Delivery != fsm.AtMostOnce && info.Delivery != fsm.Queryable {
		most = 2
	}
	if count[done] > most {
		c.problem(o.tag, "%+v happened %d times", o, count[done])
	}
	if info.Delivery == fsm.AtMostOnce && count[called] > 1 && !c.logged(o.tag, repaired) { // an operator may repeat it
		c.problem(o.tag, "%+v was attempted %d times", o, count[called])
	}
	switch {
	case o.cancelled && !o.work:
		c.problem(o.tag, "message %+v was cancelled", o)
	case o.cancelled, c.ended(o):
	case count[done] == 0:
		c.problem(o.tag, "%+v is %s and never happened", o, o.state)
	}
}

// firstOf returns the first attempt that a handler may see. A process may be killed
// before it calls the handler.
func firstOf(cut bool) int {
	if cut {
		return 2
	}
	return 1
}

// ended reports whether work that did not happen has ended in an event: its failure or
// its loss.
func (c *checker) ended(o outboxRow) bool {
	info := c.tables[o.machine].effects[o.effect]
	return o.state == "delivered" && (info.HasFails || info.HasLost)
}

// logged reports whether the event log of a run has an entry of this kind.
func (c *checker) logged(tag string, kind entryKind) bool {
	return slices.ContainsFunc(c.logs[tag], func(e entry) bool { return e.Entry == kind })
}

// endings returns how each run ended, as a text that is the same for two runs of one
// script.
func (c *checker) endings() map[string]string {
	lines := map[string][]string{}
	add := func(tag, format string, args ...any) { lines[tag] = append(lines[tag], fmt.Sprintf(format, args...)) }
	for _, h := range c.facts.history {
		add(h.tag, "%s %d: %s from %s to %s", h.machine, h.version, h.transition, h.from, h.to)
	}
	for _, o := range c.facts.outbox {
		add(o.tag, "%s %d: %s, cancelled %t", o.machine, o.version, o.effect, o.cancelled)
	}
	for _, m := range c.facts.markers {
		add(m.tag, "%s %d: %s", m.machine, m.version, m.effect)
	}
	for _, d := range c.facts.deadlines {
		add(d.tag, "%s: %s is due", d.machine, d.event)
	}
	out := map[string]string{}
	for tag, list := range lines {
		slices.Sort(list)
		out[tag] = strings.Join(list, "\n")
	}
	return out
}

// lossReported reports whether the record got the event of a lost at_most_once effect.
func (c *checker) lossReported(tag string) bool {
	return slices.ContainsFunc(c.facts.history, func(h historyRow) bool {
		for _, event := range c.tables[h.machine].lost {
			if h.tag == tag && h.event == event {
				return true
			}
		}
		return false
	})
}
