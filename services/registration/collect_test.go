package registration_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	machine "github.com/fsmgen/fsmgen/generated/registration"
)

// TestOrphanSweepFindsTimedOutDeregistrations is named by the invariant
// orphans_are_collected of the spec: what a failed or skipped cleanup leaves is
// collected, once it has settled, and is looked for no more.
func TestOrphanSweepFindsTimedOutDeregistrations(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, s *fixture) {
		s.works().live("n1")
		s.consul.Swallow(true)
		s.fires("n1", machine.Deregister{})
		s.clock.advance(16 * time.Second)
		s.await("n1", machine.Deregistered)
		s.restarts().mended() // or the old attempt would still succeed
		if c := s.collects(); len(c.Rows)+len(c.Services) != 0 {
			t.Errorf("%+v was collected before it had settled", c)
		}
		s.wantBoth("n1", true, true)
		s.clock.advance(time.Hour - time.Minute)
		if c := s.collects(); !slices.Equal(c.Rows, []string{"n1"}) || !slices.Equal(c.Services, []string{"svc-n1"}) {
			t.Errorf("collected %+v", c)
		}
		s.wantBoth("n1", false, false)
		if !s.counts(1, "orphan_resource_detected_total", "resource_type", "consul_service") ||
			!s.counts(1, "orphan_resource_detected_total", "resource_type", "postgres_node_record") ||
			!s.counts(2, "orphan_cleanup_success_total") || !s.counts(2, "registration_gc_cleaned_total") {
			t.Errorf("measured %+v", s.metrics.seen)
		}
		if age, ok := s.counted(3540, "orphan_resource_age_seconds", "node_id", "n1", "resource_type", "consul_service"); !ok {
			t.Errorf("the age is %v", age)
		}
		if c := s.collects(); len(c.Rows)+len(c.Services) != 0 {
			t.Errorf("the second time it collected %+v", c)
		}
	})
}

// TestSweepGoesOn: what can't be removed does not keep the sweep from the rest, and
// what was swept is not looked at again.
func TestSweepGoesOn(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.options.Collect.Batch = 2
	s.works()
	const nodes = 7
	for n := range nodes {
		node := fmt.Sprintf("n%d", n)
		s.live(node)
	}
	s.consul.Refuse()
	for n := range nodes {
		s.leaves(fmt.Sprintf("n%d", n))
	}
	s.mended()
	s.clock.advance(2 * time.Minute)
	if c := s.collects(); len(c.Rows) != nodes || len(c.Services) != nodes {
		t.Errorf("collected %+v", c)
	}
	var swept int
	if err := s.pool.QueryRow(t.Context(), "SELECT count(*) FROM "+s.options.Schema+".registration_swept").Scan(&swept); err != nil || swept != nodes {
		t.Errorf("%d are marked as swept, %v", swept, err)
	}
}

// TestFailedNodeKeepsItsRecord: a service that is critical goes; the record of a
// registration that has failed stays for its operator.
func TestFailedNodeKeepsItsRecord(t *testing.T) {
	t.Parallel()
	s := newFixture(t).works()
	s.live("n1")
	s.breaks("n1")
	s.clock.advance(2 * time.Minute)
	s.collects()
	s.clock.advance(5 * time.Minute)
	s.collects()
	s.await("n1", machine.Failed)
	s.wantBoth("n1", true, false)
	s.fires("n1", machine.Retry{})
	s.await("n1", machine.Registered)
	s.wantBoth("n1", true, true)
}

// TestAbandonedIsCollected: ABANDON attempts no cleanup (document 001, Trigger
// Catalog); the sweep does.
func TestAbandonedIsCollected(t *testing.T) {
	t.Parallel()
	s := newFixture(t).works()
	mend := s.refuse("consul_success")
	s.registers("n1")
	s.reach("n1", machine.Failed, quick)
	s.wantBoth("n1", true, true)
	s.fires("n1", machine.Abandon{})
	mend()
	collectsAll(s, "n1")
}

// TestStaleRowsAreCollected: a node whose daemon is gone is not heard of. Its
// registration is ended first, so the record tells the truth, and the service
// goes before the row.
func TestStaleRowsAreCollected(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, s *fixture) {
		s.options.Collect.CriticalFor = 1000 * time.Hour // it is about rows
		s.options.Collect.Batch = 2
		s.works()
		for n := range 5 {
			s.live(fmt.Sprintf("n%d", n))
		}
		s.clock.advance(time.Hour)
		if c := s.collects(); len(c.Deregistered) != 0 {
			t.Errorf("%v were not stale yet", c.Deregistered)
		}
		s.clock.advance(time.Second)
		if c := s.collects(); len(c.Deregistered) != 5 {
			t.Errorf("collected %+v", c)
		}
		for n := range 5 {
			node := fmt.Sprintf("n%d", n)
			s.await(node, machine.Deregistered)
			s.wantBoth(node, false, false)
		}
		if n, ok := s.counted(5, "orphan_resource_detected_total", "detection_method", "stale_heartbeat"); !ok {
			t.Errorf("%v were detected", n)
		}
	})
}

// TestStaleRowsWithoutRegistration: rows that no live registration has are
// deleted in batches, with a line in the log of the collectors; rows that
// another transaction has locked are skipped.
func TestStaleRowsWithoutRegistration(t *testing.T) {
	t.Parallel()
	s := newFixture(t).works()
	s.options.Collect.Batch = 10
	const rows = 25
	for n := range rows {
		s.writes(fmt.Sprintf("left-%02d", n), fmt.Sprintf("00000000-0000-7000-8000-%012d", n))
	}
	s.clock.advance(2 * time.Hour)
	tx, err := s.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT 1 FROM "+s.options.Schema+".node_registrations WHERE node_id = 'left-07' FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	if c := s.collects(); len(c.Rows) != rows-1 || slices.Contains(c.Rows, "left-07") {
		t.Errorf("collected %v", c.Rows)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c := s.collects(); !slices.Equal(c.Rows, []string{"left-07"}) {
		t.Errorf("then %v", c.Rows)
	}
	var cleaned int
	if err := s.pool.QueryRow(t.Context(), "SELECT sum(nodes_cleaned) FROM "+s.options.Schema+".registration_gc_log WHERE gc_type = 'postgres'").Scan(&cleaned); err != nil || cleaned != rows {
		t.Errorf("the log says %d, %v", cleaned, err)
	}
}

// TestCollectorsRaceOnce: two collectors at once remove each row once.
func TestCollectorsRaceOnce(t *testing.T) {
	t.Parallel()
	s := newFixture(t).open()
	for n := range 40 {
		s.writes(fmt.Sprintf("left-%02d", n), fmt.Sprintf("00000000-0000-7000-8000-%012d", n))
	}
	s.clock.advance(2 * time.Hour)
	var mu sync.Mutex
	var all []string
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			c, err := s.server.GC(t.Context())
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, c.Rows...)
		})
	}
	both.Wait()
	slices.Sort(all)
	if len(all) > 40 || len(slices.Compact(all)) != len(all) {
		t.Errorf("%d rows were removed: %v", len(all), all)
	}
	s.collects() // what each skipped since the other had it
	if n, ok := s.counted(40, "registration_gc_cleaned_total"); !ok {
		t.Errorf("%v were counted", n)
	}
}

// TestCriticalServicesAreCollected: how long a service has been critical is
// remembered from look to look. One that recovers begins anew.
func TestCriticalServicesAreCollected(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, s *fixture) {
		s.works().live("n1")
		s.clock.advance(2 * time.Minute) // its TTL is a minute
		if c := s.collects(); len(c.Deregistered) != 0 {
			t.Errorf("critical just now: %+v", c)
		}
		s.clock.advance(4 * time.Minute)
		if _, err := s.server.Heartbeat(t.Context()); err != nil {
			t.Fatal(err)
		}
		if c := s.collects(); len(c.Deregistered) != 0 {
			t.Errorf("passing: %+v", c)
		}
		s.clock.advance(2 * time.Minute)
		s.collects()
		s.clock.advance(4*time.Minute + 59*time.Second)
		if c := s.collects(); len(c.Deregistered) != 0 {
			t.Errorf("a second too early: %+v", c)
		}
		s.clock.advance(time.Second)
		if c := s.collects(); !slices.Equal(c.Deregistered, []string{"n1"}) {
			t.Errorf("after five minutes: %+v", c)
		}
		s.await("n1", machine.Deregistered)
		s.wantBoth("n1", false, false)
		if !s.counts(1, "consul_gc_deregistered_total", "environment", "production", "datacenter", "dc1") ||
			!s.counts(1, "orphan_resource_detected_total", "detection_method", "critical_health_check") {
			t.Error("it was not counted once")
		}
	})
}

// TestUntrackedServicesAreCollected: service discovery advertises only tracked
// nodes. Another program's service stays.
func TestUntrackedServicesAreCollected(t *testing.T) {
	t.Parallel()
	s := newFixture(t).works()
	for _, node := range []string{"n1", "n2"} {
		s.live(node)
	}
	old := s.advertised()[0]
	s.leaves("n1")
	// What an earlier registration asked for arrives late.
	late := serviceOf(old.NodeID, old.RegistrationID)
	if err := s.client.Register(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	other := serviceOf("other", "01a1f9dc-2f00-704d-9e18-8474c6f89543") // of another database
	if err := s.client.Register(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	odd := serviceOf("odd", "life-1") // of another program, whose ids are no UUIDs
	if err := s.client.Register(t.Context(), odd); err != nil {
		t.Fatal(err)
	}
	foreign := api.AgentServiceRegistration{ID: "foreign", Name: "foreign"}
	if err := s.raw().Agent().ServiceRegister(&foreign); err != nil {
		t.Fatal(err)
	}
	s.sql("DELETE FROM " + s.options.Schema + ".node_registrations WHERE node_id = 'n2'")
	c := s.collects()
	slices.Sort(c.Services)
	if !slices.Equal(c.Services, []string{"svc-n1", "svc-n2"}) {
		t.Errorf("collected %+v", c)
	}
	// The record of the node whose row was deleted by hand tells the truth.
	if status := s.status("n2"); status.State != machine.Failed {
		t.Errorf("got %+v", status)
	}
	if names, err := s.client.Names(t.Context()); err != nil || !slices.Contains(names, "foreign") {
		t.Errorf("%v, %v", names, err)
	}
	if left := s.advertised(); len(left) != 2 || left[0].ID != odd.ID || left[1].ID != other.ID {
		t.Errorf("Consul has %+v", left)
	}
}

// TestSessionsAndChecksAreCollected: those of nodes that are gone, and no others.
func TestSessionsAndChecksAreCollected(t *testing.T) {
	t.Parallel()
	s := newFixture(t).works()
	for _, node := range []string{"gone", "here"} {
		s.live(node)
	}
	var ids []string
	for _, name := range []string{"gone", "here", "somebody's", "", "a\x00b"} {
		id, _, err := s.raw().Session().Create(&api.SessionEntry{Name: name}, nil)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	// A check outlived its service on an agent that is no more; others are not ours.
	orphan := "registration:" + s.status("gone").RegistrationID.String()
	for _, id := range []string{orphan, "registration:life-1", "somebody's"} {
		check := &api.AgentCheck{Node: "elsewhere", CheckID: id, Name: id, Status: api.HealthCritical}
		if _, err := s.raw().Catalog().Register(&api.CatalogRegistration{Node: "elsewhere", Address: "127.0.0.1", Check: check}, nil); err != nil {
			t.Fatal(err)
		}
	}
	s.leaves("gone")
	c := s.collects()
	if !slices.Equal(c.Checks, []string{orphan}) || !s.counts(1, "orphan_resource_detected_total", "resource_type", "consul_health_check") {
		t.Errorf("collected %+v", c)
	}
	if !slices.Equal(c.Sessions, ids[:1]) {
		t.Errorf("collected %+v, the sessions are %v", c, ids)
	}
	if !s.counts(1, "orphan_resource_detected_total", "resource_type", "consul_session", "detection_method", "orphan_session") {
		t.Error("the session was not counted once")
	}
}

// TestFailedCleanupIsCounted: an orphan that can't be removed stays, is counted,
// and is found again.
func TestFailedCleanupIsCounted(t *testing.T) {
	t.Parallel()
	s := newFixture(t).works()
	s.live("n1")
	s.consul.Refuse()
	s.leaves("n1")
	s.clock.advance(2 * time.Hour)
	if _, err := s.server.GC(t.Context()); err == nil {
		t.Error("a collector that can't reach Consul did not say so")
	}
	if !s.counts(1, "registration_gc_errors_total", "gc_type", "consul", "error_type", "refused") ||
		!s.counts(1, "orphan_cleanup_failure_total", "resource_type", "postgres_node_record", "error_type", "refused") {
		t.Error("the failure was not counted once")
	}
	s.wantBoth("n1", true, true)
	s.mended()
	collectsAll(s, "n1")
}
