package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// telling is a store with a clock of its own.
type telling struct {
	*faulty
	time func() (time.Time, error)
}

func (s telling) Time(context.Context) (time.Time, error) { return s.time() }

// TestTheClockOfTheStoreDecides: of an engine whose machine is an hour ahead of the
// database, what it stores is due by the database's clock.
func TestTheClockOfTheStoreDecides(t *testing.T) {
	s := newStage(t)
	var offsets []float64
	s.config.Clock = nil
	s.config.Metrics = func(m engine.Metric) {
		if m.Name == engine.MetricClockOffset {
			offsets = append(offsets, m.Value)
		}
	}
	away := errors.New("no route to host")
	answers := []func() (time.Time, error){
		func() (time.Time, error) { return time.Time{}, store.Failed("time", away) }, // there is no time to go by
		func() (time.Time, error) { return time.Now().Add(-time.Hour), nil },
	}
	db := telling{&faulty{Store: s.store}, func() (time.Time, error) {
		answer := answers[0]
		answers = answers[1:] // a third question within a minute is a mistake
		return answer()
	}}
	var err error
	if s.engine, err = engine.New(db, s.config, s.machines()...); err != nil {
		t.Fatal(err)
	}
	_, err = s.engine.Create(t.Context(), "deal", fullID("0"), deal.Create{OwnerID: 2, PriceNano: 100}, advertiser)
	if !errors.Is(err, engine.ErrStore) || !errors.Is(err, away) {
		t.Errorf("without the store's time: %v", err)
	}
	for n, want := range []time.Duration{-time.Hour, -time.Hour} {
		o, err := s.engine.Create(t.Context(), "deal", fullID(string(rune('1'+n))), deal.Create{OwnerID: 2, PriceNano: 100}, advertiser)
		if err != nil {
			t.Fatal(err)
		}
		steps, err := s.engine.History(t.Context(), "deal", o.ID, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if off := time.Until(steps[0].At) - want; off.Abs() > 10*time.Minute {
			t.Errorf("creation %d is off by %v", n+1, off)
		}
	}
	if len(offsets) != 1 || offsets[0] > -3599 || offsets[0] < -3601 {
		t.Errorf("measured %v", offsets)
	}
	if seen := s.flush(); strings.Count(seen, "differs from that of the database") != 1 {
		t.Errorf("seen:\n%s", seen)
	}
}

// TestAnOperatorGoesByTheClockOfTheStore: an engine that has done nothing else asks for the
// time before it gives a message up or pauses something.
func TestAnOperatorGoesByTheClockOfTheStore(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.offered("1")
	message := s.texts("SELECT message_id FROM fsm_outbox")[0]
	s.config.Clock = nil
	for name, act := range map[string]func(*engine.Engine[*sql.Tx]) (time.Time, error){
		"Cancel": func(e *engine.Engine[*sql.Tx]) (time.Time, error) {
			if err := e.Cancel(t.Context(), message, "ann", "no longer wanted"); err != nil {
				return time.Time{}, err
			}
			return time.Parse(time.RFC3339, s.texts("SELECT discarded_at FROM fsm_outbox WHERE discarded_at IS NOT NULL")[0])
		},
		"Pause": func(e *engine.Engine[*sql.Tx]) (time.Time, error) {
			if err := e.Pause(t.Context(), engine.Scope{Machine: "deal"}, "ann", "the bank is away"); err != nil {
				return time.Time{}, err
			}
			list, err := e.Pauses(t.Context())
			if err != nil {
				return time.Time{}, err
			}
			return list[0].At, nil
		},
	} {
		away := errors.New("no route to host")
		tell := func() (time.Time, error) { return time.Time{}, store.Failed("time", away) }
		e, err := engine.New(telling{&faulty{Store: s.store}, func() (time.Time, error) { return tell() }}, s.config, s.machines()...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := act(e); !errors.Is(err, away) {
			t.Errorf("%s without the store's time: %v", name, err)
		}
		tell = func() (time.Time, error) { return time.Now().Add(-time.Hour), nil }
		at, err := act(e)
		if off := time.Until(at) + time.Hour; err != nil || off.Abs() > 10*time.Minute {
			t.Errorf("%s is off by %v, %v", name, off, err)
		}
	}
}
