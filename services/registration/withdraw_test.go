package registration_test

import (
	"testing"
	"time"

	machine "github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/internal/proxytest"
	"github.com/fsmgen/fsmgen/services/registration"
)

// TestRowVanishesWhileConsulIsAsked: the database has its record before the node
// is discoverable; a row that goes meanwhile takes the service with it.
func TestRowVanishesWhileConsulIsAsked(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.options.AttemptTimeout = time.Hour
	arrived, release := s.works().consul.HoldNext(proxytest.Answer)
	s.registers("n1")
	<-arrived
	s.sql("DELETE FROM " + s.options.Schema + ".node_registrations")
	release()
	status := s.await("n1", machine.PartialRegistered)
	if status.ConsulApplied || len(s.advertised()) != 0 {
		t.Errorf("%+v, and Consul has %v", status, s.advertised())
	}
	if !s.counts(1, "registration_consul_error_total", "consul_error_type", "constraint_violation") {
		t.Error("the failure was not counted")
	}
}

// TestLostNodeIsWithdrawn: F-001-13. PostgreSQL fails in a re-registration while
// Consul advertises the node.
func TestLostNodeIsWithdrawn(t *testing.T) {
	t.Parallel()
	s := newFixture(t).works()
	s.live("n1")
	s.breaks("n1")
	s.wantBoth("n1", true, true)
	s.database.Refuse()
	s.fires("n1", machine.Retry{})
	s.reach("n1", machine.Failed, quick)
	s.awaits("n1", 0, func(registration.Status) bool { return s.gone() })
}

// TestWithdrawalIsNotGivenUp: a withdrawal that failed until it became a dead
// letter is tried again by the collectors.
func TestWithdrawalIsNotGivenUp(t *testing.T) {
	t.Parallel()
	s := newFixture(t).works()
	s.live("n1")
	s.breaks("n1")
	s.database.Refuse()
	s.consul.Refuse()
	s.fires("n1", machine.Retry{})
	s.awaits("n1", quick, func(registration.Status) bool {
		return s.metrics.count("fsm_effect_attempts_total", "effect", "consul.withdraw", "outcome", "dead_letter") == 1
	})
	s.consul.Restore()
	s.database.Restore()
	if s.gone() {
		t.Fatal("nothing is left to be withdrawn")
	}
	s.collects()
	s.awaits("n1", 0, func(registration.Status) bool { return s.gone() })
	s.wantBoth("n1", true, false)
}
