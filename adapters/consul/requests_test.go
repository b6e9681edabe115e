package consul_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/adapters/consul"
	"github.com/fsmgen/fsmgen/adapters/discovery"
)

// recorder forwards requests to an agent and keeps them.
type recorder struct {
	forward http.Handler
	mu      sync.Mutex
	asked   []*http.Request
}

// ServeHTTP keeps the request and forwards it.
func (r *recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	r.asked = append(r.asked, q)
	r.mu.Unlock()
	r.forward.ServeHTTP(w, q)
}

func (r *recorder) requests() []*http.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*http.Request{}, r.asked...)
}

// record returns a client whose requests to an agent are kept.
func record(t *testing.T, o consul.Options) (*consul.Client, *recorder) {
	t.Helper()
	target, err := url.Parse(o.Address)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{forward: httputil.NewSingleHostReverseProxy(target)}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	o.Address = server.URL
	return open(t, o), r
}

// onAgents runs a test on the agent of this repository and on a real one.
func onAgents(t *testing.T, test func(*testing.T, consul.Options)) {
	t.Run("in process", func(t *testing.T) {
		t.Parallel()
		o, _ := inProcess(t)
		test(t, o)
	})
	t.Run("Consul", func(t *testing.T) {
		t.Parallel()
		test(t, agent(t))
	})
}

// TestCorrelationHeader: every request of a call carries the correlation id of its context.
func TestCorrelationHeader(t *testing.T) {
	t.Parallel()
	onAgents(t, func(t *testing.T, o consul.Options) {
		c, r := record(t, o)
		ctx := discovery.WithCorrelation(t.Context(), "correlation-7")
		s := discovery.Service{ID: "correlated", Name: "correlated", TTL: time.Hour, RegistrationID: "correlated-1"}
		_, instances := c.Instances(ctx, s.Name)
		_, sessions := c.Sessions(ctx)
		for _, err := range []error{
			c.Register(ctx, s), c.Heartbeat(ctx, s.RegistrationID), instances, sessions, c.Deregister(ctx, s.ID, s.RegistrationID),
		} {
			if err != nil {
				t.Error(err)
			}
		}
		if n := len(r.requests()); n != 7 {
			t.Errorf("there were %d requests", n)
		}
		for _, q := range r.requests() {
			if id := q.Header.Get("X-Correlation-ID"); id != "correlation-7" {
				t.Errorf("%s %s has the correlation id %q", q.Method, q.URL, id)
			}
		}
		if _, err := c.Names(t.Context()); err != nil {
			t.Error(err)
		}
		asked := r.requests()
		if _, there := asked[len(asked)-1].Header["X-Correlation-Id"]; there {
			t.Error("a request without a correlation id has the header")
		}
	})
}

// TestInvalidRequestsAreNotSent: an agent would take these IDs, and then answer about others.
func TestInvalidRequestsAreNotSent(t *testing.T) {
	t.Parallel()
	onAgents(t, func(t *testing.T, o consul.Options) {
		c, r := record(t, o)
		valid := discovery.Service{ID: "a", Name: "a", TTL: time.Hour, RegistrationID: "b"}
		for _, id := range []string{"", ".", "..", "a/", "/a", "a//b", "a/../b", "../check/deregister/x", "new\nline", "nul\x00", "\xff"} {
			service, registration := valid, valid
			service.ID, registration.RegistrationID = id, id
			_, instances := c.Instances(t.Context(), id)
			for _, err := range []error{
				c.Register(t.Context(), service), c.Register(t.Context(), registration), c.Heartbeat(t.Context(), id),
				c.Deregister(t.Context(), id, "b"), c.Deregister(t.Context(), "a", id), instances,
				c.Withdraw(t.Context(), discovery.Instance{ID: id, Name: "a", Node: "n", RegistrationID: "b"}),
				c.RemoveCheck(t.Context(), discovery.Check{ID: id, Node: "n"}), c.DestroySession(t.Context(), id),
			} {
				invalid(t, err)
			}
		}
		invalid(t, c.DestroySession(t.Context(), "bogus"))
		for _, id := range []string{"two\r\nlines", "nul\x00"} {
			invalid(t, c.Heartbeat(discovery.WithCorrelation(t.Context(), id), "b"))
		}
		if asked := r.requests(); len(asked) != 0 {
			t.Errorf("the agent was asked: %s %s", asked[0].Method, asked[0].URL)
		}
	})
}

// TestAgentRefuses: what an agent finds too long is an invalid request.
func TestAgentRefuses(t *testing.T) {
	t.Parallel()
	onAgents(t, func(t *testing.T, o consul.Options) {
		s := discovery.Service{ID: "too-long", Name: "too-long", TTL: time.Hour, RegistrationID: "too-long-1"}
		ctx := discovery.WithCorrelation(t.Context(), strings.Repeat("x", 513))
		invalid(t, open(t, o).Register(ctx, s))
		s.NodeID = strings.Repeat("x", 513)
		invalid(t, open(t, o).Register(t.Context(), s))
		if found, err := open(t, o).Instances(t.Context(), s.Name); err != nil || len(found) != 0 {
			t.Errorf("%+v is registered, %v", found, err)
		}
	})
}

func invalid(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, discovery.ErrInvalid) || complete(err) != nil {
		t.Errorf("the error is %v, want a complete %v", err, discovery.ErrInvalid)
	}
}
