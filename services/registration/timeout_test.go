package registration_test

import (
	"testing"
	"time"

	machine "github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/internal/proxytest"
	"github.com/fsmgen/fsmgen/runtime/engine"
)

// TestTimeoutTable plays the rows of document 001, Timeout Trigger Emission: one
// moment before its timeout the state is not left, at its timeout it is.
func TestTimeoutTable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		state   machine.State
		after   time.Duration
		trigger string
		to      machine.State
		hang    func(s *fixture) (reached <-chan struct{})
	}{
		{
			state: machine.Validating, after: 5 * time.Second, trigger: "FATAL_ERROR", to: machine.Failed,
			hang: func(s *fixture) <-chan struct{} { return s.blockAt(engine.OpHandle, "validate_payload").reached },
		},
		{
			state: machine.RegisteringPostgres, after: 10 * time.Second, trigger: "POSTGRES_FAILED", to: machine.Failed,
			hang: func(s *fixture) <-chan struct{} {
				// Not the next request alone: that may be the first of the heartbeats.
				return s.when(engine.OpHandle, "postgres.upsert_registration", func() { s.database.Swallow(true) })
			},
		},
		{
			state: machine.RegisteringConsul, after: 10 * time.Second, trigger: "CONSUL_FAILED", to: machine.PartialRegistered,
			hang: func(s *fixture) <-chan struct{} {
				arrived, release := s.consul.HoldNext(proxytest.Request)
				s.t.Cleanup(release)
				return arrived
			},
		},
		{
			state: machine.Deregistering, after: 15 * time.Second, trigger: "DEREGISTRATION_COMPLETE", to: machine.Deregistered,
			hang: func(s *fixture) <-chan struct{} { return s.blockAt(engine.OpHandle, "consul.deregister").reached },
		},
	} {
		t.Run(tt.state.String(), func(t *testing.T) {
			t.Parallel()
			overPostgres(t, func(t *testing.T, s *fixture) {
				s.options.AttemptTimeout, s.options.Apart = time.Hour, true // the state is first
				reached := tt.hang(s)
				s.works().registers("n1")
				if tt.state == machine.Deregistering {
					s.await("n1", machine.Registered)
					s.fires("n1", machine.Deregister{})
				}
				<-reached
				entered := s.await("n1", tt.state)
				s.clock.advance(tt.after - time.Millisecond)
				const looks = 30 * time.Millisecond // a worker looks every 5 ms
				time.Sleep(looks)
				if now := s.status("n1"); now.Version != entered.Version {
					t.Fatalf("the state was left before its time, for %s", now.State)
				}
				s.clock.advance(time.Millisecond)
				s.await("n1", tt.to)
				if n, ok := s.counted(1, "registration_state_timeout_total", "state", tt.state.String(), "trigger_emitted", tt.trigger); !ok {
					t.Errorf("registration_state_timeout_total is %v", n)
				}
				if n, ok := s.counted(1, "registration_timeout_total", "state", tt.state.String()); !ok {
					t.Errorf("registration_timeout_total is %v", n)
				}
				if n, ok := s.counted(float64(tt.after.Milliseconds()), "registration_state_duration_ms", "state", tt.state.String(), "outcome", "timeout"); !ok {
					t.Errorf("the state lasted %v ms, want %d", n, tt.after.Milliseconds())
				}
			})
		})
	}
}
