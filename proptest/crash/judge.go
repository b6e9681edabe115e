package crash

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// judge compares what the database holds with what the diary tells and with
// what the static tables say. It knows nothing of how the engine works.
type judge struct {
	tables map[string]table // by machine
	facts  *facts
	diary  map[string][]entry // by tag
	// problem is told what is wrong in which scenario.
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

func newJudge(tables map[string]table, f *facts, diary map[string][]entry, problem func(tag, format string, args ...any)) *judge {
	return &judge{tables: tables, facts: f, diary: diary, problem: problem}
}

// all judges everything.
func (j *judge) all() {
	j.histories()
	j.acceptedEvents()
	j.asked()
	j.deliveries()
	j.order()
	j.leftStates()
	j.nothingLeft()
}

// place is a step of a record's history and an effect that it asks for.
type place struct {
	machine, id string
	version     int64
	effect      string
}

// histories: versions run from 1 to that of the record, each row is an edge of
// the table and begins where the one before it ended.
func (j *judge) histories() {
	last := map[string]historyRow{}
	for _, h := range j.facts.history {
		record := h.machine + " " + h.id
		before := last[record]
		if h.version != before.version+1 {
			j.problem(h.tag, "%s: version %d follows version %d", record, h.version, before.version)
		}
		if h.from != before.to {
			j.problem(h.tag, "%s: version %d leaves %q, version %d ended in %q", record, h.version, h.from, before.version, before.to)
		}
		if e, ok := j.tables[h.machine].edges[h.key()]; !ok || e.to != h.to {
			j.problem(h.tag, "%s: version %d, %s from %s by %s to %s, is not in the table", record, h.version, h.transition, h.from, h.event, h.to)
		}
		last[record] = h
	}
	for machine, records := range j.facts.records {
		for id, r := range records {
			h := last[machine+" "+id]
			if h.version != r.version || h.to != r.state {
				j.problem(h.tag, "%s %s is in %s at version %d, its history ends in %s at version %d", machine, id, r.state, r.version, h.to, h.version)
			}
			delete(last, machine+" "+id)
		}
	}
	for record, h := range last {
		j.problem(h.tag, "%s has a history and no row", record)
	}
}

// callersPart is the key as a caller gave it: the engine stores call:role:id:key, with
// the colons of role and id escaped.
func callersPart(key string) string {
	parts := strings.SplitN(key, ":", 4)
	return parts[len(parts)-1]
}

// acceptedEvents: what a caller was told is accepted is in the history, and its
// key was used up by it.
func (j *judge) acceptedEvents() {
	keys := map[string]keyRow{}
	for _, k := range j.facts.keys {
		keys[k.machine+" "+callersPart(k.key)] = k
	}
	type step struct {
		machine, id string
		version     int64
	}
	steps := map[step]historyRow{}
	for _, h := range j.facts.history {
		steps[step{h.machine, h.id, h.version}] = h
	}
	for tag, entries := range j.diary {
		for _, e := range entries {
			if e.Entry != accepted {
				continue
			}
			k, ok := keys[e.Machine+" "+e.Key]
			if !ok || k.id != e.Record || k.event != e.Event || k.version != e.Version {
				j.problem(tag, "%s %s: %s was accepted at version %d, its key says %+v", e.Machine, e.Record, e.Event, e.Version, k)
			}
			// The event is the last step or, of a chain, an earlier one.
			at := step{e.Machine, e.Record, e.Version}
			for steps[at].event != e.Event && j.tables[e.Machine].edges[steps[step{e.Machine, e.Record, at.version - 1}].key()].raises {
				at.version--
			}
			if steps[at].event != e.Event {
				j.problem(tag, "%s %s: %s was accepted at version %d and is not in the history", e.Machine, e.Record, e.Event, e.Version)
			}
		}
	}
}

// keyed: each step was asked for with a key of its own, which somebody was told
// has been accepted. It holds where callers alone make steps, and give up only
// when they know.
func (j *judge) keyed() {
	told := map[string]bool{}
	for _, entries := range j.diary {
		for _, e := range entries {
			if e.Entry == accepted {
				told[e.Machine+" "+e.Key] = true
			}
		}
	}
	steps := map[string]int{}
	for _, k := range j.facts.keys {
		steps[fmt.Sprint(k.machine, " ", k.id, " ", k.version)]++
		if !told[k.machine+" "+callersPart(k.key)] {
			j.problem("", "key %+v is used, and nobody was told", k)
		}
	}
	for _, h := range j.facts.history {
		if n := steps[fmt.Sprint(h.machine, " ", h.id, " ", h.version)]; n != 1 {
			j.problem(h.tag, "%s %s: version %d, %s, has %d keys", h.machine, h.id, h.version, h.event, n)
		}
	}
}

// asked: each step left exactly the rows that its effects ask for, be it in the
// outbox or, from within its transaction, among the markers.
func (j *judge) asked() {
	messages, markers := map[place]int{}, map[place]int{}
	for _, o := range j.facts.outbox {
		messages[place{o.machine, o.id, o.version, o.effect}]++
	}
	for _, m := range j.facts.markers {
		markers[place{m.machine, m.id, m.version, m.effect}]++
	}
	for _, h := range j.facts.history {
		t := j.tables[h.machine]
		e := t.edges[h.key()]
		for _, name := range e.effects {
			info := t.effects[name]
			at := place{h.machine, h.id, h.version, name}
			switch {
			case info.Kind != fsm.EffectCall:
			case info.Delivery == fsm.InTransaction:
				if markers[at] != 1 {
					j.problem(h.tag, "transaction effect %+v happened %d times", at, markers[at])
				}
				delete(markers, at)
			default:
				// Work of a state that the raised event leaves at once never begins.
				if n, unbegun := messages[at], info.Work && e.raises; n != 1 && (n != 0 || !unbegun) {
					j.problem(h.tag, "the outbox has %d rows of %+v", n, at)
				}
				delete(messages, at)
			}
		}
	}
	for at, n := range messages {
		j.problem("", "the outbox has %d rows of %+v, for which no step asks", n, at)
	}
	for at, n := range markers {
		j.problem("", "transaction effect %+v happened %d times, and no step asks for it", at, n)
	}
}

// deliveries: each effect was delivered as its class allows.
func (j *judge) deliveries() {
	of := map[string][]entry{} // by message
	for tag, entries := range j.diary {
		over := false
		for _, e := range entries {
			over = over || e.Entry == ended
			if e.ID != "" {
				of[e.ID] = append(of[e.ID], e)
			}
			if over && e.ID != "" {
				j.problem(tag, "%s %s: %s came only when the life had ended", e.Machine, e.Record, e.Effect)
			}
		}
	}
	for _, o := range j.facts.outbox {
		j.delivery(o, of[o.message])
		delete(of, o.message)
	}
	for id, entries := range of {
		e := entries[0]
		if !j.cleansUp(e.Machine, e.Effect) {
			j.problem(e.Scenario, "%s %s: %s was called with the unknown id %s", e.Machine, e.Record, e.Effect, id)
		}
	}
}

func (j *judge) cleansUp(machine, effect string) bool {
	for _, info := range j.tables[machine].effects {
		if info.Cleanup == effect {
			return true
		}
	}
	return false
}

func (j *judge) delivery(o outboxRow, entries []entry) {
	info := j.tables[o.machine].effects[o.effect]
	count := map[entryKind]int{}
	attempt, sinceAsked := 0, true
	cut := j.tells(o.tag, cutHere)
	for _, e := range entries {
		count[e.Entry]++
		if e.Record != o.id || e.Version != o.version || e.Effect != o.effect || !sameJSON(string(e.Payload), o.payload) {
			j.problem(o.tag, "%+v was dispatched as %s %s at version %d with %s", o, e.Effect, e.Record, e.Version, e.Payload)
		}
		switch e.Entry {
		case asked:
			sinceAsked = true
		case called:
			anew := e.Attempt <= firstOf(cut) && j.tells(o.tag, mended) // who requeues begins anew
			if e.Attempt <= attempt && !anew {
				j.problem(o.tag, "attempt %d of %+v follows attempt %d", e.Attempt, o, attempt)
			}
			if info.Delivery == fsm.Queryable && !sinceAsked {
				j.problem(o.tag, "%+v was repeated without being asked for", o)
			}
			attempt, sinceAsked = e.Attempt, false
		}
	}
	// A life is cut once, and each attempt that was not cut ends.
	most := 1
	if cut && info.Delivery != fsm.AtMostOnce && info.Delivery != fsm.Queryable {
		most = 2
	}
	if count[done] > most {
		j.problem(o.tag, "%+v happened %d times", o, count[done])
	}
	if info.Delivery == fsm.AtMostOnce && count[called] > 1 && !j.tells(o.tag, mended) { // a person may know better
		j.problem(o.tag, "%+v was attempted %d times", o, count[called])
	}
	switch {
	case o.cancelled && !o.work:
		j.problem(o.tag, "message %+v was cancelled", o)
	case o.cancelled, j.ended(o):
	case count[done] == 0:
		j.problem(o.tag, "%+v is %s and never happened", o, o.state)
	}
}

// firstOf returns the first attempt that a handler may see: a process may be
// killed before it gets to call it.
func firstOf(cut bool) int {
	if cut {
		return 2
	}
	return 1
}

// ended reports whether work that did not happen has ended in an event: its
// failure or its loss.
func (j *judge) ended(o outboxRow) bool {
	info := j.tables[o.machine].effects[o.effect]
	return o.state == "delivered" && (info.HasFails || info.HasLost)
}

// tells reports whether the diary of a scenario has an entry of this kind.
func (j *judge) tells(tag string, kind entryKind) bool {
	return slices.ContainsFunc(j.diary[tag], func(e entry) bool { return e.Entry == kind })
}

// endings returns how each life ended, in a text that is the same for two lives
// of one script.
func (j *judge) endings() map[string]string {
	lines := map[string][]string{}
	add := func(tag, format string, args ...any) { lines[tag] = append(lines[tag], fmt.Sprintf(format, args...)) }
	for _, h := range j.facts.history {
		add(h.tag, "%s %d: %s from %s to %s", h.machine, h.version, h.transition, h.from, h.to)
	}
	for _, o := range j.facts.outbox {
		add(o.tag, "%s %d: %s, cancelled %t", o.machine, o.version, o.effect, o.cancelled)
	}
	for _, m := range j.facts.markers {
		add(m.tag, "%s %d: %s", m.machine, m.version, m.effect)
	}
	for _, d := range j.facts.deadlines {
		add(d.tag, "%s: %s is due", d.machine, d.event)
	}
	out := map[string]string{}
	for tag, list := range lines {
		slices.Sort(list)
		out[tag] = strings.Join(list, "\n")
	}
	return out
}

// lossTold reports whether an effect that may not repeat was reported lost.
func (j *judge) lossTold(tag string) bool {
	return slices.ContainsFunc(j.facts.history, func(h historyRow) bool {
		for _, event := range j.tables[h.machine].lost {
			if h.tag == tag && h.event == event {
				return true
			}
		}
		return false
	})
}
