package registration_test

import (
	"testing"
	"time"

	machine "github.com/fsmgen/fsmgen/generated/registration"
)

const happy = "create unregistered, REGISTER validating, VALIDATION_PASSED registering_postgres, POSTGRES_SUCCEEDED postgres_registered, " +
	"CONTINUE registering_consul, CONSUL_SUCCEEDED registered"

// TestRegister is the way without a fault, with the checkpoint in the history in
// both execution modes.
func TestRegister(t *testing.T) {
	t.Parallel()
	for name, twoStep := range map[string]bool{"single-step": false, "two-step": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scenarios(t, func(t *testing.T, s *fixture) {
				s.options.TwoStep = twoStep
				s.works().registers("n1")
				status := s.await("n1", machine.Registered)
				s.wantTrace("n1", happy)
				s.wantBoth("n1", true, true)
				if !status.PostgresApplied || !status.ConsulApplied || status.Daemon != "daemon-1" || status.RetryCount != 0 {
					t.Errorf("got %+v", status)
				}
				if got := s.advertised()[0]; got.ID != "svc-n1"+s.suffix || got.NodeID != "n1" || got.CorrelationID != status.CorrelationID || len(got.Tags) != 2 {
					t.Errorf("Consul has %+v", got)
				}
			})
		})
	}
}

// TestScenario1PostgresFailsFirst: document 001, Recovery Flows.
func TestScenario1PostgresFailsFirst(t *testing.T) {
	t.Parallel()
	overPostgres(t, func(t *testing.T, s *fixture) {
		s.works()
		s.database.Refuse()
		s.registers("n1")
		status := s.reach("n1", machine.Failed, quick)
		if status.PostgresError.V == "" || len(s.advertised()) != 0 {
			t.Errorf("%+v, and Consul has %v", status, s.advertised())
		}
		if n, ok := s.counted(1, "registration_postgres_failure", "error_type", "unavailable", "node_id", "n1"); !ok {
			t.Errorf("%v failures counted", n)
		}
		s.wantTrace("n1", "create unregistered, REGISTER validating, VALIDATION_PASSED registering_postgres, POSTGRES_FAILED failed")
		s.database.Restore()
		s.fires("n1", machine.Retry{})
		s.reach("n1", machine.Registered, quick)
		s.wantBoth("n1", true, true)
	})
}

// TestScenario2ConsulFailsAfterPostgres: document 001, Recovery Flows. The retry
// is of Consul alone.
func TestScenario2ConsulFailsAfterPostgres(t *testing.T) {
	t.Parallel()
	scenarios(t, func(t *testing.T, s *fixture) {
		s.works().consul.Refuse()
		s.registers("n1")
		status := s.reach("n1", machine.PartialRegistered, quick)
		if !status.PostgresApplied || status.ConsulApplied || status.ConsulError.V == "" || status.FailedComponent.V != machine.ComponentConsul {
			t.Errorf("got %+v", status)
		}
		s.wantBoth("n1", true, false)
		s.consul.Restore()
		s.fires("n1", machine.Retry{})
		s.reach("n1", machine.Registered, quick)
		s.wantBoth("n1", true, true)
		s.wantTrace("n1", "create unregistered, REGISTER validating, VALIDATION_PASSED registering_postgres, POSTGRES_SUCCEEDED postgres_registered, "+
			"CONTINUE registering_consul, CONSUL_FAILED partial_registered, RETRY registering_consul, CONSUL_SUCCEEDED registered")
	})
}

// TestScenario3GracefulShutdown: document 001, Recovery Flows.
func TestScenario3GracefulShutdown(t *testing.T) {
	t.Parallel()
	scenarios(t, func(t *testing.T, s *fixture) {
		s.works().live("n1")
		s.fires("n1", machine.Deregister{})
		status := s.await("n1", machine.Deregistered)
		if status.ConsulCleanup != machine.CleanupRemoved || status.PostgresCleanup != machine.CleanupRemoved {
			t.Errorf("got %+v", status)
		}
		s.wantBoth("n1", false, false)
		if !s.counts(1, "deregistration_complete", "node_id", "n1") {
			t.Error("deregistration_complete was not counted")
		}
	})
}

// TestScenario4ValidationFailure: document 001, Recovery Flows.
func TestScenario4ValidationFailure(t *testing.T) {
	t.Parallel()
	scenarios(t, func(t *testing.T, s *fixture) {
		wrong := s.payload("n1")
		wrong["consul_service_name"] = "not a name"
		s.works().registersWith("n1", wrong)
		status := s.await("n1", machine.Failed)
		if status.ValidationErrorType.V != machine.ValidationErrorTypeInvalid || status.ValidationError.V == "" {
			t.Errorf("got %+v", status)
		}
		s.wantBoth("n1", false, false)
		if _, err := s.server.Correct(t.Context(), "n1", encoded(t, s.payload("n1")), call("")); err != nil {
			t.Fatal(err)
		}
		s.fires("n1", machine.Retry{})
		s.await("n1", machine.Registered)
		s.wantBoth("n1", true, true)
	})
}

// TestScenario5RetryExhaustion: document 001, Recovery Flows. Three retries are
// carried out; the fourth ends in failed.
func TestScenario5RetryExhaustion(t *testing.T) {
	t.Parallel()
	scenarios(t, func(t *testing.T, s *fixture) {
		s.works().consul.Refuse()
		s.registers("n1")
		for range 3 {
			s.reach("n1", machine.PartialRegistered, quick)
			s.fires("n1", machine.Retry{})
		}
		s.reach("n1", machine.PartialRegistered, quick)
		a, err := s.server.Trigger(t.Context(), "n1", machine.Retry{}, call("k"))
		wantExhausted(t, a, err)
		again, err := s.server.Trigger(t.Context(), "n1", machine.Retry{}, call("k"))
		wantExhausted(t, again, err)
		if !s.counts(1, "registration_retry_exhausted_total", "last_state", "partial_registered") {
			t.Error("registration_retry_exhausted_total was not counted once")
		}
		s.fires("n1", machine.Abandon{})
		if status := s.status("n1"); status.State != machine.Deregistered || status.RetryCount != 3 {
			t.Errorf("got %+v", status)
		}
	})
}

// TestScenario7TimeoutRecovery: document 001, Recovery Flows. Consul does not
// answer, the state times out, a retry goes on.
func TestScenario7TimeoutRecovery(t *testing.T) {
	t.Parallel()
	scenarios(t, func(t *testing.T, s *fixture) {
		s.options.AttemptTimeout = time.Hour // the state is first
		arrived, release := s.works().consul.HoldNext("request")
		defer release()
		s.registers("n1")
		<-arrived
		s.clock.advance(11 * time.Second)
		status := s.await("n1", machine.PartialRegistered)
		if status.ConsulError.V != "timeout" {
			t.Errorf("got %+v", status)
		}
		if !s.counts(1, "registration_state_timeout_total", "state", "registering_consul", "trigger_emitted", "CONSUL_FAILED") {
			t.Error("the timeout was not counted")
		}
		release()
		s.fires("n1", machine.Retry{})
		s.await("n1", machine.Registered)
		s.wantBoth("n1", true, true)
	})
}
