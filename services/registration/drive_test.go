package registration_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	machine "github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/fsmgen/fsmgen/services/registration"
)

// payload is a payload without a fault.
func payload(node string) map[string]any { return (&fixture{}).payload(node) }

// payload is one whose service has the fixture's own names.
func (s *fixture) payload(node string) map[string]any {
	return map[string]any{
		"node_id": node, "deployment_id": "blue", "environment": "production", "network_id": "net-1",
		"consul_service_id": "svc-" + node + s.suffix, "consul_service_name": "onex-node" + s.suffix, "consul_tags": []string{"a", "b"},
		"postgres_record": map[string]any{"host": "10.0.0.7"},
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
func (s *fixture) registers(node string) registration.Accepted {
	s.t.Helper()
	return s.registersWith(node, s.payload(node))
}

func (s *fixture) registersWith(node string, payload any) registration.Accepted {
	s.t.Helper()
	a, err := s.server.Register(s.t.Context(), node, encoded(s.t, payload), registration.Call{})
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// live registers a node, which needs no time of the clock.
func (s *fixture) live(node string) registration.Status {
	s.t.Helper()
	s.registers(node)
	return s.await(node, machine.Registered)
}

// leaves deregisters a node, likewise.
func (s *fixture) leaves(node string) registration.Status {
	s.t.Helper()
	s.fires(node, machine.Deregister{})
	return s.await(node, machine.Deregistered)
}

// fires fires a trigger, which must be accepted.
func (s *fixture) fires(node string, e machine.Payload) registration.Accepted {
	s.t.Helper()
	a, err := s.server.Trigger(s.t.Context(), node, e, registration.Call{})
	if err != nil {
		s.t.Fatalf("%s: %v", e.EventName(), err)
	}
	return a
}

func (s *fixture) status(node string) registration.Status {
	s.t.Helper()
	status, err := s.server.Recorded(s.t.Context(), node)
	if err != nil {
		s.t.Fatal(err)
	}
	return status
}

// await waits until the node is in a state. The clock stands still.
func (s *fixture) await(node string, state machine.State) registration.Status {
	s.t.Helper()
	return s.reach(node, state, 0)
}

// reach waits until the node is in a state. The clock runs while an effect waits
// to be repeated, and only then: a test that is slow loses nothing.
func (s *fixture) reach(node string, state machine.State, step time.Duration) registration.Status {
	s.t.Helper()
	return s.awaits(node, step, func(r registration.Status) bool { return r.State == state })
}

// awaits is reach for a condition.
func (s *fixture) awaits(node string, step time.Duration, reached func(registration.Status) bool) registration.Status {
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

// effects reports whether an effect waits to be repeated, and how many attempts there were.
func (s *fixture) effects() (waiting bool, attempts int64) {
	s.t.Helper()
	const query = "SELECT count(CASE WHEN state = 'retry_wait' AND NOT cancelled THEN 1 END) > 0, CAST(coalesce(sum(attempts), 0) AS bigint) FROM %sfsm_outbox"
	var err error
	if s.pool != nil {
		err = s.pool.QueryRow(s.t.Context(), fmt.Sprintf(query, s.options.Schema+".")).Scan(&waiting, &attempts)
	} else {
		err = s.file().QueryRow(fmt.Sprintf(query, "")).Scan(&waiting, &attempts)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return waiting, attempts
}

// file is the database of a SQLite fixture, for reading.
func (s *fixture) file() *sql.DB {
	s.t.Helper()
	if s.reader == nil {
		var err error
		if s.reader, err = sql.Open("sqlite", "file:"+s.options.Store+"?mode=ro&_busy_timeout=10000"); err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { _ = s.reader.Close() }) // nothing was written
	}
	return s.reader
}

// trace is the way of a node: EVENT state, one after the other.
func (s *fixture) trace(node string) string {
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

// wantTrace compares the way of a node.
func (s *fixture) wantTrace(node, want string) {
	s.t.Helper()
	if got := s.trace(node); got != want {
		s.t.Errorf("node %s went\n%s\nnot\n%s", node, got, want)
	}
}

// advertised lists what Consul advertises, as service=registration.
func (s *fixture) advertised() (out []registration.Instance) {
	s.t.Helper()
	found, err := s.client.Instances(context.Background(), "onex-node"+s.suffix)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, i := range found {
		if i.RegistrationID != "" {
			out = append(out, i)
		}
	}
	return out
}

// owner is the registration that has the row of a node, "" for none.
func (s *fixture) owner(node string) string {
	s.t.Helper()
	r := s.options.Registry
	if s.pool != nil {
		r = registration.NewRegistry(s.pool, s.clock)
	}
	if r == nil {
		return s.ownerBySQL(node)
	}
	ids, err := r.Owners(s.t.Context(), []string{node})
	if err != nil {
		s.t.Fatal(err)
	}
	return ids[node]
}

// ownerBySQL asks the file of a SQLite fixture.
func (s *fixture) ownerBySQL(node string) string {
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

// wantBoth fails unless exactly these are there for a node: its row and its
// service, both of the registration.
func (s *fixture) wantBoth(node string, row, service bool) {
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

// raw is Consul's own client, without the daemon's proxy.
func (s *fixture) raw() *api.Client {
	s.t.Helper()
	c, err := api.NewClient(&api.Config{Address: s.url})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}
