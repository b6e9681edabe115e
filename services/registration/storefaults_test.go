package registration_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	machine "github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/fsmgen/fsmgen/internal/proxytest"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/registration"
)

// remote puts the records behind a proxy too, with the registry in the tables
// beside them: all that the daemon says to PostgreSQL. The clock is the real one.
func (s *fixture) remote() *proxytest.Proxy {
	s.t.Helper()
	dsn, err := url.Parse(s.options.Store)
	if err != nil {
		s.t.Fatal(err)
	}
	dsn.Host = s.database.Address()
	query := dsn.Query()
	query.Del("host")
	query.Del("port")
	dsn.RawQuery = query.Encode()
	s.options.Store, s.options.Registry, s.options.Clock = dsn.String(), nil, nil
	s.options.Collect.SettleFor = time.Millisecond
	s.options.Engine = func(c *engine.Config) { c.Lease, c.PollInterval = 2*time.Second, 20*time.Millisecond }
	return s.database
}

// TestFaultsOfTheStore: faults on the way to all that a daemon remembers, again
// and again while a node is registered and while it is deregistered. A client
// that repeats with its key is heard once, and what was under way goes on.
func TestFaultsOfTheStore(t *testing.T) {
	t.Parallel()
	for _, x := range faults {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			s.watched()
			p := s.remote()
			s.works().live("warm")

			calm := repeatsFault(s, p, x)
			repeats(s, func(ctx context.Context) error {
				_, err := s.server.Register(ctx, "n1", encoded(t, s.payload("n1")), call("register"))
				return err
			})
			calm()
			recovers(s, "n1")
			s.tellsTheTruth(s.rests("n1"))
			retriesUntilRegistered(s, "n1")

			calm = repeatsFault(s, p, x)
			repeats(s, func(ctx context.Context) error {
				_, err := s.server.Trigger(ctx, "n1", machine.Deregister{}, call("deregister"))
				return err
			})
			calm()
			recovers(s, "n1")
			s.tellsTheTruth(s.awaits("n1", 0, func(r registration.Status) bool { return r.State == machine.Deregistered }))
			trace := s.trace("n1")
			if strings.Count(trace, "REGISTER validating") != 1 || strings.Count(trace, "DEREGISTER deregistering") != 1 {
				t.Errorf("not each trigger was heard once: %s", trace)
			}
			collectsUntilGone(s, "n1")
			s.wantBoth("n1", false, false)
			s.wantBoth("warm", true, true)
		})
	}
}

// collectsUntilGone collects until a node has no row. The record was ended by the clock of the
// database, as the engine read it through the faults: it can be ahead of the server's, and what
// has not settled is left alone.
func collectsUntilGone(s *fixture, node string) {
	s.t.Helper()
	const rounds, pause = 1000, 10 * time.Millisecond
	for range rounds {
		if s.collects(); s.owner(node) == "" {
			return
		}
		lasts(s.t.Context(), pause)
	}
}

// repeatsFault injects a fault again and again until calm is called, which mends the last
// one and ends what hangs, as a kernel does in the end.
func repeatsFault(s *fixture, p *proxytest.Proxy, x fault) (calm func()) {
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// A worker waits twice as long after each failure in a row.
		const times, bad, good = 4, 80 * time.Millisecond, 40 * time.Millisecond
		for range times {
			for p.Connections() == 0 && ctx.Err() == nil {
				lasts(ctx, time.Millisecond)
			}
			mend := x.inject(s, p)
			lasts(ctx, bad)
			mend()
			p.BreakAll()
			lasts(ctx, good)
		}
	}()
	return func() { <-ended; cancel() }
}

// repeats is a client that may not have got its answer: it calls until the call
// is accepted, and then once more, which its key allows.
func repeats(s *fixture, ask func(context.Context) error) {
	s.t.Helper()
	callsUntilAccepted(s, ask)
	callsUntilAccepted(s, ask)
}

// callsUntilAccepted calls until the call is accepted.
func callsUntilAccepted(s *fixture, ask func(context.Context) error) {
	s.t.Helper()
	const first, most = 300 * time.Millisecond, time.Minute
	w := progress.Watch{}
	for timeout := first; ; timeout = min(2*timeout, most) { // a slow machine needs more
		ctx, cancel := context.WithTimeout(s.t.Context(), timeout)
		err := ask(ctx)
		cancel()
		var refused *fsm.Rejection
		switch {
		case err == nil:
			return
		case errors.As(err, &refused):
			s.t.Fatalf("a repetition was refused: %v", err)
		}
		if stuck := w.Pause(s.t.Context(), nil); stuck != nil {
			s.t.Fatalf("never accepted: %v: %v\n%s", stuck, err, s.logs.text())
		}
	}
}

// recovers waits until the daemon can be asked again.
func recovers(s *fixture, node string) registration.Status {
	s.t.Helper()
	var status registration.Status
	callsUntilAccepted(s, func(ctx context.Context) (err error) {
		status, err = s.server.Recorded(ctx, node)
		return err
	})
	return status
}

// TestValidationAsksAgain: the question whose a service id is meets a database
// that is away for a moment, which is no fatal error.
func TestValidationAsksAgain(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	p := s.remote()
	asked := s.blockAt(engine.OpHandle, "validate_payload")
	s.options.Apart = true
	s.works().registers("n1")
	<-asked.reached
	p.Refuse()
	asked.release()
	progress.Until(t, "a question that fails", func() (any, bool) {
		return nil, strings.Contains(s.logs.text(), `"effect":"validate_payload","attempt":1,"error"`)
	})
	p.Restore()
	recovers(s, "n1")
	s.await("n1", machine.Registered)
	s.wantTrace("n1", happy)
}
