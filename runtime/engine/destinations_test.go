package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// destinationOf is where the effects of a deal that is offered go to.
func destinationOf(effect string) string {
	if effect == "deal.events" {
		return "kafka"
	}
	return "owner_notifications"
}

// TestADestinationThatHangsTakesItsShare: the messages for another one are all
// delivered, whether a worker claims them or the transaction that stores them
// reserves them.
func TestADestinationThatHangsTakesItsShare(t *testing.T) {
	const deals = 10
	for _, way := range []string{"claimed", "reserved"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.config.Concurrency = 4
			var hanging atomic.Int64
			delivered, end := make(chan struct{}, 2*deals), make(chan struct{})
			handle := func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
				if destinationOf(d.Effect) == "kafka" {
					delivered <- struct{}{}
					return nil, nil
				}
				if n := hanging.Add(1); n > 2 {
					t.Errorf("%d hands hang", n)
				}
				<-end
				hanging.Add(-1)
				return nil, nil
			}
			s.handle(s.store, handle)
			all := func(n int) {
				t.Helper()
				for range n {
					progress.Receive(t, "what goes elsewhere", delivered)
				}
			}
			var stop func()
			if way == "claimed" {
				for n := range deals {
					s.offered(fmt.Sprint(n + 1))
				}
				stop = s.running()
				all(2 * deals) // an event of each step
			} else {
				stop = s.running()
				for n := range deals {
					s.offerWhenCalm(fmt.Sprint(n+1), func() { all(1) })
				}
			}
			close(end)
			stop()
		})
	}
}

// offerWhenCalm offers a deal once nothing else of it is open, so that a worker of this
// process gets the effects as they are stored.
func (s *stage) offerWhenCalm(alias string, calm func()) {
	s.t.Helper()
	id := fullID(alias)
	if _, err := s.engine.Create(s.t.Context(), "deal", id, deal.Create{OwnerID: 2, PriceNano: 100}, advertiser); err != nil {
		s.t.Fatal(err)
	}
	calm()
	s.settled(id)
	if _, err := s.engine.Fire(s.t.Context(), "deal", id, deal.SubmitOffer{}, advertiser); err != nil {
		s.t.Fatal(err)
	}
	calm()
}

// settled waits until no message of a record is open.
func (s *stage) settled(id string) {
	s.t.Helper()
	db := s.connect()
	defer db.Close()
	progress.Until(s.t, "the messages of "+id, func() (any, bool) {
		var open int
		if err := db.QueryRow("SELECT count(*) FROM fsm_outbox WHERE record_id = ? AND state <> 'delivered'", id).Scan(&open); err != nil {
			s.t.Fatal(err)
		}
		return open, open == 0
	})
}

// TestLimitAtOnce counts the attempts at a destination that run at once.
func TestLimitAtOnce(t *testing.T) {
	t.Parallel()
	const deals = 6
	s := newStage(t)
	s.config.Limits = map[string]engine.Limit{"kafka": {AtOnce: 1}}
	var running atomic.Int64
	var delivered sync.WaitGroup
	delivered.Add(2 * deals)
	s.handle(s.store, func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		if destinationOf(d.Effect) == "kafka" {
			if n := running.Add(1); n > 1 {
				t.Errorf("%d run at once", n)
			}
			running.Add(-1)
			delivered.Done()
		}
		return nil, nil
	})
	stop := s.running()
	for n := range deals {
		s.offered(fmt.Sprint(n + 1))
	}
	all := make(chan struct{})
	go func() {
		delivered.Wait()
		close(all)
	}()
	progress.Receive(t, "the messages", all)
	stop()
}

// TestLimitPerSecond counts what begins as the clock goes on.
func TestLimitPerSecond(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for n := range 5 {
		s.offered(fmt.Sprint(n + 1))
	}
	s.config.Limits = map[string]engine.Limit{"owner_notifications": {PerSecond: 2}}
	var begun []string
	s.handle(s.store, func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		if destinationOf(d.Effect) != "kafka" {
			begun = append(begun, d.Record)
		}
		return nil, nil
	})
	for i, tt := range []struct {
		tick time.Duration
		all  int
	}{{0, 2}, {400 * time.Millisecond, 2}, {100 * time.Millisecond, 3}, {time.Hour, 5}} {
		s.clock.tick(tt.tick)
		if _, err := s.engine.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(begun) != tt.all {
			t.Errorf("after round %d %d have begun, want %d", i+1, len(begun), tt.all)
		}
	}
}

// TestBreaker fails attempts at a destination until one runs at a time, and then lets
// one succeed.
func TestBreaker(t *testing.T) {
	t.Parallel()
	const deals = 20
	s := newStage(t)
	for n := range deals {
		s.offered(fmt.Sprint(n + 1))
	}
	var mu sync.Mutex
	var states []float64
	s.config.Metrics = func(m engine.Metric) {
		if m.Name == engine.MetricBreaker {
			mu.Lock()
			defer mu.Unlock()
			states = append(states, m.Value)
		}
	}
	var begun atomic.Int64
	healthy := make(chan struct{})
	s.handle(s.store, func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		if destinationOf(d.Effect) == "kafka" {
			return nil, nil
		}
		if begun.Add(1) > 12 { // enough have failed
			<-healthy
			return nil, nil
		}
		return nil, errors.New("503")
	})
	measured := func(count int) func() (any, bool) {
		return func() (any, bool) {
			mu.Lock()
			defer mu.Unlock()
			return len(states), len(states) >= count
		}
	}
	stop := s.running()
	progress.Until(t, "the opening of the breaker", measured(1))
	close(healthy)
	progress.Until(t, "a success", measured(2))
	stop()
	if states[0] != 1 || states[1] != 0 {
		t.Errorf("the breaker was %v", states)
	}
	if seen := s.flush(); !strings.Contains(seen, "a destination fails") {
		t.Errorf("seen:\n%s", seen)
	}
}

func TestLimitsOfNoDestination(t *testing.T) {
	s := newStage(t)
	for limits, want := range map[string]map[string]engine.Limit{
		`the destination "kafak"`:      {"kafak": {AtOnce: 1}},
		`"kafka" must not be negative`: {"kafka": {AtOnce: -1}},
	} {
		s.config.Limits = want
		if _, err := engine.New(s.store, s.config, s.machines()...); err == nil || !strings.Contains(err.Error(), limits) {
			t.Errorf("%v: %v", want, err)
		}
	}
}
