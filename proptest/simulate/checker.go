package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// facts are what the checker has read.
type facts[Tx any] struct {
	run       *run[Tx]
	messages  []storedMessage
	deadlines []deadline
	keys      []key
	traces    []trace
	inlined   []inlineCall
	records   []recordFacts[Tx]
}

// recordFacts is a record with its history.
type recordFacts[Tx any] struct {
	record[Tx]
	row     store.Row
	history []store.HistoryRow
}

// check checks what is stored. atRest is true after the drain, when nothing is left to
// do.
func (run *run[Tx]) check(ctx context.Context, atRest bool) {
	f, err := run.readFacts(ctx)
	if err != nil {
		run.log.problem("the checker can't read: %v", err)
		return
	}
	for _, s := range f.records {
		f.checkRecord(s)
	}
	f.checkCalls()
	f.checkKeys()
	f.checkOutside()
	f.checkParked()
	if atRest {
		f.checkRest()
	}
}

func (run *run[Tx]) readFacts(ctx context.Context) (f facts[Tx], err error) {
	f.run = run
	if f.messages, err = run.storedMessages(ctx); err != nil {
		return f, err
	}
	if f.deadlines, err = run.deadlines(ctx); err != nil {
		return f, err
	}
	if f.keys, err = run.keys(ctx); err != nil {
		return f, err
	}
	if f.traces, err = run.traces(ctx); err != nil {
		return f, err
	}
	if f.inlined, err = run.inlined(ctx); err != nil {
		return f, err
	}
	for _, r := range run.machines {
		page, err := run.subject.Store.Read(ctx, store.Read{Kind: store.ReadRecords, Machine: r.Name(), Tables: r.Tables(), Blank: r.Blank, Limit: 10000})
		if err != nil {
			return f, err
		}
		for _, row := range page.Records {
			if row.Err != nil {
				return f, row.Err
			}
			s := recordFacts[Tx]{record: record[Tx]{r, fsm.Text(row.Record.Values()[0])}, row: row}
			if s.history, err = run.history(ctx, s.record); err != nil {
				return f, err
			}
			f.records = append(f.records, s)
		}
	}
	return f, nil
}

func (run *run[Tx]) history(ctx context.Context, r record[Tx]) ([]store.HistoryRow, error) {
	k, err := r.machine.ParseID(r.id)
	if err != nil {
		return nil, err
	}
	page, err := run.subject.Store.Read(ctx, store.Read{
		Kind: store.ReadHistory, Machine: r.machine.Name(), Tables: r.machine.Tables(), ID: r.id, IDValue: k, Limit: 10000,
	})
	return page.History, err
}

// checkCalls compares what callers were told with what is stored.
func (f facts[Tx]) checkCalls() {
	for _, c := range f.run.calls {
		found := 0 // steps of this call itself
		others := 0
		for _, s := range f.records {
			for _, h := range s.history {
				switch {
				case h.Correlation != c.call.Correlation:
				case s.id == c.id && s.machine.Name() == c.machine && h.Event == c.event.Name && h.By == c.call.By && canonical(h.Payload) == canonical(c.event.Payload):
					found++
				default:
					others++
				}
			}
		}
		switch {
		case c.accepted() && found == 0:
			f.run.log.problem("%s was accepted and is not in the history", c.call.Correlation)
		case c.accepted() && found > 1 && c.call.By.Role != fsm.System().Role:
			f.run.log.problem("%s was accepted once and is in the history %d times", c.call.Correlation, found)
		case c.accepted():
			f.checkSteps(c)
		case c.unclear() && (found <= 1 || c.call.By.Role == fsm.System().Role):
		case c.unclear():
			f.run.log.problem("%s may have been accepted once and is in the history %d times", c.call.Correlation, found)
		case found > 0:
			f.run.log.problem("%s was told %s and is in the history", c.call.Correlation, kind(c.err))
		case others > 0 && kind(c.err) != "refused" && kind(c.err) != "handler failed":
			f.run.log.problem("%s was told %s and has changed something", c.call.Correlation, kind(c.err))
		}
	}
}

// checkSteps looks for the steps that an accepted call was told of.
func (f facts[Tx]) checkSteps(c *call) {
	i := slices.IndexFunc(f.records, func(s recordFacts[Tx]) bool { return s.id == c.id && s.machine.Name() == c.machine })
	if i < 0 {
		f.run.log.problem("%s was accepted and there is no record", c.call.Correlation)
		return
	}
	first := c.outcome.Version - int64(len(c.outcome.Steps))
	for n, step := range c.outcome.Steps {
		at := int(first) + n
		if at < 0 || at >= len(f.records[i].history) {
			f.run.log.problem("%s was accepted as v%d, which is not in the history", c.call.Correlation, at+1)
			return
		}
		h := f.records[i].history[at]
		if h.Transition != step.Transition || h.Correlation != c.call.Correlation || h.From != step.From || h.To != step.To {
			f.run.log.problem("%s was accepted as %s v%d, where the history has %s of %s", c.call.Correlation, step.Transition, at+1, h.Transition, h.Correlation)
		}
	}
}

// checkKeys compares keys with the histories, and calls that share a key with each other.
func (f facts[Tx]) checkKeys() {
	for _, k := range f.keys {
		i := slices.IndexFunc(f.records, func(s recordFacts[Tx]) bool { return s.id == k.record && s.machine.Name() == k.machine })
		if i < 0 || int64(len(f.records[i].history)) < k.version {
			f.run.log.problem("key %s belongs to v%d of %s %s, which is not there", k.key, k.version, k.machine, k.record)
		}
	}
	winners := map[string]*call{}
	for _, c := range f.run.calls {
		if c.call.IdempotencyKey == "" || !c.accepted() {
			continue
		}
		name := c.machine + " " + c.call.By.Role + " " + c.call.By.ID + " " + c.call.IdempotencyKey
		if winners[name] != nil {
			f.run.log.problem("%s and %s have one key and were both accepted", winners[name].call.Correlation, c.call.Correlation)
		}
		winners[name] = c
		want := key{c.machine, "call:" + c.call.By.Role + ":" + c.call.By.ID + ":" + c.call.IdempotencyKey, c.id, c.event.Name, c.outcome.Version}
		if !slices.Contains(f.keys, want) {
			f.run.log.problem("%s was accepted and its key is not consumed", c.call.Correlation)
		}
	}
	for _, c := range f.run.calls {
		winner := winners[c.machine+" "+c.call.IdempotencyKey]
		if c.err != nil || c.undone || !c.outcome.Replayed || winner == nil || f.replaysItsEvent(c) {
			continue
		}
		if winner.outcome.Version != c.outcome.Version {
			f.run.log.problem("%s replays another outcome than that of %s", c.call.Correlation, winner.call.Correlation)
		}
	}
}

// replaysItsEvent reports whether a replayed call may have been replayed by the key of
// its event. The key of the call is free then.
func (f facts[Tx]) replaysItsEvent(c *call) bool {
	return slices.ContainsFunc(f.keys, func(k key) bool {
		return k.machine == c.machine && k.record == c.id && k.event == c.event.Name && k.version == c.outcome.Version && strings.HasPrefix(k.key, "event:")
	})
}

// checkOutside compares the messages with what the outside world has seen.
func (f facts[Tx]) checkOutside() {
	rows := map[string]storedMessage{}
	for _, l := range f.messages {
		rows[l.id] = l
		m := f.run.outside.messages[l.id]
		if l.state == "delivered" && (m == nil || !m.happened && !m.failed) {
			f.run.log.problem("%s %s.%s v%d is delivered and never happened", alias(l.record), l.machine, l.effect, l.version)
		}
		if l.state == "delivered" && !l.work && m != nil && !m.happened {
			f.run.log.problem("message %s %s.%s v%d is delivered and failed", alias(l.record), l.machine, l.effect, l.version)
		}
	}
	for _, m := range f.run.outside.sorted() {
		if _, ok := rows[m.row.MessageID]; !ok {
			f.run.log.problem("%s was attempted and is not in the outbox", describe(m.row))
		}
	}
}

// checkParked looks for parked messages that no earlier message blocks.
func (f facts[Tx]) checkParked() {
	for _, l := range f.messages {
		if l.parked && !l.cancelled && !slices.ContainsFunc(f.messages, l.waitsFor) {
			f.run.log.problem("%s %s.%s v%d is parked and waits for nothing", alias(l.record), l.machine, l.effect, l.version)
		}
	}
}

// waitsFor reports whether other is an open message before l of the same ordering key.
func (l storedMessage) waitsFor(other storedMessage) bool {
	return other.machine == l.machine && other.record == l.record && other.destination == l.destination &&
		(other.version < l.version || other.version == l.version && other.seq < l.seq) &&
		other.state != "delivered" && !other.discarded && !other.cancelled
}

// checkRest looks for what must not be stored when nothing is left to do.
func (f facts[Tx]) checkRest() {
	now := f.run.clock.peek()
	for _, l := range f.messages {
		switch {
		case l.leased && l.due.After(now):
			f.run.log.problem("%s %s.%s is leased at the end", alias(l.record), l.machine, l.effect)
		case l.state != "delivered" && !l.cancelled && !l.discarded:
			f.run.log.problem("%s %s.%s is %s at the end", alias(l.record), l.machine, l.effect, l.state)
		}
	}
	for _, d := range f.deadlines {
		if f.run.tried[d.name()] > maxTries {
			f.run.log.count("a deadline that can't be recorded stays")
			continue
		}
		f.run.log.problem("%s %s has a deadline at the end: %s", alias(d.record), d.machine, d.event)
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
