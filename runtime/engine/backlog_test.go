package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// gauges keeps the last value of each gauge.
type gauges struct {
	mu   sync.Mutex
	last map[string]float64
}

func (g *gauges) measure(m engine.Metric) {
	if m.Type != "gauge" {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	name := m.Machine + " " + m.Name
	for _, l := range m.Labels {
		name += " " + l.Value
	}
	g.last[name] = m.Value
}

func (g *gauges) differ(want map[string]float64) (diff string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for name, value := range want {
		if got, there := g.last[name]; !there || got != value {
			diff += fmt.Sprintf("%s is %v (measured: %v), want %v\n", name, got, there, value)
		}
	}
	return diff
}

// become waits until the gauges have these values.
func (g *gauges) become(t *testing.T, want map[string]float64) {
	t.Helper()
	progress.Until(t, "the gauges", func() (any, bool) {
		diff := g.differ(want)
		return diff, diff == ""
	})
}

// TestWatch: without a worker what waits is measured, and nothing is claimed; what is
// gone becomes 0.
func TestWatch(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	g := &gauges{last: map[string]float64{}}
	s.config.Metrics, s.config.WatchInterval = g.measure, time.Millisecond
	fails := true
	s.handle(s.store, func(context.Context, fsm.Dispatch) (*fsm.Event, error) {
		if fails {
			return nil, &engine.PermanentError{Err: errors.New("no such topic")}
		}
		return nil, nil
	})
	s.offered("1")
	if _, err := s.engine.Step(t.Context()); err != nil { // of the first event of the deal, and of notify_owner
		t.Fatal(err)
	}
	s.offered("2")
	s.clock.tick(48 * time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	watched := make(chan error)
	go func() { watched <- s.engine.Watch(ctx) }()
	g.become(t, map[string]float64{
		"deal fsm_open_messages deal.events pending":  3,
		"deal fsm_open_messages notify_owner pending": 1,
		"deal fsm_dead_letters deal.events":           1,
		"deal fsm_dead_letters notify_owner":          1,
		"deal fsm_oldest_due_seconds deal.events":     48 * 3600,
		"deal fsm_blocked_orders kafka":               1,
		"deal fsm_overdue_deadlines EXPIRE":           2,
	})
	if got := s.texts("SELECT DISTINCT state || ' ' || attempts FROM fsm_outbox WHERE record_id LIKE '%2'"); strings.Join(got, ", ") != "pending 0" {
		t.Errorf("the messages of a watched deal are %v", got)
	}
	fails = false
	if _, err := s.engine.DiscardAll(t.Context(), engine.Filter{}, "ann", "nobody listens"); err != nil {
		t.Fatal(err)
	}
	for n := 1; n > 0; {
		var err error
		if n, err = s.engine.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	g.become(t, map[string]float64{
		"deal fsm_open_messages deal.events pending":  0,
		"deal fsm_open_messages notify_owner pending": 0,
		"deal fsm_dead_letters deal.events":           0,
		"deal fsm_dead_letters notify_owner":          0,
		"deal fsm_oldest_due_seconds deal.events":     0,
		"deal fsm_blocked_orders kafka":               0,
		"deal fsm_overdue_deadlines EXPIRE":           0,
	})
	cancel()
	if err := <-watched; err != nil {
		t.Error(err)
	}
}

// TestRunMeasuresWhatWaits: a worker tells what it does not get done.
func TestRunMeasuresWhatWaits(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	g := &gauges{last: map[string]float64{}}
	s.config.Metrics = g.measure
	s.handle(s.store, func(context.Context, fsm.Dispatch) (*fsm.Event, error) { return nil, nil })
	if err := s.engine.Pause(t.Context(), engine.Scope{Machine: "deal"}, "ann", "to see"); err != nil {
		t.Fatal(err)
	}
	s.offered("1")
	stop := s.running()
	g.become(t, map[string]float64{"deal fsm_open_messages deal.events pending": 2, "deal fsm_paused  ": 1})
	stop()
}
