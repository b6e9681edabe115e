package registration_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	machine "github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/internal/proxytest"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/services/registration"
)

// echo is a registry to which each request that writes arrives twice at once,
// and which can hear all of them once more later. A network does so with what is
// sent again because an answer was lost.
type echo struct {
	registration.Registry

	mu    sync.Mutex
	heard []func(context.Context) error
}

func (e *echo) twice(ctx context.Context, request func(context.Context) error) error {
	e.mu.Lock()
	e.heard = append(e.heard, request)
	e.mu.Unlock()
	first := request(ctx)
	return errors.Join(first, request(ctx))
}

func (e *echo) Upsert(ctx context.Context, row registration.Row) error {
	return e.twice(ctx, func(ctx context.Context) error { return e.Registry.Upsert(ctx, row) })
}

func (e *echo) Heartbeat(ctx context.Context, of []registration.Key) error {
	return e.twice(ctx, func(ctx context.Context) error { return e.Registry.Heartbeat(ctx, of) })
}

func (e *echo) Delete(ctx context.Context, of registration.Key) error {
	return e.twice(ctx, func(ctx context.Context) error { return e.Registry.Delete(ctx, of) })
}

// replay has everything that was heard before arrive once more. A registration
// that has ended is told so; the answer goes nowhere.
func (e *echo) replay(t *testing.T, heard []func(context.Context) error) {
	t.Helper()
	for _, request := range heard {
		if err := request(t.Context()); err != nil && !errors.Is(err, registration.ErrSuperseded) {
			t.Error(err)
		}
	}
}

// TestDatabaseHearsTwice: what a registration says to PostgreSQL arrives twice, and leads
// to what it leads to when it arrives once. Arriving again when that registration has
// ended, or in the next one, it changes nothing.
func TestDatabaseHearsTwice(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	e := &echo{Registry: s.options.Registry}
	s.options.Registry = e
	s.works()
	live := func() {
		s.live("n1")
		if _, err := s.server.Heartbeat(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.wantBoth("n1", true, true)
	}
	live()
	s.wantTrace("n1", happy)
	s.leaves("n1")
	s.wantBoth("n1", false, false)
	first := slices.Clone(e.heard)
	const upsert, heartbeats, remove = 1, 1, 1
	if len(first) < upsert+heartbeats+remove {
		t.Fatalf("only %d requests were heard", len(first))
	}
	e.replay(t, first)
	if row := s.rowText("n1"); row != "" {
		t.Errorf("the ended registration has written %s", row)
	}
	live()
	row := s.rowText("n1")
	s.clock.advance(time.Second) // a heartbeat would show
	e.replay(t, first)
	if now := s.rowText("n1"); now != row {
		t.Errorf("the first registration has made %s of %s", now, row)
	}
	s.wantBoth("n1", true, true)
}

// answered counts the handlers of an effect that have come to an end.
type answered struct {
	effect string
	mu     sync.Mutex
	count  int
}

func (a *answered) trace(ctx context.Context, op engine.Operation) (context.Context, func(error)) {
	return ctx, func(error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if op.Kind == engine.OpHandle && op.Name == a.effect {
			a.count++
		}
	}
}

func (a *answered) times() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.count
}

// TestLateAnswerOfAnEarlierRegistration: the answer that the first registration of a node waited
// for arrives in the second: neither is moved by it.
func TestLateAnswerOfAnEarlierRegistration(t *testing.T) {
	t.Parallel()
	for way, tt := range map[string]struct {
		effect string
		ends   func(s *fixture)
	}{
		"database": {"postgres.upsert_registration", func(s *fixture) {
			s.await("n1", machine.Failed)
			s.fires("n1", machine.Abandon{})
		}},
		"consul": {"consul.register", func(s *fixture) {
			s.await("n1", machine.PartialRegistered)
			if err := s.server.Reconcile(t.Context()); err != nil {
				t.Fatal(err)
			}
			// The handler still waits, and what follows in its record after it: the
			// registration ends without a deregistration.
			s.breaks("n1")
			s.fires("n1", machine.Abandon{})
		}},
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			s.watched()
			s.options.AttemptTimeout = time.Hour
			a := &answered{effect: tt.effect}
			s.options.Trace = a.trace
			p := s.consul
			if way == "database" {
				p = s.database
			}
			s.works().live("warm") // opens connections
			if way == "consul" {
				p.PassNext(proxytest.Answer)
			}
			arrived, release := p.HoldNext(proxytest.Answer)
			defer release()
			s.registers("n1")
			awaitsFault(s, arrived)
			s.clock.advance(11 * time.Second)
			tt.ends(s)
			first := s.status("n1")
			s.registers("n1")
			second := s.await("n1", machine.Registered)
			handled := a.times()
			release()
			s.awaits("n1", 0, func(registration.Status) bool { return a.times() > handled })
			for _, was := range []registration.Status{first, second} {
				if now := s.versionOf(was.RegistrationID); now != was.Version {
					t.Errorf("the registration %s has moved from version %d to %d", was.RegistrationID, was.Version, now)
				}
			}
			s.wantBoth("n1", true, true)
		})
	}
}
