package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// pauses is what an engine last read of the pauses of its store. It is safe for
// concurrent use.
type pauses struct {
	reading sync.Mutex // held while the store is asked

	mu     sync.Mutex
	known  bool // they were read once
	read   time.Time
	all    map[Scope]Pause
	wanted wanted // what is left to claim
}

// allow reports whether an effect may start. Before the pauses were read, none may.
func (p *pauses) allow(msg OutboxMessage) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.all) == 0 {
		return p.known
	}
	return slices.ContainsFunc(p.wanted.destinations, func(l store.Destination) bool {
		return l.Machine == msg.Machine && l.Name == msg.Destination && slices.Contains(l.Effects, msg.Effect)
	})
}

// left is what workers may claim.
func (p *pauses) left() wanted {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wanted
}

// state reports whether the pauses are known, and when they were read.
func (p *pauses) state() (known bool, read time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known, p.read
}

// set notes what was read, and returns what is new and what is gone.
func (p *pauses) set(list []Pause, left wanted, at time.Time) (begun, ended []Pause) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.all
	p.all = map[Scope]Pause{}
	for _, pause := range list {
		p.all[pause.Scope] = pause
		if _, there := before[pause.Scope]; !there {
			begun = append(begun, pause)
		}
		delete(before, pause.Scope)
	}
	for _, pause := range before {
		ended = append(ended, pause)
	}
	p.known, p.read, p.wanted = true, at, left
	return begun, ended
}

// readPauses reads the pauses. If it fails, the last known ones hold.
func (e *Engine[T]) readPauses(ctx context.Context) error {
	e.pauses.reading.Lock()
	defer e.pauses.reading.Unlock()
	return e.askForPauses(ctx)
}

// askForPauses is readPauses for a caller that holds the lock.
func (e *Engine[T]) askForPauses(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.config.StoreTimeout)
	defer cancel()
	at := e.config.Clock.Now()
	list, err := e.Pauses(ctx)
	if err != nil {
		return err
	}
	begun, ended := e.pauses.set(list, e.unpaused(list), at)
	for _, p := range begun {
		e.measurePause(p.Scope, 1)
		e.config.Logger.WarnContext(ctx, "paused", append(scopeAttributes(p.Scope), "who", p.Who, "why", p.Why, "at", p.At)...)
	}
	for _, p := range ended {
		e.measurePause(p.Scope, 0)
		e.config.Logger.InfoContext(ctx, "no longer paused", scopeAttributes(p.Scope)...)
	}
	return nil
}

// refreshPauses is readPauses where a failure is no error: the last known ones hold.
func (e *Engine[T]) refreshPauses(ctx context.Context) { e.warnPauses(ctx, e.readPauses(ctx)) }

func (e *Engine[T]) warnPauses(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		e.config.Logger.WarnContext(ctx, "the pauses can't be read: the last known ones hold", "error", err)
	}
}

// awaitPauses reads the pauses until it succeeds or ctx ends, and reports whether they
// are known.
func (e *Engine[T]) awaitPauses(ctx context.Context) bool {
	for failures := 1; ; failures++ {
		err := e.readPauses(ctx)
		if err == nil || ctx.Err() != nil {
			return err == nil
		}
		e.backOff(ctx, failures, err)
	}
}

// followPauses keeps the pauses known where effects are carried out within transactions
// and no worker polls. One call reads them; others go on with the last known ones.
func (e *Engine[T]) followPauses(ctx context.Context) {
	known, read := e.pauses.state()
	switch {
	case known && (e.workers.any() || e.config.Clock.Now().Sub(read) < e.config.PollInterval):
		return
	case !known:
		e.pauses.reading.Lock()
	case !e.pauses.reading.TryLock():
		return
	}
	defer e.pauses.reading.Unlock()
	if _, now := e.pauses.state(); now.Equal(read) {
		e.warnPauses(ctx, e.askForPauses(ctx))
	}
}

// unpaused is what is wanted and not paused.
func (e *Engine[T]) unpaused(list []Pause) wanted {
	if len(list) == 0 {
		return e.wanted
	}
	var left wanted
	for _, l := range e.wanted.destinations {
		l.Effects = slices.DeleteFunc(slices.Clone(l.Effects), func(name string) bool {
			return pausesEffect(list, e.machines[l.Machine], name)
		})
		if len(l.Effects) > 0 {
			left.destinations = append(left.destinations, l)
		}
	}
	for _, events := range e.wanted.events {
		if !slices.ContainsFunc(list, func(p store.Pause) bool { return p.Scope == store.Scope{Machine: events.Machine} }) {
			left.events = append(left.events, events)
		}
	}
	return left
}

// pausesEffect reports whether an effect, or the cleanup that its repeats begin with, is
// paused.
func pausesEffect[T any](list []Pause, m *definition[T], name string) bool {
	info := m.effects[name]
	scopes := []Scope{{Machine: m.Name()}, {Machine: m.Name(), Effect: name}, {Destination: destinationOf(info)}}
	if info.Cleanup != "" {
		scopes = append(scopes, Scope{Machine: m.Name(), Effect: info.Cleanup}, Scope{Destination: destinationOf(m.effects[info.Cleanup])})
	}
	return slices.ContainsFunc(list, func(p Pause) bool { return slices.Contains(scopes, p.Scope) })
}

// measurePause measures whether a scope is paused.
func (e *Engine[T]) measurePause(s Scope, value float64) {
	e.config.Metrics(Metric{
		Machine: s.Machine, Name: MetricPaused, Type: "gauge", Value: value,
		Labels: []fsm.Label{{Name: "effect", Value: s.Effect}, {Name: "destination", Value: s.Destination}},
	})
}
