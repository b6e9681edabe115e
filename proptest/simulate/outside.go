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

// outside is the world that effects reach: it records what it has seen of each message,
// and reports what must not happen.
type outside struct {
	clock    *clock
	log      *runLog
	leases   leases
	messages map[string]*message
	last     map[orderingKey]*message // the last message of each that was begun
	steps    map[written]int          // by which transaction each step was stored
	saves    map[int]int              // how often each transaction has written
}

// message is an effect as the outside world knows it, by its id.
type message struct {
	row      store.OutboxMessage
	granted  map[string]time.Time // end of the lease that each worker was given or renewed last
	answered int64                // version of the step that its answer led to; 0: none
	attempts int                  // calls of its handler
	underWay atomic.Int32         // calls that have not returned; one that hangs may return at any time
	happened bool
	answer   *fsm.Event // what it answered when it happened
	asked    bool       // a query was made
	mute     bool       // its queries fail
	failed   bool       // some attempt of it failed, so that it may end without having happened
}

type orderingKey struct{ machine, record, name string }

// place identifies a record.
type place struct{ machine, record string }

// written identifies a step of a record.
type written struct {
	place
	version int64
}

func newOutside(c *clock, l *runLog) *outside {
	return &outside{clock: c, log: l, leases: leases{l, map[task]lease{}}, messages: map[string]*message{}, last: map[orderingKey]*message{}, steps: map[written]int{}, saves: map[int]int{}}
}

// claimed records who may attempt what, and until when.
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
			o.log.count("a lease runs out while a handler is at work")
		}
		// The outcome of the last attempt, if there was one, is unknown.
		m.failed = m.failed || t.Effect.State == "delivering"
	}
}

// settled records the end of a task, or until when its lease is renewed.
func (o *outside) settled(s store.Settlement) {
	o.leases.settled(s)
	if m := o.messages[s.MessageID]; m != nil && !s.Renew.IsZero() {
		m.granted[o.leases.held[task{message: s.MessageID}].worker] = s.Renew
	}
}

// saved records what a transaction writes of each record, which tasks it ends, and with
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

// begin records a worker's attempt of an effect of the table. It returns nil for a
// cleanup, which has an id of its own and no message.
func (o *outside) begin(worker string, d fsm.Dispatch, effect *ir.Effect) *message {
	m := o.messages[d.ID]
	if m == nil {
		return nil
	}
	r := m.row
	if r.Machine != d.Machine || r.RecordID != d.Record || r.Effect != d.Effect || r.Version != d.Version || canonical(r.Payload) != canonical(d.Payload) {
		o.log.problem("message %s was %s and is dispatched as %s", d.ID, describe(r), d.Effect)
	}
	m.attempts++
	m.underWay.Add(1)
	if m.happened {
		o.log.count("what has happened is delivered again")
	}
	if m.attempts > 1 && !effect.Delivery.Repeats() {
		o.log.problem("%s is %s and attempted %d times", describe(r), effect.Delivery, m.attempts)
	}
	// A worker whose lease has ended may have queried too early.
	if m.happened && effect.Delivery.Asked() && o.leases.holder(d.ID, o.clock.peek()) == worker {
		o.log.problem("%s has happened and is repeated without being asked for", describe(r))
	}
	if !o.clock.peek().Before(m.granted[worker]) {
		o.log.problem("%s is begun under a lease that is over", describe(r))
	}
	if !o.clock.came(m.granted[worker]) {
		o.checkOrder(m, orderingKey{d.Machine, d.Record, cmp.Or(effect.To, effect.Text)})
	}
	return m
}

// checkOrder checks the order of an ordering key: one message at a time, and never an
// earlier one after a later one. Attempts whose lease has ended do not count.
func (o *outside) checkOrder(m *message, l orderingKey) {
	last := o.last[l]
	o.last[l] = m
	if last == nil || last == m {
		return
	}
	if before(m.row, last.row) {
		o.log.problem("%s is attempted after %s of the same ordering key", describe(m.row), describe(last.row))
	}
	if last.underWay.Load() > 0 && o.leases.holder(last.row.MessageID, o.clock.peek()) != "" {
		o.log.problem("%s is attempted while %s of the same ordering key is", describe(m.row), describe(last.row))
	}
}

// before is the order of an ordering key.
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

// canonical returns JSON text in one form, since databases order members and space in
// their own ways. It leaves out members that are null.
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
