package engine

import (
	"context"
	"slices"
	"strings"
	"time"
)

// BacklogKind tells what a line of the backlog counts.
type BacklogKind string

// The kinds of lines, in the order in which they are read.
const (
	BacklogBlocked BacklogKind = "blocked" // records whose messages to the destination Name wait behind a dead letter
	BacklogDue     BacklogKind = "due"     // messages of the effect Name that could be claimed: the oldest is due since Since
	BacklogOpen    BacklogKind = "open"    // messages of the effect Name that are open in State
	BacklogOverdue BacklogKind = "overdue" // deadlines with the event Name that could be claimed
)

// Backlog is a line of what waits in a store.
type Backlog struct {
	Kind          BacklogKind
	Machine, Name string
	State         string
	Count         int64
	Since         time.Time
}

// mostCounted is how many messages, and deadlines, one look counts at most: a backlog of
// more shows as so many.
const mostCounted = 100_000

// backlog measures what waits. The zero value has measured nothing.
type backlog struct {
	shown map[string]Metric // the gauges that are not 0
}

// measureBacklog measures what waits. Gauges of what is gone become 0.
func (e *Engine[T]) measureBacklog(ctx context.Context, b *backlog) {
	now := e.now()
	page, err := e.store.Read(ctx, Read{Kind: ReadBacklog, Now: now, Destinations: e.wanted.lanes, Events: e.wanted.events, Limit: mostCounted})
	if err != nil {
		if ctx.Err() == nil {
			e.config.Logger.WarnContext(ctx, "the backlog can't be measured", "error", err)
		}
		return
	}
	before := b.shown
	b.shown = map[string]Metric{}
	for _, line := range page.Backlog {
		m := line.metric(now)
		b.shown[m.key()] = m
		delete(before, m.key())
		e.config.Metrics(m)
	}
	for _, m := range before {
		m.Value = 0
		e.config.Metrics(m)
	}
}

// metric is what a line measures.
func (b Backlog) metric(now time.Time) Metric {
	m := Metric{Machine: b.Machine, Type: "gauge", Value: float64(b.Count)}
	switch {
	case b.Kind == BacklogBlocked:
		m.Name, m.Labels = MetricBlocked, labels([]string{"destination", b.Name})
	case b.Kind == BacklogDue:
		m.Name, m.Labels, m.Value = MetricOldestDue, labels([]string{"effect", b.Name}), now.Sub(b.Since).Seconds()
	case b.Kind == BacklogOverdue:
		m.Name, m.Labels = MetricOverdue, labels([]string{"event", b.Name})
	case b.State == "dead_letter":
		m.Name, m.Labels = MetricDeadLetters, labels([]string{"effect", b.Name})
	default:
		m.Name, m.Labels = MetricOpen, labels([]string{"effect", b.Name, "state", b.State})
	}
	return m
}

// key tells a gauge from others.
func (m Metric) key() string {
	parts := []string{m.Machine, m.Name}
	for _, l := range m.Labels {
		parts = append(parts, l.Value)
	}
	return strings.Join(parts, "\x00")
}

// Watch measures what waits in the store, each WatchInterval until ctx ends, and claims
// nothing. Run does the same beside its work: Watch is for a process that has to tell
// that no worker runs. It returns nil: being stopped is no error.
func (e *Engine[T]) Watch(ctx context.Context) error {
	if err := checkNested(ctx); err != nil {
		return err
	}
	w := &watcher[T]{engine: e}
	for ctx.Err() == nil {
		if err := e.synchronise(ctx); err == nil {
			e.refreshPauses(ctx)
			w.look(ctx)
		} else if ctx.Err() == nil {
			e.config.Logger.WarnContext(ctx, "what waits can't be measured", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(e.config.WatchInterval):
		}
	}
	return nil
}

// Machines lists the machines that a question names, each once.
func (q Read) Machines() (names []string) {
	for _, l := range q.Destinations {
		names = append(names, l.Machine)
	}
	for _, e := range q.Events {
		names = append(names, e.Machine)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
