package registration_test

import (
	"errors"
	"testing"
	"time"

	machine "github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/internal/proxytest"
	"github.com/fsmgen/fsmgen/services/registration"
)

// TestRowFence: of two registrations of a node the later one has the row, in
// whatever order their writes arrive.
func TestRowFence(t *testing.T) {
	t.Parallel()
	s := newStage(t).open()
	r := s.options.Registry
	const one, two = "00000000-0000-7000-8000-000000000001", "00000000-0000-7000-8000-000000000002"
	row := func(id string) registration.Row { return rowOf("n1", id) }
	for _, step := range []struct {
		do   func() error
		want error
		has  string
	}{
		{func() error { return r.Upsert(t.Context(), row(one)) }, nil, one},
		{func() error { return r.Upsert(t.Context(), row(one)) }, nil, one}, // twice is as good as once
		{func() error { return r.Upsert(t.Context(), row(two)) }, nil, two},
		{func() error { return r.Upsert(t.Context(), row(one)) }, registration.ErrSuperseded, two},
		{func() error { return r.Delete(t.Context(), row(one).Key) }, nil, two},
		{func() error { return r.Delete(t.Context(), row(two).Key) }, nil, ""},
		{func() error { return r.Delete(t.Context(), row(two).Key) }, nil, ""},
	} {
		if err := step.do(); !errors.Is(err, step.want) {
			t.Errorf("got %v, want %v", err, step.want)
		}
		has, err := r.Owners(t.Context(), []string{"n1", "n2"})
		if err != nil || len(has) > 1 || has["n1"] != step.has {
			t.Errorf("%q has the row, %v; want %q", has, err, step.has)
		}
	}
	bad := row(one)
	bad.Record = []byte(`[]`)
	if err := r.Upsert(t.Context(), bad); !errors.Is(err, registration.ErrInvalid) {
		t.Errorf("a record that is no object: %v", err)
	}
	if err := r.Upsert(t.Context(), row("no uuid")); !errors.Is(err, registration.ErrInvalid) {
		t.Errorf("an id that is none: %v", err)
	}
}

// TestLaterRowIsAnAnswer: a registration whose row a later one has fails at once.
func TestLaterRowIsAnAnswer(t *testing.T) {
	t.Parallel()
	s := newStage(t).works()
	s.writes("n1", "ffffffff-ffff-7fff-bfff-ffffffffffff")
	s.registers("n1")
	s.await("n1", machine.Failed)
	if !s.counts(1, "registration_postgres_failure", "error_type", "constraint_violation") || !s.counts(1, "fsm_effect_attempts_total", "effect", "postgres.upsert_registration") {
		t.Errorf("got %+v", s.status("n1"))
	}
}

// TestIdentitiesGrow: the id of a later registration is larger, also when the
// clock has jumped back.
func TestIdentitiesGrow(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, s *stage) {
		s.works()
		last := ""
		for range 4 {
			id := s.registers("n1").RegistrationID
			if id <= last {
				t.Errorf("%s follows %s", id, last)
			}
			last = id
			s.await("n1", machine.Registered)
			s.leaves("n1")
			s.stop() // a worker that read the clock before the jump would find what comes after it due
			s.clock.advance(-time.Hour)
			s.works()
		}
		s.wantBoth("n1", false, false)
	})
}

// TestLateRequestOfAnEarlierLife: what the first life of a node asked of Consul
// arrives in the second one, and takes its place there. The next heartbeat puts
// the present one back.
func TestLateRequestOfAnEarlierLife(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.options.AttemptTimeout = time.Hour
	arrived, release := s.works().consul.HoldNext(proxytest.Request)
	defer release()
	s.registers("n1")
	<-arrived
	s.clock.advance(11 * time.Second)
	s.await("n1", machine.PartialRegistered)
	first := s.status("n1").RegistrationID.String()
	// The operator gives it up: all retries are spent on a Consul that is away.
	s.consul.Refuse()
	for range 3 {
		s.fires("n1", machine.Retry{})
		s.reach("n1", machine.PartialRegistered, quick)
	}
	a, err := s.server.Trigger(t.Context(), "n1", machine.Retry{}, call(""))
	wantExhausted(t, a, err)
	s.fires("n1", machine.Abandon{})
	s.consul.Restore()
	s.registers("n1")
	s.reach("n1", machine.Registered, quick)
	second := s.status("n1").RegistrationID.String()
	// It arrives, twice even.
	for range 2 {
		if err := s.client.Register(t.Context(), serviceOf("n1", first)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.server.Heartbeat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.advertised(); len(got) != 1 || got[0].RegistrationID != second {
		t.Errorf("Consul has %+v, want the registration %s", got, second)
	}
	s.wantBoth("n1", true, true)
}

// TestHeartbeat: a node of this daemon stays fresh in the database and healthy in
// Consul, over a restart too; that of another daemon is none of its business.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, s *stage) {
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
	s := newStage(t).works()
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

// TestReconcile: document 001, Recovery Terminology, Partial Recovery. The answer
// of Consul came too late; the service is there.
func TestReconcile(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, s *stage) {
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
	s := newStage(t).works()
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

// TestRowVanishesWhileConsulIsAsked: the database has its record before the node
// is discoverable; a row that goes meanwhile takes the service with it.
func TestRowVanishesWhileConsulIsAsked(t *testing.T) {
	t.Parallel()
	s := newStage(t)
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
	s := newStage(t).works()
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
	s := newStage(t).works()
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

// TestLeave: this daemon's nodes are deregistered, those of others stay.
func TestLeave(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, s *stage) {
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
	s := newStage(t).works()
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

// TestLateUpsert: what comes late from a registration that has failed or ended
// writes nothing.
func TestLateUpsert(t *testing.T) {
	t.Parallel()
	s := newStage(t).works()
	mend := s.refuse("postgres_success")
	s.registers("n1")
	status := s.reach("n1", machine.Failed, quick)
	mend()
	s.sql("DELETE FROM " + s.options.Schema + ".node_registrations")
	late := rowOf("n1", status.RegistrationID.String())
	if err := s.options.Registry.Upsert(t.Context(), late); !errors.Is(err, registration.ErrSuperseded) {
		t.Errorf("got %v", err)
	}
	s.wantBoth("n1", false, false)
}
