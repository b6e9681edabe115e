package simulation

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// outside is the world that effects reach: what it has seen of each message,
// and what it objects to.
type outside struct {
	clock    *clock
	journal  *journal
	messages map[string]*message
	lanes    map[lane]*message // the last message of each that was begun
}

// message is an effect as the outside knows it, by its id.
type message struct {
	row      engine.OutboxRow
	token    fsm.UUID  // of the last lease
	until    time.Time // end of the last lease
	attempts int       // calls of its handler
	underWay int       // those that have not returned
	happened bool
	answer   *fsm.Event // what it answered when it happened
	failed   bool       // some attempt of it failed, so that it may end without having happened
}

type lane struct{ machine, record, name string }

func newOutside(c *clock, j *journal) *outside {
	return &outside{clock: c, journal: j, messages: map[string]*message{}, lanes: map[lane]*message{}}
}

// leased notes who may attempt what, and until when.
func (o *outside) leased(tasks []engine.Task, until time.Time) {
	for _, t := range tasks {
		if t.Kind != engine.TaskEffect {
			continue
		}
		m := o.messages[t.Effect.MessageID]
		if m == nil {
			m = &message{row: t.Effect}
			o.messages[t.Effect.MessageID] = m
		}
		m.token, m.until = t.Token, until
	}
}

// renewed notes that a lease lasts longer.
func (o *outside) renewed(id string, token fsm.UUID, until time.Time) {
	if m := o.messages[id]; m != nil && m.token == token {
		m.until = until
	}
}

// begin notes an attempt of an effect, whose lane the table names. It returns nil
// for a cleanup, which has an id of its own and no row.
func (o *outside) begin(d fsm.Dispatch, delivery fsm.Delivery, to string) *message {
	m := o.messages[d.ID]
	if m == nil {
		return nil
	}
	r := m.row
	if r.Machine != d.Machine || r.RecordID != d.Record || r.Effect != d.Effect || r.Version != d.Version || canonical(r.Payload) != canonical(d.Payload) {
		o.journal.problem("message %s was %s and is dispatched as %s", d.ID, describe(r), d.Effect)
	}
	m.attempts++
	m.underWay++
	if m.attempts > 1 && delivery == fsm.AtMostOnce {
		o.journal.problem("%s is at_most_once and attempted %d times", describe(r), m.attempts)
	}
	if m.happened && delivery == fsm.Queryable {
		o.journal.problem("%s has happened and is repeated without being asked for", describe(r))
	}
	o.checkLane(m, lane{d.Machine, d.Record, to})
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
	if last.underWay > 0 && last.until.After(o.clock.peek()) {
		o.journal.problem("%s is attempted while %s of the same lane is", describe(m.row), describe(last.row))
	}
}

// before is the order of a lane.
func before(a, b engine.OutboxRow) bool {
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

func describe(r engine.OutboxRow) string {
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
