package registration_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	machine "github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/registration"
)

// besides runs a test over each store, with the rows beside the records.
func besides(t *testing.T, test func(t *testing.T, s *fixture)) {
	t.Helper()
	everywhere(t, func(t *testing.T, s *fixture) {
		s.options.Registry = nil
		test(t, s)
	})
}

const upToConsul = "create unregistered, REGISTER validating, VALIDATION_PASSED registering_postgres, POSTGRES_SUCCEEDED postgres_registered"

// TestAtOnce: REGISTER takes the registration as far as its database reaches, with
// no daemon at work: the row is there, and only what needs Consul waits.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	besides(t, func(t *testing.T, s *fixture) {
		s.open()
		if a := s.registers("n1"); a.State != "validating" || a.Version != 2 {
			t.Errorf("REGISTER is told to lead to %s, version %d", a.State, a.Version)
		}
		s.wantTrace("n1", upToConsul+", CONTINUE registering_consul")
		s.wantBoth("n1", true, false)
		if got := s.messages(); !slices.Equal(got, []string{"consul.register pending"}) {
			t.Errorf("the outbox has %v", got)
		}
		status, err := s.server.Status(t.Context(), "n1")
		if err != nil || status.Row == nil {
			t.Fatalf("no row: %v", err)
		}
		s.stop()
		s.works()
		s.await("n1", machine.Registered)
		s.wantTrace("n1", happy)
		s.wantBoth("n1", true, true)
		s.leaves("n1")
		s.live("n1") // its next registration takes over what there is
		s.wantBoth("n1", true, true)
	})
}

// TestAtOnceTwoStep: the checkpoint is committed, and CONTINUE follows it.
func TestAtOnceTwoStep(t *testing.T) {
	t.Parallel()
	besides(t, func(t *testing.T, s *fixture) {
		s.options.TwoStep = true
		s.open()
		s.registers("n1")
		s.wantTrace("n1", upToConsul)
		s.stop()
		s.works()
		s.await("n1", machine.Registered)
		s.wantTrace("n1", happy)
	})
}

// TestAtOnceInvalid: a payload that is wrong fails with its reason, and no row.
func TestAtOnceInvalid(t *testing.T) {
	t.Parallel()
	besides(t, func(t *testing.T, s *fixture) {
		s.open()
		p := s.payload("n1")
		p["consul_service_name"] = "no name!"
		s.registersWith("n1", p)
		s.wantTrace("n1", invalid)
		s.wantBoth("n1", false, false)
		if r := s.status("n1"); !strings.Contains(r.ValidationError.V, "consul_service_name is not a name") {
			t.Errorf("the reason is %q", r.ValidationError.V)
		}
		if got := s.messages(); len(got) != 0 {
			t.Errorf("the outbox has %v", got)
		}
	})
}

// TestOneServiceID: of many nodes that want one service id at the same moment,
// through two daemons, one gets it.
func TestOneServiceID(t *testing.T) {
	t.Parallel()
	for name, apart := range map[string][2]bool{"at once": {false, false}, "one of them apart": {false, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			s.options.Registry, s.options.Apart = nil, apart[0]
			s.works()
			other := *s
			other.options.Name, other.options.Apart = "daemon-2", apart[1]
			other.works()
			const nodes = 12
			var all sync.WaitGroup
			for i := range nodes {
				all.Go(func() {
					p := s.payload(fmt.Sprint("n", i))
					p["consul_service_id"] = "the-one"
					_, err := []*fixture{s, &other}[i%2].server.Register(context.Background(), fmt.Sprint("n", i), encoded(t, p), registration.Call{})
					if err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			winners := 0
			for i := range nodes {
				r := s.awaits(fmt.Sprint("n", i), 0, func(r registration.Status) bool {
					return r.State == machine.Registered || r.State == machine.Failed
				})
				if r.State == machine.Registered {
					winners++
				} else if !strings.Contains(r.ValidationError.V, `consul_service_id is that of node "n`) {
					t.Errorf("the reason is %q", r.ValidationError.V)
				}
			}
			if winners != 1 || len(s.advertised()) != 1 {
				t.Errorf("%d nodes have the service id, and Consul has %v", winners, s.advertised())
			}
		})
	}
}

// TestAtOnceGivesWay: what stands against the attempt is left to the handlers, and
// REGISTER is accepted all the same: another transaction that asks about the service id and
// takes his time, or has the node's row; a later registration that has it.
func TestAtOnceGivesWay(t *testing.T) {
	t.Parallel()
	t.Run("a lock", func(t *testing.T) {
		t.Parallel()
		s := newFixture(t)
		s.options.Registry = nil
		s.works()
		give := s.takes("n1")
		s.registers("n1")
		s.wantTrace("n1", "create unregistered, REGISTER validating")
		s.live("n2") // no other node waits for n1
		give()
		s.await("n1", machine.Registered)
		s.wantTrace("n1", happy)
	})
	t.Run("a row", func(t *testing.T) {
		t.Parallel()
		s := newFixture(t)
		s.options.Registry = nil
		s.works()
		s.writes("n1", "00000000-0000-7000-8000-000000000001") // of an earlier registration
		give := s.holds("SELECT 1 FROM "+s.options.Schema+".node_registrations WHERE node_id = $1 FOR UPDATE", "n1")
		s.registers("n1")
		s.wantTrace("n1", "create unregistered, REGISTER validating")
		s.live("n2") // no other node waits for n1
		s.await("n1", machine.RegisteringPostgres)
		give()
		s.await("n1", machine.Registered)
		s.wantTrace("n1", happy)
	})
	t.Run("a later row", func(t *testing.T) {
		t.Parallel()
		s := newFixture(t)
		s.options.Registry = nil
		s.works()
		s.writes("n1", "ffffffff-ffff-7fff-bfff-ffffffffffff")
		s.registers("n1")
		r := s.reach("n1", machine.Failed, quick)
		if !strings.Contains(r.PostgresError.V, "superseded by another registration") {
			t.Errorf("the reason is %q", r.PostgresError.V)
		}
	})
}

// TestArrivalsKeepApart: of registrations that are stored together one that is
// refused, or that the database refuses, keeps no other from it.
func TestArrivalsKeepApart(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.options.Registry = nil
	s.works().live("there")
	s.sql("ALTER TABLE " + s.options.Schema + ".registration_records ADD CONSTRAINT broken CHECK (node_id <> 'broken')")
	give := s.takes("slow")
	want := map[string]func(error) bool{
		"there":  func(err error) bool { var x *fsm.Rejection; return errors.As(err, &x) },
		"broken": func(err error) bool { return err != nil && strings.Contains(err.Error(), "broken") },
		"slow":   func(err error) bool { return err == nil },
	}
	for i := range 20 {
		want[fmt.Sprint("n", i)] = func(err error) bool { return err == nil }
	}
	var all sync.WaitGroup
	for node, as := range want {
		all.Go(func() {
			_, err := s.server.Register(context.Background(), node, encoded(t, s.payload(node)), registration.Call{})
			if !as(err) {
				t.Errorf("node %s: %v", node, err)
			}
		})
	}
	all.Wait()
	for i := range 20 {
		s.await(fmt.Sprint("n", i), machine.Registered)
	}
	give()
	s.await("slow", machine.Registered)
}

// TestArrivalsOfOneNode: of many calls at once one begins a registration.
func TestArrivalsOfOneNode(t *testing.T) {
	t.Parallel()
	besides(t, func(t *testing.T, s *fixture) {
		s.works()
		var all sync.WaitGroup
		var mu sync.Mutex
		accepted := 0
		for range 8 {
			all.Go(func() {
				_, err := s.server.Register(context.Background(), "n1", encoded(t, s.payload("n1")), registration.Call{})
				var refused *fsm.Rejection
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					accepted++
				case !errors.As(err, &refused):
					t.Error(err)
				}
			})
		}
		all.Wait()
		if accepted != 1 {
			t.Errorf("%d calls were accepted", accepted)
		}
		s.await("n1", machine.Registered)
		s.wantTrace("n1", happy)
	})
}
