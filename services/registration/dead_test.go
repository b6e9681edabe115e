package registration_test

import (
	"slices"
	"testing"
	"time"

	machine "github.com/fsmgen/fsmgen/generated/registration"
)

// TestDeadDaemon: a daemon dies for good, with a node in each state in which a
// registration rests; TestKill has those in which it works, where any other
// daemon goes on. Nobody heartbeats for them. Another daemon leaves them alone for
// an hour, in which theirs may come back, and then ends them by the events that
// the machine has: nothing is left but the record, which says what happened. What
// has failed and left nothing outside is no orphan: it waits for its
// operator.
func TestDeadDaemon(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.options.Collect.CriticalFor = 1000 * time.Hour // it is about rows
	s.works()
	mend := s.refuse("consul_success")
	s.registers("failed")
	s.reach("failed", machine.Failed, quick)
	mend()
	s.live("registered")
	wrong := s.payload("invalid")
	wrong["consul_service_name"] = "not a name"
	s.registersWith("invalid", wrong)
	s.await("invalid", machine.Failed)
	s.consul.Refuse()
	s.registers("partial")
	s.reach("partial", machine.PartialRegistered, quick)
	s.consul.Restore()
	s.wantBoth("partial", true, false)
	s.wantBoth("failed", true, true)

	s.options.Name = "daemon-2"
	s.restarts()
	s.clock.advance(59 * time.Minute)
	if c := s.collects(); len(c.Rows)+len(c.Deregistered) != 0 {
		t.Errorf("within the hour %+v were collected", c)
	}
	s.clock.advance(2 * time.Minute)
	c := s.collects()
	slices.Sort(c.Rows)
	if !slices.Equal(c.Rows, []string{"failed", "partial"}) || !slices.Equal(c.Deregistered, []string{"registered"}) {
		t.Errorf("collected %+v", c)
	}
	s.wantTrace("partial", refused+", FATAL_ERROR failed, ABANDON deregistered")
	s.wantTrace("invalid", invalid)
	for node, state := range map[string]machine.State{
		"registered": machine.Deregistered, "partial": machine.Deregistered, "failed": machine.Deregistered, "invalid": machine.Failed,
	} {
		s.await(node, state)
		s.wantBoth(node, false, false)
	}
	s.wantTrace("registered", consulGo)
}
