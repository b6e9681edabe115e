package registration_test

import (
	"errors"
	"testing"
	"time"

	machine "github.com/fsmgen/fsmgen/generated/registration"
)

// TestLeave: this daemon's nodes are deregistered, those of others stay.
func TestLeave(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, s *fixture) {
		s.options.Name = "other"
		s.works().live("stays")
		s.options.Name = "daemon-1"
		s.restarts()
		nodes := []string{"a", "b", "c"}
		for _, node := range nodes {
			s.registers(node)
		}
		left, err := s.server.Leave(t.Context())
		if err != nil || len(left) != 0 {
			t.Errorf("%v are left, %v", left, err)
		}
		for _, node := range nodes {
			s.wantBoth(node, false, false)
		}
		s.wantBoth("stays", true, true)
	})
}

// TestLeaveDespiteConsul: a Consul that does not answer ends no later than the
// timeout of the state.
func TestLeaveDespiteConsul(t *testing.T) {
	t.Parallel()
	s := newFixture(t).works()
	s.live("n1")
	s.consul.Swallow(true)
	ended := make(chan error, 1)
	go func() {
		left, err := s.server.Leave(t.Context())
		if len(left) > 0 {
			err = errors.New(left[0] + " is left")
		}
		ended <- err
	}()
	s.await("n1", machine.Deregistering)
	s.clock.advance(15 * time.Second)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if status := s.status("n1"); status.State != machine.Deregistered || status.ConsulCleanup != machine.CleanupPending {
		t.Errorf("got %+v", status)
	}
}
