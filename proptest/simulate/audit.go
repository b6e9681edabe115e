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

// findings is what the audit has read.
type findings[Tx any] struct {
	play      *play[Tx]
	letters   []letter
	deadlines []deadline
	keys      []key
	traces    []trace
	inlined   []carried
	stories   []story[Tx]
}

// story is a record with its history.
type story[Tx any] struct {
	record[Tx]
	row     store.Row
	history []store.HistoryRow
}

// audit checks what is stored. ended: the play is over, everything is at rest.
func (p *play[Tx]) audit(ctx context.Context, ended bool) {
	f, err := p.find(ctx)
	if err != nil {
		p.journal.problem("the audit can't read: %v", err)
		return
	}
	for _, s := range f.stories {
		f.checkStory(s)
	}
	f.checkCalls()
	f.checkKeys()
	f.checkOutside()
	f.checkParked()
	if ended {
		f.checkRest()
	}
}

func (p *play[Tx]) find(ctx context.Context) (f findings[Tx], err error) {
	f.play = p
	if f.letters, err = p.letters(ctx); err != nil {
		return f, err
	}
	if f.deadlines, err = p.deadlines(ctx); err != nil {
		return f, err
	}
	if f.keys, err = p.keys(ctx); err != nil {
		return f, err
	}
	if f.traces, err = p.traces(ctx); err != nil {
		return f, err
	}
	if f.inlined, err = p.inlined(ctx); err != nil {
		return f, err
	}
	for _, r := range p.roles {
		page, err := p.subject.Store.Read(ctx, store.Read{Kind: store.ReadRecords, Machine: r.Name(), Tables: r.Tables(), Blank: r.Blank, Limit: 10000})
		if err != nil {
			return f, err
		}
		for _, row := range page.Records {
			if row.Err != nil {
				return f, row.Err
			}
			s := story[Tx]{record: record[Tx]{r, fsm.Text(row.Record.Values()[0])}, row: row}
			if s.history, err = p.history(ctx, s.record); err != nil {
				return f, err
			}
			f.stories = append(f.stories, s)
		}
	}
	return f, nil
}

func (p *play[Tx]) history(ctx context.Context, r record[Tx]) ([]store.HistoryRow, error) {
	k, err := r.role.ParseID(r.id)
	if err != nil {
		return nil, err
	}
	page, err := p.subject.Store.Read(ctx, store.Read{
		Kind: store.ReadHistory, Machine: r.role.Name(), Tables: r.role.Tables(), ID: r.id, IDValue: k, Limit: 10000,
	})
	return page.History, err
}

// checkCalls compares what callers were told with what is there.
func (f findings[Tx]) checkCalls() {
	for _, c := range f.play.calls {
		found := 0 // steps of this call itself
		others := 0
		for _, s := range f.stories {
			for _, h := range s.history {
				switch {
				case h.Correlation != c.call.Correlation:
				case s.id == c.id && s.role.Name() == c.machine && h.Event == c.event.Name && h.By == c.call.By && canonical(h.Payload) == canonical(c.event.Payload):
					found++
				default:
					others++
				}
			}
		}
		switch {
		case c.accepted() && found == 0:
			f.play.journal.problem("%s was accepted and is not in the history", c.call.Correlation)
		case c.accepted() && found > 1 && c.call.By.Role != fsm.System().Role:
			f.play.journal.problem("%s was accepted once and is in the history %d times", c.call.Correlation, found)
		case c.accepted():
			f.checkSteps(c)
		case c.unclear() && (found <= 1 || c.call.By.Role == fsm.System().Role):
		case c.unclear():
			f.play.journal.problem("%s may have been accepted once and is in the history %d times", c.call.Correlation, found)
		case found > 0:
			f.play.journal.problem("%s was told %s and is in the history", c.call.Correlation, kind(c.err))
		case others > 0 && kind(c.err) != "refused" && kind(c.err) != "handler failed":
			f.play.journal.problem("%s was told %s and something came of it", c.call.Correlation, kind(c.err))
		}
	}
}

// checkSteps looks for the steps that an accepted call was told of.
func (f findings[Tx]) checkSteps(c *call) {
	i := slices.IndexFunc(f.stories, func(s story[Tx]) bool { return s.id == c.id && s.role.Name() == c.machine })
	if i < 0 {
		f.play.journal.problem("%s was accepted and there is no record", c.call.Correlation)
		return
	}
	first := c.outcome.Version - int64(len(c.outcome.Steps))
	for n, step := range c.outcome.Steps {
		at := int(first) + n
		if at < 0 || at >= len(f.stories[i].history) {
			f.play.journal.problem("%s was accepted as v%d, which is not in the history", c.call.Correlation, at+1)
			return
		}
		h := f.stories[i].history[at]
		if h.Transition != step.Transition || h.Correlation != c.call.Correlation || h.From != step.From || h.To != step.To {
			f.play.journal.problem("%s was accepted as %s v%d, where the history has %s of %s", c.call.Correlation, step.Transition, at+1, h.Transition, h.Correlation)
		}
	}
}

// checkKeys compares keys with the histories, and calls that share one with each
// other.
func (f findings[Tx]) checkKeys() {
	for _, k := range f.keys {
		i := slices.IndexFunc(f.stories, func(s story[Tx]) bool { return s.id == k.record && s.role.Name() == k.machine })
		if i < 0 || int64(len(f.stories[i].history)) < k.version {
			f.play.journal.problem("key %s belongs to v%d of %s %s, which is not there", k.key, k.version, k.machine, k.record)
		}
	}
	winners := map[string]*call{}
	for _, c := range f.play.calls {
		if c.call.IdempotencyKey == "" || !c.accepted() {
			continue
		}
		name := c.machine + " " + c.call.By.Role + " " + c.call.By.ID + " " + c.call.IdempotencyKey
		if winners[name] != nil {
			f.play.journal.problem("%s and %s have one key and were both accepted", winners[name].call.Correlation, c.call.Correlation)
		}
		winners[name] = c
		want := key{c.machine, "call:" + c.call.By.Role + ":" + c.call.By.ID + ":" + c.call.IdempotencyKey, c.id, c.event.Name, c.outcome.Version}
		if !slices.Contains(f.keys, want) {
			f.play.journal.problem("%s was accepted and its key is not consumed", c.call.Correlation)
		}
	}
	for _, c := range f.play.calls {
		winner := winners[c.machine+" "+c.call.IdempotencyKey]
		if c.err != nil || c.undone || !c.outcome.Replayed || winner == nil || f.replaysItsEvent(c) {
			continue
		}
		if winner.outcome.Version != c.outcome.Version {
			f.play.journal.problem("%s replays another outcome than that of %s", c.call.Correlation, winner.call.Correlation)
		}
	}
}

// replaysItsEvent reports whether a call that was replayed may have been so by the key
// that its event has of its own. The key of the call is free then.
func (f findings[Tx]) replaysItsEvent(c *call) bool {
	return slices.ContainsFunc(f.keys, func(k key) bool {
		return k.machine == c.machine && k.record == c.id && k.event == c.event.Name && k.version == c.outcome.Version && strings.HasPrefix(k.key, "event:")
	})
}

// checkOutside compares the outbox with what the outside has seen.
func (f findings[Tx]) checkOutside() {
	rows := map[string]letter{}
	for _, l := range f.letters {
		rows[l.id] = l
		m := f.play.outside.messages[l.id]
		if l.state == "delivered" && (m == nil || !m.happened && !m.failed) {
			f.play.journal.problem("%s %s.%s v%d is delivered and never happened", alias(l.record), l.machine, l.effect, l.version)
		}
		if l.state == "delivered" && !l.work && m != nil && !m.happened {
			f.play.journal.problem("message %s %s.%s v%d is delivered and failed", alias(l.record), l.machine, l.effect, l.version)
		}
	}
	for _, m := range f.play.outside.sorted() {
		if _, ok := rows[m.row.MessageID]; !ok {
			f.play.journal.problem("%s was attempted and is not in the outbox", describe(m.row))
		}
	}
}

// checkParked looks for parked messages that wait for nothing.
func (f findings[Tx]) checkParked() {
	for _, l := range f.letters {
		if l.parked && !l.cancelled && !slices.ContainsFunc(f.letters, l.waitsFor) {
			f.play.journal.problem("%s %s.%s v%d is parked and waits for nothing", alias(l.record), l.machine, l.effect, l.version)
		}
	}
}

// waitsFor reports whether other stands before l in its lane and is open.
func (l letter) waitsFor(other letter) bool {
	return other.machine == l.machine && other.record == l.record && other.lane == l.lane &&
		(other.version < l.version || other.version == l.version && other.seq < l.seq) &&
		other.state != "delivered" && !other.discarded && !other.cancelled
}

// checkRest looks for what can't be when everything is at rest.
func (f findings[Tx]) checkRest() {
	now := f.play.clock.peek()
	for _, l := range f.letters {
		switch {
		case l.leased && l.due.After(now):
			f.play.journal.problem("%s %s.%s is leased at the end", alias(l.record), l.machine, l.effect)
		case l.state != "delivered" && !l.cancelled && !l.discarded:
			f.play.journal.problem("%s %s.%s is %s at the end", alias(l.record), l.machine, l.effect, l.state)
		}
	}
	for _, d := range f.deadlines {
		if f.play.tried[d.name()] > enough {
			f.play.journal.count("a deadline that can't be recorded stays")
			continue
		}
		f.play.journal.problem("%s %s has a deadline at the end: %s", alias(d.record), d.machine, d.event)
	}
}

// marshal is a record as text that is the same on every store.
func marshal(r fsm.Record) (string, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("record: %w", err)
	}
	return canonical(text), nil
}
