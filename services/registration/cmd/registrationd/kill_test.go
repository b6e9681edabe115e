package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/internal/consulagent"
	"github.com/fsmgen/fsmgen/internal/progress"
)

// unhurried are timeouts that pass on no machine, however busy it is: the nodes stay
// where the test stops them.
var unhurried = []string{
	"--validating-timeout=1h", "--registering-postgres-timeout=1h", "--registering-consul-timeout=1h", "--deregistering-timeout=1h",
}

// stops are the states at work and the row of the table that would end each. A
// node that is named for such a state comes no further: see brake.
var stops = []struct{ state, row string }{
	{"deregistering", "consul_gone_first"},
	{"registering_consul", "consul_success"},
	{"postgres_registered", "start_consul_registration"},
	{"registering_postgres", "postgres_success"},
	{"validating", "validation_success"},
}

// ends are where each node is after the restart.
var ends = map[string]string{
	"validating": "registered", "registering_postgres": "registered", "postgres_registered": "registered", "registering_consul": "registered",
	"registered": "registered", "partial_registered": "partial_registered", "failed": "failed", "deregistering": "deregistered", "deregistered": "deregistered",
}

// TestKill kills registrationd with a node in every state, in both execution
// modes. The next one finds each where it was and brings it to its end, and what
// the record says is there. A node is not unregistered between two transactions.
func TestKill(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]string{"single-step": "--two-step=false", "two-step": "--two-step"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn, schema := schema(t)
			args := slices.Concat([]string{"--store", dsn, "--schema", schema, "--consul", pickyConsul(t), "--name", "here", mode}, unhurried)
			d := start(t, args...)
			b := newBrake(t, dsn, schema)
			want := b.fill(d, mode == "--two-step")
			if err := d.command.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := <-d.ended; err == nil {
				t.Error("it ended before it was killed")
			}
			b.release()
			left := b.states()
			for node, state := range want {
				if left[node] != state {
					t.Errorf("the kill left %s in %q", node, left[node])
				}
			}
			d = start(t, args...)
			for node := range want {
				d.comesToItsEnd(node)
			}
			d.terminates()
		})
	}
}

// comesToItsEnd fails unless a node comes to its end, and its record tells the truth.
func (d *process) comesToItsEnd(node string) {
	d.t.Helper()
	s := d.reaches(node, ends[node])
	row := s.State.String() == "registered" || s.State.String() == "partial_registered"
	service := s.State.String() == "registered"
	if is(s.Row) != row || is(s.Service) != service {
		d.t.Errorf("node %s is %s, and row: %v, service: %v", node, s.State, is(s.Row), is(s.Service))
	}
}

// pickyConsul does not take the node that is to be partial_registered.
func pickyConsul(t *testing.T) string {
	t.Helper()
	consul := consulagent.New(consulagent.Options{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the daemon was killed
		}
		if bytes.Contains(body, []byte("api-partial_registered")) {
			http.Error(w, "Permission denied", http.StatusForbidden)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		consul.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// brake is PostgreSQL that does not record some rows of the table as long as it
// holds a lock: a daemon that wants to waits, in the middle of a transaction.
type brake struct {
	t      *testing.T
	schema string
	c      *pgx.Conn
	pid    uint32 // of c
}

func newBrake(t *testing.T, dsn, schema string) *brake {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) }) // nothing is under way
	b := &brake{t: t, schema: schema, c: c, pid: c.PgConn().PID()}
	b.sql("SET search_path TO " + schema)
	b.sql("CREATE TABLE brakes (node_id text, transition text)")
	b.sql("SELECT pg_advisory_lock(hashtext(current_schema()))")
	b.sql(`CREATE FUNCTION brake() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
		BEGIN
			IF EXISTS (SELECT 1 FROM brakes JOIN registration_records USING (node_id) WHERE registration_id = NEW.registration_id AND transition = NEW.transition) THEN
				PERFORM pg_advisory_xact_lock(hashtext(current_schema()));
			END IF;
			RETURN NEW;
		END $$`)
	b.sql("CREATE TRIGGER a_brake BEFORE INSERT ON registration_history FOR EACH ROW EXECUTE FUNCTION brake()")
	return b
}

func (b *brake) sql(statement string, args ...any) {
	b.t.Helper()
	if _, err := b.c.Exec(b.t.Context(), statement, args...); err != nil {
		b.t.Fatal(err)
	}
}

// fill brings a node into each state, for which it is named.
func (b *brake) fill(d *process, twoStep bool) (want map[string]string) {
	b.t.Helper()
	want = map[string]string{}
	for _, node := range []string{"registered", "deregistered", "partial_registered"} {
		d.registers(node)
		want[node] = node
	}
	d.reads(strings.Replace(event, `"api"`, `"not a name"`, 1), "register", "failed", "--event", "-")
	want["failed"] = "failed"
	d.reaches("deregistered", "registered")
	d.says("deregister", "deregistered")
	for node := range want {
		d.reaches(node, node)
	}
	for _, stop := range stops {
		if stop.state == "postgres_registered" && !twoStep {
			continue // no place to be in
		}
		b.sql("INSERT INTO brakes VALUES ($1, $2)", stop.state, stop.row)
		d.registers(stop.state)
		if stop.state == "deregistering" {
			d.reaches(stop.state, "registered")
			d.says("deregister", stop.state)
		}
		want[stop.state] = stop.state
		b.awaits(len(want) - resting)
	}
	return want
}

// resting is how many nodes wait for no lock.
const resting = 4

// awaits waits until so many wait for the lock.
func (b *brake) awaits(many int) {
	b.t.Helper()
	progress.Until(b.t, fmt.Sprintf("%d to wait", many), func() (any, bool) {
		var wait int
		const query = "SELECT count(*) FROM pg_stat_activity WHERE $1::int = ANY (pg_blocking_pids(pid)) AND wait_event = 'advisory'"
		if err := b.c.QueryRow(b.t.Context(), query, b.pid).Scan(&wait); err != nil {
			b.t.Fatal(err)
		}
		return []any{wait, b.states()}, wait == many
	})
}

// release undoes what waits, as a server does that notices the end of its
// client, and lets all pass.
func (b *brake) release() {
	b.t.Helper()
	b.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE $1::int = ANY (pg_blocking_pids(pid))", b.pid)
	b.awaits(0)
	b.sql("DELETE FROM brakes")
	b.sql("SELECT pg_advisory_unlock_all()")
}

// states are those of all nodes.
func (b *brake) states() map[string]string {
	b.t.Helper()
	rows, err := b.c.Query(b.t.Context(), "SELECT node_id, state FROM registration_records")
	if err != nil {
		b.t.Fatal(err)
	}
	out := map[string]string{}
	var node, state string
	if _, err := pgx.ForEachRow(rows, []any{&node, &state}, func() error { out[node] = state; return nil }); err != nil {
		b.t.Fatal(err)
	}
	return out
}
