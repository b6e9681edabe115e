package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// mostCounted bounds the messages, and the deadlines, that one measurement counts. A larger
// backlog is reported as mostCounted.
const mostCounted = 100_000

// backlog keeps the gauges of what waits. The zero value has none.
type backlog struct {
	shown map[string]Metric // the gauges that are not 0
}

// measureBacklog measures what waits. A gauge whose work is gone becomes 0.
func (e *Engine[T]) measureBacklog(ctx context.Context, b *backlog) {
	now := e.now()
	page, err := e.store.Read(ctx, store.Read{Kind: store.ReadBacklog, Now: now, Destinations: e.wanted.destinations, Events: e.wanted.events, Limit: mostCounted})
	if err != nil {
		if ctx.Err() == nil {
			e.config.Logger.WarnContext(ctx, "the backlog can't be measured", "error", err)
		}
		return
	}
	before := b.shown
	b.shown = map[string]Metric{}
	for _, line := range page.Backlog {
		m, err := gaugeOf(line, now)
		if err != nil {
			e.config.Logger.WarnContext(ctx, "a line of the backlog can't be measured", "error", err)
			continue
		}
		b.shown[m.key()] = m
		delete(before, m.key())
		e.config.Metrics(m)
	}
	for _, m := range before {
		m.Value = 0
		e.config.Metrics(m)
	}
}

// key identifies the gauge.
func (m Metric) key() string {
	parts := []string{m.Machine, m.Name}
	for _, l := range m.Labels {
		parts = append(parts, l.Value)
	}
	return strings.Join(parts, "\x00")
}

// Watch measures what waits in the store every WatchInterval until ctx ends. It claims nothing.
// Run measures the same; Watch is for a process without a worker, so that a missing worker is
// noticed. It returns nil.
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

// gaugeOf returns the gauge of a line of the backlog.
func gaugeOf(b store.Backlog, now time.Time) (Metric, error) {
	m := Metric{Machine: b.Machine, Type: "gauge", Value: float64(b.Count)}
	switch b.Kind {
	case store.BacklogBlocked:
		m.Name, m.Labels = MetricBlocked, labels([]string{"destination", b.Name})
	case store.BacklogDue:
		m.Name, m.Labels, m.Value = MetricOldestDue, labels([]string{"effect", b.Name}), now.Sub(b.Since).Seconds()
	case store.BacklogOverdue:
		m.Name, m.Labels = MetricOverdue, labels([]string{"event", b.Name})
	case store.BacklogOpen:
		m.Name, m.Labels = MetricOpen, labels([]string{"effect", b.Name, "state", b.State})
		if b.State == "dead_letter" {
			m.Name, m.Labels = MetricDeadLetters, labels([]string{"effect", b.Name})
		}
	default:
		return m, fmt.Errorf("%d %s of machine %s: the engine knows no backlog of kind %q", b.Count, b.Name, b.Machine, b.Kind)
	}
	return m, nil
}
