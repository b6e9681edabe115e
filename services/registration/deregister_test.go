package registration_test

import (
	"testing"
	"time"

	machine "github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/internal/proxytest"
	"github.com/fsmgen/fsmgen/services/registration"
)

// TestDeregistrationFailureTable plays the rows of document 001, Deregistration
// Failure Handling, Failure Scenarios. In the second row the document lets the
// row go while Consul may still advertise the node; service discovery only
// advertises tracked nodes, so it stays (F-001-14). Whatever is left, the
// collectors find it.
func TestDeregistrationFailureTable(t *testing.T) {
	t.Parallel()
	const removed, pending, failed = machine.CleanupRemoved, machine.CleanupPending, machine.CleanupFailed
	for name, tt := range map[string]struct {
		fault            func(s *fixture)
		times            bool // out
		consul, postgres machine.Cleanup
		row, service     bool // left
		metric           []string
	}{
		"both succeed": {
			fault: func(*fixture) {}, consul: removed, postgres: removed,
			metric: []string{"deregistration_complete"},
		},
		"Consul times out": {
			fault: func(s *fixture) { s.consul.Swallow(true) }, times: true, consul: pending, postgres: pending, row: true, service: true,
			metric: []string{"deregistration_consul_timeout_total"},
		},
		"PostgreSQL times out": {
			fault: func(s *fixture) { s.database.Swallow(true) }, times: true, consul: removed, postgres: pending, row: true,
			metric: []string{"deregistration_postgres_timeout_total", "deregistration_partial_cleanup_total"},
		},
		"both time out": {
			fault: func(s *fixture) { s.database.Swallow(true); s.consul.Swallow(true) }, times: true, consul: pending, postgres: pending, row: true, service: true,
			metric: []string{"deregistration_consul_timeout_total", "deregistration_postgres_timeout_total"},
		},
		"network partition: nothing arrives": {
			fault: func(s *fixture) { s.database.Refuse(); s.consul.Refuse() }, consul: failed, postgres: failed, row: true, service: true,
			metric: []string{"deregistration_consul_failure_total", "deregistration_postgres_failure_total"},
		},
		"network partition: the answer of Consul is lost": {
			fault: func(s *fixture) { dropSecondAnswer(s) }, times: true, consul: pending, postgres: pending, row: true,
			metric: []string{"deregistration_consul_timeout_total"},
		},
		"PostgreSQL refuses": {
			fault: func(s *fixture) { s.database.Refuse() }, consul: removed, postgres: failed, row: true,
			metric: []string{"deregistration_postgres_failure_total", "deregistration_partial_cleanup_total"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			overPostgres(t, func(t *testing.T, s *fixture) {
				s.works().live("n1")
				tt.fault(s)
				s.fires("n1", machine.Deregister{})
				var status registration.Status
				if tt.times {
					s.awaits("n1", 0, func(now registration.Status) bool {
						return now.ConsulCleanup == tt.consul && (!tt.row || tt.service || s.gone())
					})
					s.clock.advance(16 * time.Second)
				}
				status = s.await("n1", machine.Deregistered)
				if status.ConsulCleanup != tt.consul || status.PostgresCleanup != tt.postgres {
					t.Errorf("the cleanups are %s and %s, want %s and %s", status.ConsulCleanup, status.PostgresCleanup, tt.consul, tt.postgres)
				}
				for _, name := range tt.metric {
					if !s.counts(1, name, "node_id", "n1", "environment", "production") {
						t.Errorf("%s was not counted once", name)
					}
				}
				s.wantBoth("n1", tt.row, tt.service)
				s.mended()
				collectsAll(s, "n1")
			})
		})
	}
}

// dropSecondAnswer lets Consul do what the daemon never hears of: the answer to
// the deregistration, which follows a look at the service, is held back.
func dropSecondAnswer(s *fixture) {
	arrived, release := s.consul.HoldNext(proxytest.Answer)
	go func() {
		<-arrived
		s.consul.HoldNext(proxytest.Answer)
		release()
	}()
}

// collectsAll lets the collectors run once the registration has settled: nothing
// of it may be left.
func collectsAll(s *fixture, node string) {
	s.t.Helper()
	s.clock.advance(2 * time.Minute)
	if _, err := s.server.GC(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.wantBoth(node, false, false)
}
