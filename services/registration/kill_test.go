package registration_test

import (
	"errors"
	"fmt"
	"testing"

	machine "github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/services/registration"
)

const (
	refused  = "create unregistered, REGISTER validating, VALIDATION_PASSED registering_postgres, POSTGRES_SUCCEEDED postgres_registered, CONTINUE registering_consul, CONSUL_FAILED partial_registered"
	invalid  = "create unregistered, REGISTER validating, VALIDATION_FAILED failed"
	leaving  = happy + ", DEREGISTER deregistering, "
	consulGo = leaving + "CONSUL_DEREGISTERED deregistering, POSTGRES_DEREGISTERED deregistering, DEREGISTRATION_COMPLETE deregistered"
)

// kill is a moment at which a daemon is killed.
type kill struct {
	at   string
	left machine.State // by the kill; 0: there is no record
	// What a kill leaves two-step, where it is something else: a raised event is a
	// step of its own then.
	leftTwoStep machine.State
	ends        machine.State // after the restart
	trace       string
	// What comes before the kill.
	then      []order
	invalid   bool // its payload
	forbidden bool // Consul does not take it while the daemon that is killed is alive
}

// kills are the moments at which a daemon is killed that carries out each effect
// apart: before and after each thing that it does outside, and right after what
// brings the record where it then rests. unregistered is no such place: the record
// is made and REGISTER is fired in one transaction.
var kills = []kill{
	{at: "after fire REGISTER"},
	{at: "before handle validate_payload", left: machine.Validating, ends: machine.Registered, trace: happy},
	{at: "after handle validate_payload", left: machine.Validating, ends: machine.Registered, trace: happy},
	{at: "before handle postgres.upsert_registration", left: machine.RegisteringPostgres, ends: machine.Registered, trace: happy},
	{at: "after handle postgres.upsert_registration", left: machine.RegisteringPostgres, ends: machine.Registered, trace: happy},
	{at: "before deadline CONTINUE", left: machine.PostgresRegistered, ends: machine.Registered, trace: happy},
	{at: "before handle consul.register", left: machine.RegisteringConsul, ends: machine.Registered, trace: happy},
	{at: "after handle consul.register", left: machine.RegisteringConsul, ends: machine.Registered, trace: happy},
	{at: "after fire CONSUL_SUCCEEDED", left: machine.Registered, ends: machine.Registered, trace: happy},
	{at: "after fire CONSUL_FAILED", left: machine.PartialRegistered, ends: machine.PartialRegistered, trace: refused, forbidden: true},
	{
		at: "after fire RETRY", left: machine.RegisteringConsul, ends: machine.Registered, forbidden: true,
		then:  []order{{"partial_registered", "RETRY"}},
		trace: refused + ", RETRY registering_consul, CONSUL_SUCCEEDED registered",
	},
	{at: "after fire VALIDATION_FAILED", left: machine.Failed, ends: machine.Failed, invalid: true, trace: invalid},
	{
		at: "after fire RETRY", left: machine.Validating, ends: machine.Failed, invalid: true,
		then: []order{{"failed", "RETRY"}}, trace: invalid + ", RETRY validating, VALIDATION_FAILED failed",
	},
	{
		at: "after fire ABANDON", left: machine.Deregistered, ends: machine.Deregistered, invalid: true,
		then: []order{{"failed", "ABANDON"}}, trace: invalid + ", ABANDON deregistered",
	},
	{at: "after fire DEREGISTER", left: machine.Deregistering, ends: machine.Deregistered, then: toLeave, trace: consulGo},
	{at: "before handle consul.deregister", left: machine.Deregistering, ends: machine.Deregistered, then: toLeave, trace: consulGo},
	{at: "after handle consul.deregister", left: machine.Deregistering, ends: machine.Deregistered, then: toLeave, trace: consulGo},
	{at: "before handle postgres.delete_registration", left: machine.Deregistering, ends: machine.Deregistered, then: toLeave, trace: consulGo},
	{at: "after handle postgres.delete_registration", left: machine.Deregistering, ends: machine.Deregistered, then: toLeave, trace: consulGo},
	{at: "after fire POSTGRES_DEREGISTERED", left: machine.Deregistered, leftTwoStep: machine.Deregistering, ends: machine.Deregistered, then: toLeave, trace: consulGo},
}

// killsAtOnce are the moments at which one is killed that does in the transaction of
// REGISTER what needs the database alone: until that is committed there is nothing.
var killsAtOnce = []kill{
	{at: "after fire REGISTER"},
	{at: "before effect validate_payload"},
	{at: "after fire VALIDATION_PASSED"},
	{at: "after fire VALIDATION_FAILED", invalid: true},
	{at: "before effect postgres.upsert_registration"},
	{at: "after fire POSTGRES_SUCCEEDED"},
	{at: "before deadline CONTINUE", left: machine.PostgresRegistered, ends: machine.Registered, trace: happy},
	{at: "before handle consul.register", left: machine.RegisteringConsul, ends: machine.Registered, trace: happy},
	{at: "after handle consul.register", left: machine.RegisteringConsul, ends: machine.Registered, trace: happy},
	{at: "after fire CONSUL_SUCCEEDED", left: machine.Registered, ends: machine.Registered, trace: happy},
	{
		at: "after fire RETRY", left: machine.Failed, ends: machine.Failed, invalid: true,
		then: []order{{"failed", "RETRY"}}, trace: invalid + ", RETRY validating, VALIDATION_FAILED failed",
	},
	{at: "after fire DEREGISTER", left: machine.Deregistering, ends: machine.Deregistered, then: toLeave, trace: consulGo},
}

var toLeave = []order{{"registered", "DEREGISTER"}}

// TestKill kills the daemon at each moment, in both execution modes. What another
// one finds is where the record was, it goes on to the end that it would have had,
// by the same steps, and nothing is ever advertised without its row. The program
// itself is killed in cmd/registrationd, and goes on under its own name.
func TestKill(t *testing.T) {
	t.Parallel()
	lefts := map[machine.State]bool{}
	for apart, kills := range map[bool][]kill{true: kills, false: killsAtOnce} {
		for n, k := range kills {
			lefts[k.left] = true
			for _, twoStep := range []bool{false, true} {
				if !twoStep && k.left == machine.PostgresRegistered {
					continue // no place to be in, single-step
				}
				t.Run(fmt.Sprintf("apart %v, %d %s, two-step %v", apart, n, k.at, twoStep), func(t *testing.T) {
					t.Parallel()
					k.test(t, apart, twoStep)
				})
			}
		}
	}
	for state := machine.Unregistered + 1; state.Valid(); state++ {
		if !lefts[state] {
			t.Errorf("no daemon was killed in %s", state)
		}
	}
}

func (k kill) test(t *testing.T, apart, twoStep bool) {
	left := k.left
	if twoStep && k.leftTwoStep != 0 {
		left = k.leftTwoStep
	}
	s := newFixture(t)
	w := s.watched()
	s.options.Clock, s.options.Params, s.options.TwoStep, s.options.Apart, s.options.Engine, s.options.Name = nil, longTimeouts, twoStep, apart, shortLeases, "daemon-2"
	p := payload("n1")
	if k.invalid {
		p["consul_health_check"] = map[string]any{"http": "http://127.0.0.1"}
	}
	w.forbid(k.forbidden)
	e := job{
		Store: s.options.Store, Schema: s.options.Schema, Consul: s.url, Node: "n1", Payload: encoded(t, p),
		TwoStep: twoStep, Apart: apart, KillAt: k.at, Then: k.then,
	}
	e.dies(t)
	w.forbid(false)
	s.open()
	if k.left == 0 {
		if _, err := s.server.Recorded(t.Context(), "n1"); !errors.Is(err, registration.ErrUnknownNode) {
			t.Errorf("got %v", err)
		}
		if s.owner("n1") != "" || len(s.advertised()) != 0 {
			t.Error("something is left")
		}
		s.restarts().live("n1")
		s.wantBoth("n1", true, true)
		return
	}
	if got := s.status("n1").State; got != left {
		t.Errorf("the kill left %s, want %s", got, left)
	}
	s.restarts()
	s.tellsTheTruth(s.await("n1", k.ends))
	s.wantTrace("n1", k.trace)
	goesOn(s, "n1")
}

// goesOn takes a registration that has been through a kill to its end: nothing is left.
func goesOn(s *fixture, node string) {
	s.t.Helper()
	switch r := s.status(node); r.State {
	case machine.PartialRegistered:
		s.fires(node, machine.Retry{})
		s.await(node, machine.Registered)
		s.fires(node, machine.Deregister{})
	case machine.Registered:
		s.wantBoth(node, true, true)
		s.fires(node, machine.Deregister{})
	case machine.Failed:
		s.fires(node, machine.Abandon{})
	case machine.Deregistered:
	case machine.Unregistered, machine.Validating, machine.RegisteringPostgres, machine.PostgresRegistered, machine.RegisteringConsul, machine.Deregistering:
		s.t.Errorf("node %s is at work in %s", node, r.State)
	}
	s.await(node, machine.Deregistered)
	s.wantBoth(node, false, false)
}
