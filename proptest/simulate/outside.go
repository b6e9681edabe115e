package simulate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// outside is the world that effects reach: what it has seen of each message,
// and what it objects to.
type outside struct {
	clock    *clock
	journal  *journal
	leases   leases
	messages map[string]*message
	lanes    map[lane]*message // the last message of each that was begun
	steps    map[written]int   // by which transaction each step was stored
	saves    map[int]int       // how often each transaction has written
}

// message is an effect as the outside knows it, by its id.
type message struct {
	row      store.OutboxMessage
	granted  map[string]time.Time // end of the lease that each worker was given or renewed last
	answered int64                // version of the step that its answer led to; 0: none
	attempts int                  // calls of its handler
	underWay atomic.Int32         // those that have not returned; one that hangs returns beside the play
	happened bool
	answer   *fsm.Event // what it answered when it happened
	asked    bool       // a query was made
	mute     bool       // its queries fail
	failed   bool       // some attempt of it failed, so that it may end without having happened
}

type lane struct{ machine, record, name string }

// place is where a record is.
type place struct{ machine, record string }

// written is a step of a record.
type written struct {
	place
	version int64
}

func newOutside(c *clock, j *journal) *outside {
	return &outside{clock: c, journal: j, leases: leases{j, map[task]lease{}}, messages: map[string]*message{}, lanes: map[lane]*message{}, steps: map[written]int{}, saves: map[int]int{}}
}

// claimed notes who may attempt what, and until when.
func (o *outside) claimed(c store.Claim, tasks []store.Task) {
	o.leases.claimed(c, tasks)
	for _, t := range tasks {
		if t.Kind != store.TaskEffect {
			continue
		}
		m := o.messages[t.Effect.MessageID]
		if m == nil {
			m = &message{row: t.Effect, granted: map[string]time.Time{}}
			o.messages[t.Effect.MessageID] = m
		}
		m.granted[c.Worker] = c.Until
		if m.underWay.Load() > 0 {
			o.journal.count("a lease runs out while a handler is at work")
		}
		// Nobody said what became of the last attempt, if it came to one.
		m.failed = m.failed || t.Effect.State == "delivering"
	}
}

// settled notes what became of a task, or until when it goes on being held.
func (o *outside) settled(s store.Settlement) {
	o.leases.settled(s)
	if m := o.messages[s.MessageID]; m != nil && !s.Renew.IsZero() {
		m.granted[o.leases.held[task{message: s.MessageID}].worker] = s.Renew
	}
}

// saved notes what a transaction writes of each record, what it ends, and with
// which answer: the first step of the record.
func (o *outside) saved(transaction int, commits []store.Commit) {
	o.saves[transaction]++
	first := map[place]int64{}
	for _, c := range commits {
		at := place{c.Machine, c.ID}
		for _, s := range c.Steps {
			o.steps[written{at, s.Version}] = transaction
		}
		if len(c.Steps) > 0 && first[at] == 0 {
			first[at] = c.Steps[0].Version
		}
	}
	for _, c := range commits {
		o.leases.saved(c)
		if c.Task != nil && c.Task.Kind == store.TaskEffect {
			o.messages[c.Task.MessageID].answered = first[place{c.Machine, c.ID}]
		}
	}
}

// begin notes a worker's attempt of an effect of the table. It returns nil for a
// cleanup, which has an id of its own and no row.
func (o *outside) begin(worker string, d fsm.Dispatch, effect *ir.Effect) *message {
	m := o.messages[d.ID]
	if m == nil {
		return nil
	}
	r := m.row
	if r.Machine != d.Machine || r.RecordID != d.Record || r.Effect != d.Effect || r.Version != d.Version || canonical(r.Payload) != canonical(d.Payload) {
		o.journal.problem("message %s was %s and is dispatched as %s", d.ID, describe(r), d.Effect)
	}
	m.attempts++
	m.underWay.Add(1)
	if m.happened {
		o.journal.count("what has happened is delivered again")
	}
	if m.attempts > 1 && effect.Delivery == ir.AtMostOnce {
		o.journal.problem("%s is at_most_once and attempted %d times", describe(r), m.attempts)
	}
	// A worker that stood still past its lease has asked too early.
	if m.happened && effect.Delivery == ir.Queryable && o.leases.holder(d.ID, o.clock.peek()) == worker {
		o.journal.problem("%s has happened and is repeated without being asked for", describe(r))
	}
	if !o.clock.peek().Before(m.granted[worker]) {
		o.journal.problem("%s is begun under a lease that is over", describe(r))
	}
	if !o.clock.came(m.granted[worker]) {
		o.checkLane(m, lane{d.Machine, d.Record, cmp.Or(effect.To, effect.Text)})
	}
	return m
}

// checkLane sees to the order of a lane: one at a time, and never back. An
// attempt whose lease is over is nobody's.
func (o *outside) checkLane(m *message, l lane) {
	last := o.lanes[l]
	o.lanes[l] = m
	if last == nil || last == m {
		return
	}
	if before(m.row, last.row) {
		o.journal.problem("%s is attempted after %s of the same lane", describe(m.row), describe(last.row))
	}
	if last.underWay.Load() > 0 && o.leases.holder(last.row.MessageID, o.clock.peek()) != "" {
		o.journal.problem("%s is attempted while %s of the same lane is", describe(m.row), describe(last.row))
	}
}

// before is the order of a lane.
func before(a, b store.OutboxMessage) bool {
	return a.Version < b.Version || a.Version == b.Version && a.Seq < b.Seq
}

// sorted lists the messages in a fixed order.
func (o *outside) sorted() []*message {
	var out []*message
	for _, id := range slices.Sorted(maps.Keys(o.messages)) {
		out = append(out, o.messages[id])
	}
	return out
}

func describe(r store.OutboxMessage) string {
	return fmt.Sprintf("%s %s.%s v%d", alias(r.RecordID), r.Machine, r.Effect, r.Version)
}

// canonical is JSON text as every store gives it: databases order members and
// space in their own ways. A member that is null might as well be missing.
func canonical(text json.RawMessage) string {
	if len(text) == 0 {
		return ""
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return string(text)
	}
	if members, ok := v.(map[string]any); ok {
		maps.DeleteFunc(members, func(_ string, v any) bool { return v == nil })
	}
	out, err := json.Marshal(v)
	if err != nil {
		return string(text)
	}
	return string(out)
}
