package registration_test

import (
	"context"
	"errors"

	machine "github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/registration"
)

// wantTrace compares the way of a node.
func (s *nodes) wantTrace(node, want string) {
	s.t.Helper()
	if got := s.trace(node); got != want {
		s.t.Errorf("node %s went\n%s\nnot\n%s", node, got, want)
	}
}

// wantBoth fails unless exactly these are there for a node: its row and its
// service, both of the registration.
func (s *nodes) wantBoth(node string, row, service bool) {
	s.t.Helper()
	id := s.status(node).RegistrationID.String()
	if got := s.owner(node) == id; got != row {
		s.t.Errorf("the row of node %s is there: %v, want %v", node, got, row)
	}
	got := false
	for _, i := range s.advertised() {
		got = got || i.NodeID == node && i.RegistrationID == id
	}
	if got != service {
		s.t.Errorf("the service of node %s is there: %v, want %v", node, got, service)
	}
}

// tellsTheTruth compares what a record claims with what is there. What it does
// not claim may be there: an answer that never came is no claim.
func (s *nodes) tellsTheTruth(r registration.Status) {
	s.t.Helper()
	row, service := s.owner(r.NodeID) == r.RegistrationID.String(), s.advertises(r)
	switch r.State {
	case machine.Registered:
		if !row || !service {
			s.t.Errorf("registered, and row: %v, service: %v", row, service)
		}
	case machine.PartialRegistered:
		if !row || !r.PostgresApplied || r.ConsulApplied || !r.ConsulError.IsSet {
			s.t.Errorf("row: %v, and partial by %+v", row, r)
		}
	case machine.Failed:
		if !r.PostgresError.IsSet && !r.ConsulError.IsSet && !r.ValidationError.IsSet || service {
			s.t.Errorf("service: %v, and failed by %+v", service, r)
		}
	case machine.Deregistered:
		if r.ConsulCleanup == machine.CleanupRemoved && service || r.PostgresCleanup == machine.CleanupRemoved && row {
			s.t.Errorf("row: %v, service: %v, and ended as %+v", row, service, r)
		}
	case machine.Unregistered, machine.Validating, machine.RegisteringPostgres, machine.PostgresRegistered, machine.RegisteringConsul, machine.Deregistering:
		s.t.Errorf("node %s is at work in %s", r.NodeID, r.State)
	}
}

// wantExhausted fails unless a registration that has failed takes no retry.
func (s *nodes) wantExhausted(node string) {
	s.t.Helper()
	_, err := s.server.Trigger(context.Background(), node, machine.Retry{}, registration.Call{})
	var refused *fsm.Rejection
	if !errors.As(err, &refused) || refused.Failure != "retry_exhausted" {
		s.t.Errorf("a retry beyond the limit: %v", err)
	}
}
