package registration_test

import (
	"testing"
	"time"

	machine "github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/internal/proxytest"
)

// TestReconcile: document 001, Recovery Terminology, Partial Recovery. The answer
// of Consul came too late; the service is there.
func TestReconcile(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, s *fixture) {
		s.options.AttemptTimeout = time.Hour
		arrived, release := s.works().consul.HoldNext(proxytest.Answer)
		defer release()
		s.registers("n1")
		<-arrived
		s.clock.advance(11 * time.Second)
		s.await("n1", machine.PartialRegistered)
		if err := s.server.Reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
		status := s.await("n1", machine.Registered)
		if !status.PostgresApplied || !status.ConsulApplied || status.ConsulError.IsSet {
			t.Errorf("got %+v", status)
		}
		s.wantBoth("n1", true, true)
		if !s.counts(1, "registration_recovery_success", "recovered_component", "consul") {
			t.Error("registration_recovery_success was not counted once")
		}
	})
}

// TestReconcileLeavesTheRest: without the service, or without the row, a partial
// registration is not complete.
func TestReconcileLeavesTheRest(t *testing.T) {
	t.Parallel()
	s := newFixture(t).works()
	s.consul.Refuse()
	s.registers("n1")
	status := s.reach("n1", machine.PartialRegistered, quick)
	s.consul.Restore()
	if err := s.server.Reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	late := serviceOf("n1", status.RegistrationID.String())
	if err := s.client.Register(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	s.sql("DELETE FROM " + s.options.Schema + ".node_registrations")
	if err := s.server.Reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now := s.status("n1"); now.Version != status.Version {
		t.Errorf("got %+v", now)
	}
}
