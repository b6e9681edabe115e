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
	s := newFixture(t).open()
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
	s := newFixture(t).works()
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
	everywhere(t, func(t *testing.T, s *fixture) {
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

// TestLateRequestOfAnEarlierRegistration: what the first registration of a node asked of Consul
// arrives in the second one, and takes its place there. The next heartbeat puts
// the present one back.
func TestLateRequestOfAnEarlierRegistration(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
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

// TestLateUpsert: what comes late from a registration that has failed or ended
// writes nothing.
func TestLateUpsert(t *testing.T) {
	t.Parallel()
	s := newFixture(t).works()
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
