package registration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/internal/consulagent"
	"github.com/fsmgen/fsmgen/internal/proxytest"
	"github.com/fsmgen/fsmgen/services/registration"
)

// watch is an agent that looks for the row of a node whenever it is asked to
// advertise it, and a look at both systems again and again: document 001, Dual
// Registration Order, the database has its record before the node becomes
// discoverable, and service discovery advertises only tracked nodes.
type watch struct {
	pool   *pgxpool.Pool
	schema string
	agent  http.Handler

	forbidden func(node string) bool // to be advertised; nil: none is

	mu         sync.Mutex
	registered int      // requests to advertise
	looks      int      // at both systems
	broken     []string // promises
	closed     bool     // to all nodes
	late       bool     // what an ended registration asked for may arrive now
}

// watched puts a watched agent behind the fixture, which must not be open yet, and
// watches until the test ends. One statement of its registry is one request.
func (s *fixture) watched() *watch {
	s.t.Helper()
	w := &watch{pool: s.watcher(), schema: s.options.Schema, agent: consulagent.New(consulagent.Options{Now: s.clock.Now})}
	server := httptest.NewServer(w)
	s.t.Cleanup(server.Close)
	s.url = server.URL
	s.consul = proxytest.New(s.t, "tcp", strings.TrimPrefix(server.URL, "http://"))
	s.client = s.connect(s.url)
	through := s.connect("http://" + s.consul.Address())
	s.options.Discovery, s.options.Catalog = through, through

	config := s.pool.Config()
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.ConnConfig.DialFunc = s.database.Dial
	s.options.Registry = registration.NewRegistry(openPool(s.t, config), s.clock)
	w.begin(s.t, s.client, "onex-node")
	return w
}

// begin looks until the test ends, and fails it for each broken promise.
func (w *watch) begin(t *testing.T, catalog registration.Catalog, name string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		const pause = 10 * time.Millisecond // between two looks
		for ctx.Err() == nil {
			if err := w.look(ctx, catalog, name); err != nil && ctx.Err() == nil {
				w.breaks("the watch is blind: %v", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, promise := range w.broken {
			t.Error(promise)
		}
		if w.looks == 0 {
			t.Error("there was no look at both systems")
		}
	})
}

// look takes what is advertised before and after it reads the rows: such a
// service was there when its row was not.
func (w *watch) look(ctx context.Context, catalog registration.Catalog, name string) error {
	before, err := catalog.Instances(ctx, name)
	if err != nil {
		return err
	}
	rows, err := w.rows(ctx)
	if err != nil {
		return err
	}
	after, err := catalog.Instances(ctx, name)
	if err != nil {
		return err
	}
	still := map[string]bool{}
	for _, i := range after {
		still[i.ID+" "+i.RegistrationID] = true
	}
	for _, i := range before {
		if still[i.ID+" "+i.RegistrationID] && !rows[i.NodeID] {
			w.breaks("node %s is advertised by %s without a row", i.NodeID, i.RegistrationID)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks++
	return nil
}

// rows are the nodes that have one. There are none before the daemon has made
// its tables.
func (w *watch) rows(ctx context.Context) (map[string]bool, error) {
	out := map[string]bool{}
	var made bool
	if err := w.pool.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", w.schema+".node_registrations").Scan(&made); err != nil || !made {
		return out, err
	}
	rows, err := w.pool.Query(ctx, "SELECT node_id FROM "+w.schema+".node_registrations")
	if err != nil {
		return nil, err
	}
	var node string
	_, err = pgx.ForEachRow(rows, []any{&node}, func() error { out[node] = true; return nil })
	return out, err
}

// ServeHTTP looks for the row before the agent may advertise.
func (w *watch) ServeHTTP(answer http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/agent/service/register" {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the request is not whole, and neither would be what it asks
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var asked struct{ Meta map[string]string }
		if json.Unmarshal(body, &asked) == nil {
			w.asked(r.Context(), asked.Meta["node_id"], asked.Meta["registration_id"])
			if w.forbids(asked.Meta["node_id"]) {
				http.Error(answer, "Permission denied", http.StatusForbidden)
				return
			}
		}
	}
	w.agent.ServeHTTP(answer, r)
}

func (w *watch) asked(ctx context.Context, node, id string) {
	rows, err := w.rows(context.WithoutCancel(ctx))
	if err != nil {
		w.breaks("the watch is blind: %v", err)
	}
	w.mu.Lock()
	w.registered++
	w.mu.Unlock()
	if err == nil && !rows[node] {
		w.breaks("%s asked to advertise node %s, which has no row", id, node)
	}
}

// forbid has the agent take no node, or all again.
func (w *watch) forbid(on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = on
}

func (w *watch) forbids(node string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed || w.forbidden != nil && w.forbidden(node)
}

func (w *watch) breaks(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	const enough = 5
	if !w.late && len(w.broken) < enough {
		w.broken = append(w.broken, fmt.Sprintf(format, args...))
	}
}

// expectLate says that from now on a network may deliver what an ended
// registration asked for: the orphan that the collectors are for.
func (w *watch) expectLate() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.late = true
}

// asks counts the requests to advertise.
func (w *watch) asks() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.registered
}

// looked counts the looks at both systems.
func (w *watch) looked() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.looks
}

// TestWatchSees: the watch itself, with a service that has no row.
func TestWatchSees(t *testing.T) {
	t.Parallel()
	s := newFixture(t).open()
	w := &watch{pool: s.watcher(), schema: s.options.Schema, agent: http.NotFoundHandler()}
	if err := s.client.Register(t.Context(), serviceOf("n1", "00000000-0000-7000-8000-000000000001")); err != nil {
		t.Fatal(err)
	}
	if err := w.look(t.Context(), s.client, "onex-node"); err != nil || len(w.broken) != 1 || !strings.Contains(w.broken[0], "without a row") {
		t.Errorf("it saw %q, %v", w.broken, err)
	}
	body := strings.NewReader(`{"Meta": {"node_id": "n2", "registration_id": "r"}}`)
	w.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPut, "/v1/agent/service/register", body))
	if w.asks() != 1 || len(w.broken) != 2 || !strings.Contains(w.broken[1], "which has no row") {
		t.Errorf("it heard %q", w.broken)
	}
}
