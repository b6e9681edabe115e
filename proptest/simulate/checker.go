package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/proptest/facts"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// checker has what is stored, as the checks of one run read it.
type checker[Tx any] struct {
	run       *run[Tx]
	messages  []facts.Message
	deadlines []facts.Deadline
	keys      []facts.Key
	traces    []facts.Trace
	records   []storedRecord[Tx]
}

// storedRecord is a record with its history.
type storedRecord[Tx any] struct {
	record[Tx]
	row     store.Row
	history []facts.Step
}

// check checks what is stored. atRest is true after the drain, when nothing is left to
// do.
func (run *run[Tx]) check(ctx context.Context, atRest bool) {
	ck, err := run.newChecker(ctx)
	if err != nil {
		run.log.problem("the checker can't read: %v", err)
		return
	}
	for _, s := range ck.records {
		ck.checkRecord(s)
	}
	ck.checkCalls()
	ck.checkKeys()
	ck.checkOutside()
	ck.checkParked()
	if atRest {
		ck.checkRest()
	}
}

// newChecker reads what is stored: records with their types, the rest as facts.
func (run *run[Tx]) newChecker(ctx context.Context) (ck checker[Tx], err error) {
	ck.run = run
	if ck.messages, err = run.messages(ctx); err != nil {
		return ck, err
	}
	if ck.deadlines, err = run.deadlines(ctx); err != nil {
		return ck, err
	}
	if ck.keys, err = facts.Keys(ctx, run.subject.DB); err != nil {
		return ck, err
	}
	if ck.traces, err = facts.Traces(ctx, run.subject.DB); err != nil {
		return ck, err
	}
	histories, err := run.histories(ctx)
	if err != nil {
		return ck, err
	}
	for _, r := range run.machines {
		page, err := run.subject.Store.Read(ctx, store.Read{Kind: store.ReadRecords, Machine: r.Name(), Tables: r.Tables(), Blank: r.Blank, Limit: 10000})
		if err != nil {
			return ck, err
		}
		for _, row := range page.Records {
			if row.Err != nil {
				return ck, row.Err
			}
			id := fsm.Text(row.Record.Values()[0])
			ck.records = append(ck.records, storedRecord[Tx]{record[Tx]{r, id}, row, histories[place{r.Name(), id}]})
		}
	}
	return ck, nil
}

// checkCalls compares what callers were told with what is stored.
func (ck checker[Tx]) checkCalls() {
	for _, c := range ck.run.calls {
		found := 0 // steps of this call itself
		others := 0
		for _, s := range ck.records {
			for _, h := range s.history {
				switch {
				case h.Correlation != c.call.Correlation:
				case s.id == c.id && s.machine.Name() == c.machine && h.Event == c.event.Name && h.By == c.call.By && canonical(json.RawMessage(h.Payload)) == canonical(c.event.Payload):
					found++
				default:
					others++
				}
			}
		}
		switch {
		case c.accepted() && found == 0:
			ck.run.log.problem("%s was accepted and is not in the history", c.call.Correlation)
		case c.accepted() && found > 1 && c.call.By.Role != fsm.System().Role:
			ck.run.log.problem("%s was accepted once and is in the history %d times", c.call.Correlation, found)
		case c.accepted():
			ck.checkSteps(c)
		case c.unclear() && (found <= 1 || c.call.By.Role == fsm.System().Role):
		case c.unclear():
			ck.run.log.problem("%s may have been accepted once and is in the history %d times", c.call.Correlation, found)
		case found > 0:
			ck.run.log.problem("%s was told %s and is in the history", c.call.Correlation, kind(c.err))
		case others > 0 && kind(c.err) != "refused" && kind(c.err) != "handler failed":
			ck.run.log.problem("%s was told %s and has changed something", c.call.Correlation, kind(c.err))
		}
	}
}

// checkSteps looks for the steps that an accepted call was told of.
func (ck checker[Tx]) checkSteps(c *call) {
	i := slices.IndexFunc(ck.records, func(s storedRecord[Tx]) bool { return s.id == c.id && s.machine.Name() == c.machine })
	if i < 0 {
		ck.run.log.problem("%s was accepted and there is no record", c.call.Correlation)
		return
	}
	first := c.outcome.Version - int64(len(c.outcome.Steps))
	for n, step := range c.outcome.Steps {
		at := int(first) + n
		if at < 0 || at >= len(ck.records[i].history) {
			ck.run.log.problem("%s was accepted as v%d, which is not in the history", c.call.Correlation, at+1)
			return
		}
		h := ck.records[i].history[at]
		if h.Transition != step.Transition || h.Correlation != c.call.Correlation || h.From != step.From || h.To != step.To {
			ck.run.log.problem("%s was accepted as %s v%d, where the history has %s of %s", c.call.Correlation, step.Transition, at+1, h.Transition, h.Correlation)
		}
	}
}

// checkKeys compares keys with the histories, and calls that share a key with each other.
func (ck checker[Tx]) checkKeys() {
	for _, k := range ck.keys {
		i := slices.IndexFunc(ck.records, func(s storedRecord[Tx]) bool { return s.id == k.Record && s.machine.Name() == k.Machine })
		if i < 0 || int64(len(ck.records[i].history)) < k.Version {
			ck.run.log.problem("key %s belongs to v%d of %s %s, which is not there", k.Name, k.Version, k.Machine, k.Record)
		}
	}
	winners := map[string]*call{}
	for _, c := range ck.run.calls {
		if c.call.IdempotencyKey == "" || !c.accepted() {
			continue
		}
		name := c.machine + " " + c.call.By.Role + " " + c.call.By.ID + " " + c.call.IdempotencyKey
		if winners[name] != nil {
			ck.run.log.problem("%s and %s have one key and were both accepted", winners[name].call.Correlation, c.call.Correlation)
		}
		winners[name] = c
		want := facts.Key{Machine: c.machine, Name: "call:" + c.call.By.Role + ":" + c.call.By.ID + ":" + c.call.IdempotencyKey, Record: c.id, Event: c.event.Name, Version: c.outcome.Version}
		if !slices.Contains(ck.keys, want) {
			ck.run.log.problem("%s was accepted and its key is not consumed", c.call.Correlation)
		}
	}
	for _, c := range ck.run.calls {
		winner := winners[c.machine+" "+c.call.IdempotencyKey]
		if c.err != nil || c.undone || !c.outcome.Replayed || winner == nil || ck.replaysItsEvent(c) {
			continue
		}
		if winner.outcome.Version != c.outcome.Version {
			ck.run.log.problem("%s replays another outcome than that of %s", c.call.Correlation, winner.call.Correlation)
		}
	}
}

// replaysItsEvent reports whether a replayed call may have been replayed by the key of
// its event. The key of the call is free then.
func (ck checker[Tx]) replaysItsEvent(c *call) bool {
	return slices.ContainsFunc(ck.keys, func(k facts.Key) bool {
		return k.Machine == c.machine && k.Record == c.id && k.Event == c.event.Name && k.Version == c.outcome.Version && strings.HasPrefix(k.Name, "event:")
	})
}

// checkOutside compares the messages with what the outside world has seen.
func (ck checker[Tx]) checkOutside() {
	rows := map[string]facts.Message{}
	for _, l := range ck.messages {
		rows[l.ID] = l
		m := ck.run.outside.messages[l.ID]
		if l.State == "delivered" && (m == nil || !m.happened && !m.failed) {
			ck.run.log.problem("%s %s.%s v%d is delivered and never happened", alias(l.Record), l.Machine, l.Name, l.Version)
		}
		if l.State == "delivered" && !l.Work && m != nil && !m.happened {
			ck.run.log.problem("message %s %s.%s v%d is delivered and failed", alias(l.Record), l.Machine, l.Name, l.Version)
		}
	}
	for _, m := range ck.run.outside.sorted() {
		if _, ok := rows[m.row.MessageID]; !ok {
			ck.run.log.problem("%s was attempted and is not in the outbox", describe(m.row))
		}
	}
}

// checkParked looks for parked messages that no earlier message blocks.
func (ck checker[Tx]) checkParked() {
	for _, l := range ck.messages {
		if l.Parked && !l.Cancelled && !slices.ContainsFunc(ck.messages, func(other facts.Message) bool { return waitsFor(l, other) }) {
			ck.run.log.problem("%s %s.%s v%d is parked and waits for nothing", alias(l.Record), l.Machine, l.Name, l.Version)
		}
	}
}

// waitsFor reports whether other is an open message before l of the same ordering key.
func waitsFor(l, other facts.Message) bool {
	return other.Machine == l.Machine && other.Record == l.Record && other.Destination == l.Destination &&
		(other.Version < l.Version || other.Version == l.Version && other.Seq < l.Seq) &&
		other.State != "delivered" && !other.Discarded && !other.Cancelled
}

// checkRest looks for what must not be stored when nothing is left to do.
func (ck checker[Tx]) checkRest() {
	now := ck.run.clock.peek()
	for _, l := range ck.messages {
		switch {
		case l.Leased && dueAt(l).After(now):
			ck.run.log.problem("%s %s.%s is leased at the end", alias(l.Record), l.Machine, l.Name)
		case l.State != "delivered" && !l.Cancelled && !l.Discarded:
			ck.run.log.problem("%s %s.%s is %s at the end", alias(l.Record), l.Machine, l.Name, l.State)
		}
	}
	for _, d := range ck.deadlines {
		if ck.run.tried[nameOf(d)] > maxTries {
			ck.run.log.count("a deadline that can't be recorded stays")
			continue
		}
		ck.run.log.problem("%s %s has a deadline at the end: %s", alias(d.Record), d.Machine, d.Event)
	}
}

// marshal returns a record as text that is the same for every store.
func marshal(r fsm.Record) (string, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("record: %w", err)
	}
	return canonical(text), nil
}
