package registration_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	machine "github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/fsmgen/fsmgen/services/registration"
)

// nodes is what a test does with nodes: it has the daemon register them and waits for what
// becomes of them.
type nodes struct {
	t *testing.T
	*observation
	*outside
	*storage
	server *registration.Server
}

// collects runs the collectors.
func (s *nodes) collects() registration.Collected {
	s.t.Helper()
	c, err := s.server.GC(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// mended takes all faults away.
func (s *nodes) mended() {
	s.consul.Swallow(false)
	s.consul.Refuse()
	s.consul.Restore()
	if s.database != nil {
		s.database.Swallow(false)
		s.database.Refuse()
		s.database.Restore()
	}
}

func encoded(t *testing.T, v any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// registers fires REGISTER, which must be accepted.
func (s *nodes) registers(node string) registration.Accepted {
	s.t.Helper()
	return s.registersWith(node, s.payload(node))
}

func (s *nodes) registersWith(node string, payload any) registration.Accepted {
	s.t.Helper()
	a, err := s.server.Register(s.t.Context(), node, encoded(s.t, payload), registration.Call{})
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// live registers a node, which needs no time of the clock.
func (s *nodes) live(node string) registration.Status {
	s.t.Helper()
	s.registers(node)
	return s.await(node, machine.Registered)
}

// leaves deregisters a node, likewise.
func (s *nodes) leaves(node string) registration.Status {
	s.t.Helper()
	s.fires(node, machine.Deregister{})
	return s.await(node, machine.Deregistered)
}

// fires fires a trigger, which must be accepted.
func (s *nodes) fires(node string, e machine.Payload) registration.Accepted {
	s.t.Helper()
	a, err := s.server.Trigger(s.t.Context(), node, e, registration.Call{})
	if err != nil {
		s.t.Fatalf("%s: %v", e.EventName(), err)
	}
	return a
}

func (s *nodes) status(node string) registration.Status {
	s.t.Helper()
	status, err := s.server.Recorded(s.t.Context(), node)
	if err != nil {
		s.t.Fatal(err)
	}
	return status
}

// await waits until the node is in a state. The clock stands still.
func (s *nodes) await(node string, state machine.State) registration.Status {
	s.t.Helper()
	return s.reach(node, state, 0)
}

// reach waits until the node is in a state. The clock runs while an effect waits
// to be repeated, and only then: a test that is slow loses nothing.
func (s *nodes) reach(node string, state machine.State, step time.Duration) registration.Status {
	s.t.Helper()
	return s.awaits(node, step, func(r registration.Status) bool { return r.State == state })
}

// awaits is reach for a condition.
func (s *nodes) awaits(node string, step time.Duration, reached func(registration.Status) bool) registration.Status {
	s.t.Helper()
	for w := (progress.Watch{}); ; {
		r := s.status(node)
		if reached(r) {
			return r
		}
		waiting, attempts := s.effects()
		if step > 0 && waiting {
			s.clock.advance(step)
		}
		if err := w.Pause(s.t.Context(), []any{r.Version, r.State, attempts}); err != nil {
			s.t.Fatalf("node %s stays in %s: %v: %s\n%s", node, r.State, err, s.trace(node), s.logs.text())
		}
	}
}

// quick is how much of the clock's time passes at a look of reach.
const quick = 50 * time.Millisecond

// trace is the way of a node: EVENT state, one after the other.
func (s *nodes) trace(node string) string {
	s.t.Helper()
	steps, err := s.server.History(s.t.Context(), node)
	if err != nil {
		s.t.Fatal(err)
	}
	var b strings.Builder
	for i, x := range steps {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %s", x.Event, x.To)
	}
	return b.String()
}

// owner is the registration that has the row of a node, "" for none.
func (s *nodes) owner(node string) string {
	s.t.Helper()
	if s.pool == nil {
		return s.ownerBySQL(node)
	}
	r := registration.NewRegistry(s.pool, s.clock)
	ids, err := r.Owners(s.t.Context(), []string{node})
	if err != nil {
		s.t.Fatal(err)
	}
	return ids[node]
}

// ownerBySQL asks the file of a SQLite fixture.
func (s *nodes) ownerBySQL(node string) string {
	s.t.Helper()
	status, err := s.server.Status(s.t.Context(), node)
	if err != nil || status.Row == nil {
		s.t.Fatal("the row can't be read")
	}
	if *status.Row {
		return status.RegistrationID.String()
	}
	return ""
}

// breaks makes a registered node fail: its deregistration can't be recorded, which
// is a FATAL_ERROR. Its row and its service stay.
func (s *nodes) breaks(node string) {
	s.t.Helper()
	mend := s.refuse("initiate_deregistration")
	if _, err := s.server.Trigger(s.t.Context(), node, machine.Deregister{}, call("")); err == nil {
		s.t.Fatal("the deregistration was recorded")
	}
	mend()
	s.await(node, machine.Failed)
}

// writes puts a row into node_registrations that no registration has.
func (s *nodes) writes(node, registrationID string) {
	s.t.Helper()
	s.sql("INSERT INTO "+s.schema+`.node_registrations VALUES
		($1, $2, 'd', 'e', 'n', '{}', 'registered', 'gone', $3, 'c', $3, $3)`, node, registrationID, s.clock.Now())
}

// rests waits until a registration has nothing to do: it is registered, or needs
// an operator.
func (s *nodes) rests(node string) registration.Status {
	s.t.Helper()
	return s.awaits(node, quick, func(r registration.Status) bool {
		return r.State == machine.Registered || r.State == machine.PartialRegistered || r.State == machine.Failed || r.State == machine.Deregistered
	})
}

// ends waits for the end of a deregistration: by its outcomes or, if many looks have
// not seen them, by its timeout.
func (s *nodes) ends(node string) {
	s.t.Helper()
	const many = 300
	looks := 0
	s.awaits(node, 0, func(r registration.Status) bool {
		if looks++; looks > many && r.State == machine.Deregistering {
			s.clock.advance(16 * time.Second)
		}
		return r.State == machine.Deregistered
	})
}

// takes is another transaction that asks whose service id that of a node is, and stays
// open: a registration is then left to the handlers. give ends it.
func (s *nodes) takes(node string) (give func()) {
	s.t.Helper()
	return s.holds("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", "fsmgen registration "+s.payload(node)["consul_service_id"].(string))
}
