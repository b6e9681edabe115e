package crash

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/proptest/facts"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// checker compares what the database holds with the event logs and the static tables. It
// does not use the engine.
type checker struct {
	tables map[string]table // by machine
	facts  *evidence
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

func edgeOf(h facts.Step) string { return edgeKey(h.Transition, h.From, h.Event) }

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

func newChecker(tables map[string]table, f *evidence, logs map[string][]entry, problem func(tag, format string, args ...any)) *checker {
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

// histories checks that versions run from 1 to that of the record, and that each row is a
// transition of the table and begins in the state where the one before it ended.
func (c *checker) histories() {
	last := map[string]facts.Step{}
	for _, h := range c.facts.Steps {
		record := h.Machine + " " + h.Record
		before := last[record]
		if h.Version != before.Version+1 {
			c.problem(h.Correlation, "%s: version %d follows version %d", record, h.Version, before.Version)
		}
		if h.From != before.To {
			c.problem(h.Correlation, "%s: version %d leaves %q, version %d ended in %q", record, h.Version, h.From, before.Version, before.To)
		}
		if e, ok := c.tables[h.Machine].edges[edgeOf(h)]; !ok || e.to != h.To {
			c.problem(h.Correlation, "%s: version %d, %s from %s by %s to %s, is not in the table", record, h.Version, h.Transition, h.From, h.Event, h.To)
		}
		last[record] = h
	}
	for _, r := range c.facts.Records {
		record := r.Machine + " " + r.ID
		h := last[record]
		if h.Version != r.Version || h.To != r.State {
			c.problem(h.Correlation, "%s is in %s at version %d, its history ends in %s at version %d", record, r.State, r.Version, h.To, h.Version)
		}
		delete(last, record)
	}
	for record, h := range last {
		c.problem(h.Correlation, "%s has a history and no row", record)
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
	keys := map[string]facts.Key{}
	for _, k := range c.facts.Keys {
		keys[k.Machine+" "+callersPart(k.Name)] = k
	}
	type step struct {
		machine, id string
		version     int64
	}
	steps := map[step]facts.Step{}
	for _, h := range c.facts.Steps {
		steps[step{h.Machine, h.Record, h.Version}] = h
	}
	for tag, entries := range c.logs {
		for _, e := range entries {
			if e.Entry != accepted {
				continue
			}
			k, ok := keys[e.Machine+" "+e.Key]
			if !ok || k.Record != e.Record || k.Event != e.Event || k.Version != e.Version {
				c.problem(tag, "%s %s: %s was accepted at version %d, its key says %+v", e.Machine, e.Record, e.Event, e.Version, k)
			}
			// The event is the last step or, of a chain, an earlier one.
			at := step{e.Machine, e.Record, e.Version}
			for steps[at].Event != e.Event && c.tables[e.Machine].edges[edgeOf(steps[step{e.Machine, e.Record, at.version - 1}])].raises {
				at.version--
			}
			if steps[at].Event != e.Event {
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
	for _, k := range c.facts.Keys {
		steps[fmt.Sprint(k.Machine, " ", k.Record, " ", k.Version)]++
		if !reported[k.Machine+" "+callersPart(k.Name)] {
			c.problem("", "key %+v is used, and no caller was told", k)
		}
	}
	for _, h := range c.facts.Steps {
		if n := steps[fmt.Sprint(h.Machine, " ", h.Record, " ", h.Version)]; n != 1 {
			c.problem(h.Correlation, "%s %s: version %d, %s, has %d keys", h.Machine, h.Record, h.Version, h.Event, n)
		}
	}
}

// requested checks that each step left exactly the messages of its effects, and for
// effects inside its transaction the traces.
func (c *checker) requested() {
	messages, traces := map[facts.Effect]int{}, map[facts.Effect]int{}
	for _, o := range c.facts.Messages {
		messages[o.Effect]++
	}
	for _, t := range c.facts.Traces {
		traces[t.Effect]++
	}
	for _, h := range c.facts.Steps {
		t := c.tables[h.Machine]
		e := t.edges[edgeOf(h)]
		for _, name := range e.effects {
			info := t.effects[name]
			at := facts.Effect{Machine: h.Machine, Record: h.Record, Version: h.Version, Name: name}
			switch {
			case info.Kind != fsm.EffectCall:
			case info.Delivery.InStep():
				if traces[at] != 1 {
					c.problem(h.Correlation, "transaction effect %+v happened %d times", at, traces[at])
				}
				delete(traces, at)
			default:
				// Work of a state that the raised event leaves at once never begins.
				if n, unbegun := messages[at], info.Work && e.raises; n != 1 && (n != 0 || !unbegun) {
					c.problem(h.Correlation, "the outbox has %d rows of %+v", n, at)
				}
				delete(messages, at)
			}
		}
	}
	for at, n := range messages {
		c.problem("", "the outbox has %d rows of %+v, for which no step asks", n, at)
	}
	for at, n := range traces {
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
	for _, o := range c.facts.Messages {
		c.delivery(o, of[o.ID])
		delete(of, o.ID)
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

func (c *checker) delivery(o facts.Message, entries []entry) {
	info, known := c.tables[o.Machine].effects[o.Name]
	if !known || !info.InOutbox() {
		c.problem(o.Correlation, "message %+v is of no effect that a worker carries out", o)
		return
	}
	count := map[entryKind]int{}
	attempt, sinceAsked := 0, true
	cut := c.logged(o.Correlation, killedHere)
	for _, e := range entries {
		count[e.Entry]++
		if e.Record != o.Record || e.Version != o.Version || e.Effect != o.Name || !sameJSON(string(e.Payload), o.Payload) {
			c.problem(o.Correlation, "%+v was dispatched as %s %s at version %d with %s", o, e.Effect, e.Record, e.Version, e.Payload)
		}
		switch e.Entry {
		case asked:
			sinceAsked = true
		case called:
			anew := e.Attempt <= firstOf(cut) && c.logged(o.Correlation, repaired) // a requeued message begins with attempt 1
			if e.Attempt <= attempt && !anew {
				c.problem(o.Correlation, "attempt %d of %+v follows attempt %d", e.Attempt, o, attempt)
			}
			if info.Delivery.Asked() && !sinceAsked {
				c.problem(o.Correlation, "%+v was repeated without being asked for", o)
			}
			attempt, sinceAsked = e.Attempt, false
		}
	}
	// An attempt that ends without an outcome may have happened: that of a process that was killed,
	// which is one, or of a worker that lost its lease on a slow machine. Every other attempt ends.
	most := 1
	if info.Delivery.RepeatsUnasked() {
		if most += int(o.Cut); cut {
			most = max(most, 2)
		}
	}
	if count[done] > most {
		c.problem(o.Correlation, "%+v happened %d times", o, count[done])
	}
	if !info.Delivery.Repeats() && count[called] > 1 && !c.logged(o.Correlation, repaired) { // an operator may repeat it
		c.problem(o.Correlation, "%+v was attempted %d times", o, count[called])
	}
	switch {
	case o.Cancelled && !o.Work:
		c.problem(o.Correlation, "message %+v was cancelled", o)
	case o.Cancelled, c.ended(o):
	case count[done] == 0:
		c.problem(o.Correlation, "%+v is %s and never happened", o, o.State)
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
func (c *checker) ended(o facts.Message) bool {
	info := c.tables[o.Machine].effects[o.Name]
	return o.State == "delivered" && (info.HasFails || info.HasLost)
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
	for _, h := range c.facts.Steps {
		add(h.Correlation, "%s %d: %s from %s to %s", h.Machine, h.Version, h.Transition, h.From, h.To)
	}
	for _, o := range c.facts.Messages {
		add(o.Correlation, "%s %d: %s, cancelled %t", o.Machine, o.Version, o.Name, o.Cancelled)
	}
	for _, t := range c.facts.Traces {
		add(t.Correlation, "%s %d: %s", t.Machine, t.Version, t.Name)
	}
	for _, d := range c.facts.Deadlines {
		add(d.Correlation, "%s: %s is due", d.Machine, d.Event)
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
	return slices.ContainsFunc(c.facts.Steps, func(h facts.Step) bool {
		for _, event := range c.tables[h.Machine].lost {
			if h.Correlation == tag && h.Event == event {
				return true
			}
		}
		return false
	})
}
