package registration_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	machine "github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/services/registration"
)

// passage is the way of one request to advertise: it waits before Consul until it
// is free, and its answer may get lost.
type passage struct {
	arrived, free chan struct{}
	lost          bool
}

// gate is a Consul whose next request to advertise can be held.
type gate struct {
	registration.Discovery
	next atomic.Pointer[passage]
}

// gated puts a gate before Consul. The fixture must not be open yet.
func (s *fixture) gated() *gate {
	g := &gate{Discovery: s.options.Discovery}
	s.options.Discovery = g
	return g
}

func (g *gate) hold(t *testing.T, lost bool) *passage {
	t.Helper()
	p := &passage{arrived: make(chan struct{}), free: make(chan struct{}), lost: lost}
	g.next.Store(p)
	return p
}

func (g *gate) Register(ctx context.Context, service registration.Service) error {
	p := g.next.Swap(nil)
	if p == nil {
		return g.Discovery.Register(ctx, service)
	}
	close(p.arrived)
	select {
	case <-p.free:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	err := g.Discovery.Register(ctx, service)
	if err == nil && p.lost {
		err = registration.ErrUnreachable
	}
	return err
}

// TestLeavesWhileHeartbeatAdvertises: a node is deregistered while a heartbeat
// brings back a service that Consul has lost. The row is there for as long as Consul
// may be asked, and nothing is left, whether or not the heartbeat hears of it.
func TestLeavesWhileHeartbeatAdvertises(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"answered": false, "answer lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everywhere(t, func(t *testing.T, s *fixture) {
				g := s.gated()
				s.works().live("n1")
				leavesDuringHeartbeat(s, s.server, g.hold(t, lost))
			})
			t.Run("two daemons", func(t *testing.T) {
				t.Parallel()
				s := newFixture(t)
				s.watched()
				g := s.gated()
				s.works().live("n1")
				s.stop()
				s.open() // daemon-1, which does not work
				beats := s.server
				t.Cleanup(s.stop)
				s.options.Name = "daemon-2"
				s.works()
				leavesDuringHeartbeat(s, beats, g.hold(t, lost))
			})
		})
	}
}

// leavesDuringHeartbeat deregisters n1 while the heartbeat of a daemon advertises
// it again.
func leavesDuringHeartbeat(s *fixture, beats *registration.Server, p *passage) {
	s.t.Helper()
	id := s.status("n1").RegistrationID.String()
	if err := s.client.Deregister(s.t.Context(), "svc-n1", id); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := beats.Heartbeat(s.t.Context())
		ended <- err
	}()
	awaitsFault(s, p.arrived)
	s.fires("n1", machine.Deregister{})
	s.awaits("n1", 0, func(r registration.Status) bool { return r.ConsulCleanup == machine.CleanupRemoved })
	const looks, pause = 100, 3 * time.Millisecond // a row that is not held is long gone by then
	for range looks {
		if s.owner("n1") != id {
			s.t.Fatal("the row has gone, and Consul is about to advertise its node")
		}
		lasts(s.t.Context(), pause)
	}
	close(p.free)
	if err := <-ended; (err != nil) != p.lost {
		s.t.Errorf("the heartbeat ended with %v", err)
	}
	s.await("n1", machine.Deregistered)
	s.wantBoth("n1", false, false)
}

// TestHold: a row that is held can be written, also by a later registration, and
// neither deleted nor collected. There is nothing to hold where the row is not that
// of the registration.
func TestHold(t *testing.T) {
	t.Parallel()
	s := newFixture(t).open()
	r := s.options.Registry
	const one, two = "00000000-0000-7000-8000-000000000001", "00000000-0000-7000-8000-000000000002"
	row, later := rowOf("n1", one), rowOf("n1", two)
	if err := r.Upsert(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	mine := errors.New("what the caller found")
	err := r.Hold(t.Context(), row.Key, func() error {
		const short = 100 * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), short)
		defer cancel()
		if err := r.Delete(ctx, row.Key); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("deleted: %v", err)
		}
		s.clock.advance(time.Hour)
		stale := []registration.Stale{{Key: row.Key}}
		if gone, err := r.Collect(t.Context(), stale, s.clock.Now()); err != nil || len(gone) != 0 {
			t.Errorf("collected %v, %v", gone, err)
		}
		if err := errors.Join(r.Heartbeat(t.Context(), []registration.Key{row.Key}), r.Upsert(t.Context(), later)); err != nil {
			t.Errorf("not written: %v", err)
		}
		return mine
	})
	if !errors.Is(err, mine) || errors.Is(err, registration.ErrServer) || s.owner("n1") != two {
		t.Errorf("got %v, and %q has the row", err, s.owner("n1"))
	}
	err = r.Hold(t.Context(), row.Key, func() error { t.Error("held"); return nil })
	if !errors.Is(err, registration.ErrNotRegistered) {
		t.Errorf("got %v", err)
	}
}
