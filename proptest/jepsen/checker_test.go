//go:build unix

package jepsen_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// violation is something that must not be.
type violation struct{ rule, text string }

// rule checks one promise.
type rule struct {
	name  string
	check func(e evidence, broken func(format string, args ...any))
}

// rules lists every promise.
//
// A worker that is stopped, as a virtual machine is, may send a call when it goes
// on that another worker has repeated long ago. Only the outside world can refuse
// such a call, and this one does not. So a call is excused from the rules of order
// and of doubles if its worker was stopped between the moment when its handler
// began and the moment when the call took effect. Nothing else is excused.
var rules = []rule{
	{"processes", processesLive},
	{"acknowledged", acknowledgedOnce},
	{"course", courseFollowsTable},
	{"asked", stepsAsk},
	{"ended", everythingEnds},
	{"calls", callsAreOfMessages},
	{"carried out", deliveredIsDone},
	{"answers", answersAreTrue},
	{"fails", failedIsNotDone},
	{"lost", lostHasCause},
	{"once", atMostOnceIsOnce},
	{"doubled", queryableIsOnce},
	{"order", keysKeepOrder},
}

// check returns what breaks a rule.
func check(e evidence) (all []violation) {
	for _, r := range rules {
		r.check(e, func(format string, args ...any) {
			all = append(all, violation{r.name, fmt.Sprintf(format, args...)})
		})
	}
	return all
}

// processesLive: no process ends by itself, and none has a data race.
func processesLive(e evidence, broken func(string, ...any)) {
	for _, f := range e.failures {
		broken("%s", f)
	}
}

// acknowledgedOnce: an event that was acknowledged is in the history exactly once,
// at the version that was told; one that was refused is not; any other at most once.
func acknowledgedOnce(e evidence, broken func(string, ...any)) {
	steps := map[string][]step{}
	for _, h := range e.history {
		var payload struct{ Ref string }
		if h.payload != "" {
			if err := json.Unmarshal([]byte(h.payload), &payload); err != nil {
				broken("record %s, version %d: the payload is no JSON: %v", h.record, h.version, err)
			}
		}
		if payload.Ref != "" {
			steps[payload.Ref] = append(steps[payload.Ref], h)
		}
	}
	for _, f := range e.fired {
		found := steps[f.Ref]
		delete(steps, f.Ref)
		switch {
		case len(found) > 1:
			broken("%s (%s of %s) is %d times in the history", f.Ref, f.Event, f.Record, len(found))
		case f.Verdict == accepted && len(found) == 0:
			broken("%s (%s of %s) was acknowledged at version %d and is not in the history", f.Ref, f.Event, f.Record, f.Version)
		case f.Verdict == refused && len(found) == 1:
			broken("%s (%s of %s) was refused and is in the history at version %d", f.Ref, f.Event, f.Record, found[0].version)
		case f.Verdict == accepted && (found[0].record != f.Record || found[0].event != f.Event || found[0].version != f.Version):
			broken("%s (%s of %s at version %d) is in the history as %+v", f.Ref, f.Event, f.Record, f.Version, found[0])
		}
	}
	for ref := range steps {
		broken("%s is in the history, and no loader fired it", ref)
	}
}

// courseFollowsTable: versions have no gaps, each step is an edge of the table and
// begins where the one before ended, what a step raises follows at once, and the
// record is what its last step says.
func courseFollowsTable(e evidence, broken func(string, ...any)) {
	last, raises := map[string]step{}, map[string]string{}
	for _, h := range e.history {
		before := last[h.record]
		if h.version != before.version+1 {
			broken("record %s: version %d follows %d", h.record, h.version, before.version)
		}
		if h.from != before.to {
			broken("record %s, version %d: it begins in %q, and the step before ended in %q", h.record, h.version, h.from, before.to)
		}
		t, ok := e.table.find(h.transition)
		if !ok || !t.allows(h.from, h.event, h.to) {
			broken("record %s, version %d: the table has no edge %s from %q by %s to %s", h.record, h.version, h.transition, h.from, h.event, h.to)
		}
		if raised := raises[h.record]; raised != "" && h.event != raised {
			broken("record %s, version %d: %s comes where %s was raised", h.record, h.version, h.event, raised)
		}
		last[h.record], raises[h.record] = h, t.Raise
	}
	for id, r := range e.records {
		if h := last[id]; h.to != r.state || h.version != r.version {
			broken("record %s is in %s at version %d, and its history ends in %q at %d", id, r.state, r.version, h.to, h.version)
		}
		delete(last, id)
	}
	for id := range last {
		broken("record %s has a history and is not there", id)
	}
}

// place names a step.
type place struct {
	record  string
	version int64
}

// stepsAsk: each step has exactly the messages that the table lists for it, in
// their order, and exactly the rows of its transaction effects.
func stepsAsk(e evidence, broken func(string, ...any)) {
	messages, rows := map[place][]string{}, map[place][]string{}
	for _, m := range e.messages {
		p := place{m.record, m.version}
		messages[p] = append(messages[p], m.effect)
		if d := e.table.Effects[m.effect].Delivery; m.delivery != d || m.destination != e.table.orderingKey(m.effect) {
			broken("message %s: %s is %s to %s, and the table says %s to %s", m.id, m.effect, m.delivery, m.destination, d, e.table.orderingKey(m.effect))
		}
	}
	for _, b := range e.booked {
		p := place{b.record, b.version}
		rows[p] = append(rows[p], b.effect)
	}
	for _, h := range e.history {
		p := place{h.record, h.version}
		t, _ := e.table.find(h.transition)
		var told, inTx []string
		for _, name := range e.table.effectsOf(t, h.from) {
			if e.table.Effects[name].Delivery == inTransaction {
				inTx = append(inTx, name)
			} else {
				told = append(told, name)
			}
		}
		if !slices.Equal(messages[p], told) {
			broken("record %s, version %d (%s): its messages are %v, and the table lists %v", p.record, p.version, h.transition, messages[p], told)
		}
		if !slices.Equal(rows[p], inTx) {
			broken("record %s, version %d (%s): its transaction effects wrote %v, and the table lists %v", p.record, p.version, h.transition, rows[p], inTx)
		}
		delete(messages, p)
		delete(rows, p)
	}
	for p, all := range messages {
		broken("record %s has no version %d, and messages of it: %v", p.record, p.version, all)
	}
	for p, all := range rows {
		broken("record %s has no version %d, and rows of its transaction effects: %v", p.record, p.version, all)
	}
}

// everythingEnds: once nothing is disturbed any more, every record is in a terminal state, and
// every message is delivered, discarded or cancelled. Only work can be cancelled.
func everythingEnds(e evidence, broken func(string, ...any)) {
	for id, r := range e.records {
		if !e.table.States[r.state].Terminal {
			broken("record %s stays in %s", id, r.state)
		}
	}
	for _, m := range e.messages {
		if m.state != "delivered" && !m.cancelled && !m.discarded {
			broken("message %s (%s of %s) stays %s: %s", m.id, m.effect, m.record, m.state, m.lastError)
		}
		if m.cancelled && !e.table.Effects[m.effect].isWork() {
			broken("message %s (%s of %s) is cancelled, and is no work of a state", m.id, m.effect, m.record)
		}
	}
}

// callsAreOfMessages: every call carries the id of a message that is stored, and an
// attempt calls once. The attempts of a message on which an operator has decided
// are counted from the start again.
func callsAreOfMessages(e evidence, broken func(string, ...any)) {
	type attempt struct {
		id string
		n  int
	}
	stored, seen := map[string]message{}, map[attempt]booking{}
	for _, m := range e.messages {
		stored[m.id] = m
	}
	for _, b := range e.books {
		if m, ok := stored[b.ID]; !ok || m.record != b.Record || m.effect != b.Effect {
			broken("%s was called for %s of %s, and there is no such message", b.ID, b.Effect, b.Record)
		}
		if b.Verb == verbAsk || stored[b.ID].resolved {
			continue
		}
		a := attempt{b.ID, b.Attempt}
		if before, ok := seen[a]; ok {
			broken("attempt %d of message %s (%s) called twice: %s and %s", a.n, a.id, b.Effect, before.Worker, b.Worker)
		}
		seen[a] = b
	}
}

// deliveredIsDone: a message without an answer that is delivered took effect.
func deliveredIsDone(e evidence, broken func(string, ...any)) {
	done := e.done()
	for _, m := range e.messages {
		if m.state == "delivered" && e.table.Effects[m.effect].Returns == "" && len(done[m.id]) == 0 {
			broken("message %s (%s of %s) is delivered, and never took effect", m.id, m.effect, m.record)
		}
	}
}

// answersAreTrue: an event that an effect returns follows an effect that took place.
func answersAreTrue(e evidence, broken func(string, ...any)) {
	done, told := e.done(), e.told()
	for _, m := range e.messages {
		returns := string(e.table.Effects[m.effect].Returns)
		if returns != "" && told[m.record][returns] && len(done[m.id]) == 0 {
			broken("record %s was told %s, and %s never took effect", m.record, returns, m.effect)
		}
	}
}

// failedIsNotDone: an effect whose failure a record was told did not take place. The
// rule holds where nothing but the failure fires the event.
func failedIsNotDone(e evidence, broken func(string, ...any)) {
	done, told := e.done(), e.told()
	for _, m := range e.messages {
		x := e.table.Effects[m.effect]
		if x.Delivery != queryable && x.Delivery != atMostOnce || !told[m.record][string(x.Fails)] {
			continue
		}
		for _, b := range done[m.id] {
			if !e.excuse(b) {
				broken("record %s was told %s, and attempt %d of %s (message %s) took effect, by %s: %s",
					m.record, x.Fails, b.Attempt, m.effect, m.id, b.Worker, m.lastError)
			}
		}
	}
}

// lostHasCause: a record is told that an effect is lost only where a handler began,
// or where a worker that had claimed the message was killed or stopped after that.
func lostHasCause(e evidence, broken func(string, ...any)) {
	told, begun := e.told(), map[string]bool{}
	for _, c := range e.begun {
		begun[c.ID] = true
	}
	for _, m := range e.messages {
		lost := string(e.table.Effects[m.effect].Lost)
		if lost == "" || !told[m.record][lost] || begun[m.id] {
			continue
		}
		var holders []string
		caused := slices.ContainsFunc(e.leases, func(l leased) bool {
			if l.message == m.id {
				holders = append(holders, fmt.Sprintf("%s at %s", l.worker, clock(l.at)))
			}
			return l.message == m.id && e.halted(l.worker, l.at, time.Now())
		})
		if !caused {
			broken("record %s was told %s, and no handler of %s (message %s) began, though those who held it lived: %v", m.record, lost, m.effect, m.id, holders)
		}
	}
}

// atMostOnceIsOnce: an at_most_once effect is begun once at most.
func atMostOnceIsOnce(e evidence, broken func(string, ...any)) {
	begun := map[string][]call{}
	for _, c := range e.begun {
		if e.table.Effects[c.Effect].Delivery == atMostOnce {
			begun[c.ID] = append(begun[c.ID], c)
		}
	}
	for id, all := range begun {
		if len(all) > 1 {
			broken("message %s (%s of %s) was begun %d times", id, all[0].Effect, all[0].Record, len(all))
		}
	}
}

// queryableIsOnce: a queryable effect takes place once at most.
func queryableIsOnce(e evidence, broken func(string, ...any)) {
	for id, all := range e.done() {
		if len(all) > 1 && e.table.Effects[all[0].Effect].Delivery == queryable && !slices.ContainsFunc(all, e.excuse) {
			broken("message %s (%s of %s) took effect %d times: %s", id, all[0].Effect, all[0].Record, len(all), describe(all))
		}
	}
}

// keysKeepOrder: of two messages of one record and destination, no call of the earlier
// comes after a call of the later.
func keysKeepOrder(e evidence, broken func(string, ...any)) {
	calls := map[string][]booking{}
	for _, b := range e.books {
		calls[b.ID] = append(calls[b.ID], b)
	}
	type orderingKey struct{ record, name string }
	first := map[orderingKey]booking{} // the earliest call of what comes later of the key
	for _, m := range slices.Backward(e.messages) {
		l := orderingKey{m.record, m.destination}
		for _, b := range calls[m.id] {
			if later, ok := first[l]; ok && b.At.After(later.At) && !e.excuse(b) {
				broken("record %s, destination %s: %s (message %s) was called at %s by %s, after %s (message %s) at %s", m.record, m.destination,
					m.effect, m.id, clock(b.At), b.Worker, later.Effect, later.ID, clock(later.At))
			}
		}
		for _, b := range calls[m.id] {
			if later, ok := first[l]; !ok || b.At.Before(later.At) {
				first[l] = b
			}
		}
	}
}

// done lists the calls that took effect, by message.
func (e evidence) done() map[string][]booking {
	all := map[string][]booking{}
	for _, b := range e.books {
		if !b.Done.IsZero() {
			all[b.ID] = append(all[b.ID], b)
		}
	}
	return all
}

// told is which events each record has had.
func (e evidence) told() map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for _, h := range e.history {
		if all[h.record] == nil {
			all[h.record] = map[string]bool{}
		}
		all[h.record][h.event] = true
	}
	return all
}

// excuse reports whether the worker of a call was stopped on the way, and counts it.
func (e evidence) excuse(b booking) bool {
	end := b.At
	if b.Done.After(end) {
		end = b.Done
	}
	if !e.halted(b.Worker, b.Begun, end) {
		return false
	}
	e.excused.n++
	return true
}

// halted reports whether a process was killed or stopped at some time in a span.
func (e evidence) halted(worker string, from, to time.Time) bool {
	return slices.ContainsFunc(e.spans, func(s span) bool {
		return s.Worker == worker && !s.From.After(to) && (s.To.IsZero() || !s.To.Before(from))
	})
}

// describe lists calls in the order of their effect.
func describe(all []booking) string {
	all = slices.SortedFunc(slices.Values(all), func(a, b booking) int { return cmp.Compare(a.Done.UnixNano(), b.Done.UnixNano()) })
	var lines []string
	for _, b := range all {
		lines = append(lines, fmt.Sprintf("attempt %d by %s, begun %s, arrived %s, done %s", b.Attempt, b.Worker, clock(b.Begun), clock(b.At), clock(b.Done)))
	}
	return strings.Join(lines, "; ")
}

func clock(t time.Time) string { return t.Format("15:04:05.000") }
