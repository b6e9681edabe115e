package registration_test

import (
	"errors"
	"testing"
	"time"

	machine "github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/services/registration"
)

// TestHeartbeat: a node of this daemon stays fresh in the database and healthy in
// Consul, over a restart too; that of another daemon is none of its business.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, s *fixture) {
		mine := payload("mine")
		mine["consul_health_check"] = map[string]any{"ttl": "9s"}
		s.works().registersWith("mine", mine)
		s.await("mine", machine.Registered)
		s.options.Name = "daemon-2"
		s.restarts().registers("other")
		s.await("other", machine.Registered)
		s.options.Name = "daemon-1"
		s.restarts()
		for range 50 { // more than an hour
			s.clock.advance(80 * time.Second)
			next, err := s.server.Heartbeat(t.Context())
			if err != nil || next != 3*time.Second {
				t.Fatalf("the next in %s, %v", next, err)
			}
		}
		health := map[string]registration.Health{}
		for _, i := range s.advertised() {
			health[i.NodeID] = i.Health
		}
		if health["mine"] != registration.Passing || health["other"] != registration.Critical {
			t.Errorf("Consul says %v", health)
		}
		if c := s.collects(); len(c.Deregistered) != 1 || c.Deregistered[0] != "other" {
			t.Errorf("collected %+v", c)
		}
		s.wantBoth("mine", true, true)
	})
}

// TestConsulLosesAService: the row is the truth, so the service comes back; where
// there is no row, it does not.
func TestConsulLosesAService(t *testing.T) {
	t.Parallel()
	s := newFixture(t).works()
	s.live("n1")
	if err := s.raw().Agent().ServiceDeregister("svc-n1"); err != nil {
		t.Fatal(err)
	}
	s.wantBoth("n1", true, false)
	if _, err := s.server.Heartbeat(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.wantBoth("n1", true, true)
	if err := s.raw().Agent().ServiceDeregister("svc-n1"); err != nil {
		t.Fatal(err)
	}
	s.sql("DELETE FROM " + s.options.Schema + ".node_registrations")
	if _, err := s.server.Heartbeat(t.Context()); !errors.Is(err, registration.ErrNotRegistered) {
		t.Errorf("got %v", err)
	}
	s.wantBoth("n1", false, false)
}
