package engine_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// TestAPauseHoldsWhateverBeginsAnEffect: a worker neither claims nor is given what is
// paused, and begins it once the pause is over.
func TestAPauseHoldsWhateverBeginsAnEffect(t *testing.T) {
	const deals = 5
	owners := engine.Scope{Destination: "owner_notifications"}
	for _, way := range []string{"claimed", "reserved"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.config.Metrics = func(m engine.Metric) {
				if m.Name == engine.MetricUnknown {
					t.Errorf("what is paused counts as unknown: %+v", m)
				}
			}
			events, notified := make(chan struct{}, 2*deals), make(chan struct{}, deals)
			var store engine.Store[*sql.Tx] = s.store
			silent := s.watched()
			if way == "reserved" {
				store = silent // it never wakes a worker: what it knows of the pause is from the call
			}
			s.handle(store, func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
				if destinationOf(d.Effect) == "kafka" {
					events <- struct{}{}
				} else {
					notified <- struct{}{}
				}
				return nil, nil
			})
			pause := func() {
				if err := s.engine.Pause(t.Context(), owners, "ann", "too many"); err != nil {
					t.Fatal(err)
				}
			}
			var stop func()
			if way == "claimed" {
				for n := range deals {
					s.offered(fmt.Sprint(n + 1))
				}
				pause()
				stop = s.running()
				for range 2 * deals {
					receive(t, "an event of a deal", events)
				}
			} else {
				stop = s.running()
				s.looked(silent)
				pause()
				for n := range deals {
					s.offerWhenCalm(fmt.Sprint(n+1), func() { receive(t, "an event of a deal", events) })
				}
			}
			if got := s.texts("SELECT DISTINCT state || ' ' || attempts FROM fsm_outbox WHERE effect = 'notify_owner'"); !slices.Equal(got, []string{"pending 0"}) {
				t.Errorf("the paused messages are %v", got)
			}
			if err := s.engine.Unpause(t.Context(), owners, "ann", "fewer now"); err != nil {
				t.Fatal(err)
			}
			for range deals {
				receive(t, "a notification", notified)
			}
			stop()
		})
	}
}

// receive waits for a value.
func receive[T any](t *testing.T, what string, from <-chan T) {
	t.Helper()
	arrived := make(chan struct{})
	go func() {
		<-from
		close(arrived)
	}()
	progress.Receive(t, what, arrived)
}

// TestAPauseByAnotherProcess: a running worker follows a pause by another process, and
// its end.
func TestAPauseByAnotherProcess(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	heeds, events, notified := make(chan float64, 10), make(chan struct{}, 10), make(chan struct{}, 10)
	s.config.Metrics = func(m engine.Metric) {
		if m.Name == engine.MetricPaused {
			heeds <- m.Value
		}
	}
	s.handle(s.store, func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		if d.Effect == "notify_owner" {
			notified <- struct{}{}
		} else {
			events <- struct{}{}
		}
		return nil, nil
	})
	here := s.engine
	s.config.Metrics = nil
	s.open() // the other process
	there := s.engine
	s.engine = here
	stop := s.running()
	scope := engine.Scope{Machine: "deal", Effect: "notify_owner"}
	if err := there.Pause(t.Context(), scope, "ann", "too many"); err != nil {
		t.Fatal(err)
	}
	receive(t, "the pause", heeds)
	s.offered("1")
	for range 2 {
		receive(t, "an event of the deal", events)
	}
	if got := s.texts("SELECT state || ' ' || attempts FROM fsm_outbox WHERE effect = 'notify_owner'"); !slices.Equal(got, []string{"pending 0"}) {
		t.Errorf("the paused message is %v", got)
	}
	if err := there.Unpause(t.Context(), scope, "ann", "fewer now"); err != nil {
		t.Fatal(err)
	}
	receive(t, "the end of the pause", heeds)
	receive(t, "the notification", notified)
	stop()
}
