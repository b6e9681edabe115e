package discoverytest

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"

	"github.com/fsmgen/fsmgen/adapters/discovery"
)

// recorder forwards requests to the agent and keeps them.
type recorder struct {
	forward http.Handler
	mu      sync.Mutex
	asked   []*http.Request
}

func (l *lab) recorder() *recorder {
	l.Helper()
	target, err := url.Parse(l.Options.Address)
	l.must(err)
	return &recorder{forward: httputil.NewSingleHostReverseProxy(target)}
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

func correlation(l *lab) {
	r := l.recorder()
	server := httptest.NewServer(r)
	l.Cleanup(server.Close)
	c := l.with(l.at(server.URL))
	ctx := discovery.WithCorrelation(l.Context(), "correlation-7")
	s := l.service(1)
	l.must(c.Register(ctx, s))
	l.must(c.Heartbeat(ctx, s.RegistrationID))
	if id := l.there(s, discovery.Passing).CorrelationID; id != "correlation-7" {
		l.Errorf("the service has the correlation id %q", id)
	}
	_, err := c.Instances(ctx, s.Name)
	l.must(err)
	_, err = c.Sessions(ctx)
	l.must(err)
	l.must(c.Deregister(ctx, s.ID, s.RegistrationID))
	if n := len(r.requests()); n != 7 {
		l.Errorf("there were %d requests", n)
	}
	for _, q := range r.requests() {
		if id := q.Header.Get("X-Correlation-ID"); id != "correlation-7" {
			l.Errorf("%s %s has the correlation id %q", q.Method, q.URL, id)
		}
	}
	_, err = c.Names(l.Context())
	l.must(err)
	asked := r.requests()
	if _, there := asked[len(asked)-1].Header["X-Correlation-Id"]; there {
		l.Error("a request without a correlation id has the header")
	}
}

func invalidRequests(l *lab) {
	r := l.recorder()
	server := httptest.NewServer(r)
	l.Cleanup(server.Close)
	c := l.with(l.at(server.URL))
	register := func(change func(*discovery.Service)) error {
		s := l.service(1)
		change(&s)
		return c.Register(l.Context(), s)
	}
	// An agent would take these IDs, and then answer about others.
	for _, id := range []string{"", ".", "..", "a/", "/a", "a//b", "a/../b", "../check/deregister/x", "new\nline", "nul\x00", "\xff"} {
		l.fails(register(func(s *discovery.Service) { s.ID = id }), discovery.ErrInvalid)
		l.fails(register(func(s *discovery.Service) { s.RegistrationID = id }), discovery.ErrInvalid)
		l.fails(c.Heartbeat(l.Context(), id), discovery.ErrInvalid)
		l.fails(c.Deregister(l.Context(), id, "life"), discovery.ErrInvalid)
		l.fails(c.Deregister(l.Context(), l.prefix, id), discovery.ErrInvalid)
	}
	l.fails(register(func(s *discovery.Service) { s.Name = "" }), discovery.ErrInvalid)
	l.fails(register(func(s *discovery.Service) { s.TTL = 0 }), discovery.ErrInvalid)
	l.fails(register(func(s *discovery.Service) { s.TTL = -1 }), discovery.ErrInvalid)
	for _, id := range []string{"two\r\nlines", "nul\x00"} {
		l.fails(c.Heartbeat(discovery.WithCorrelation(l.Context(), id), "life"), discovery.ErrInvalid)
	}
	if asked := r.requests(); len(asked) != 0 {
		l.Errorf("the agent was asked: %s %s", asked[0].Method, asked[0].URL)
	}
	// These the agent refuses.
	l.fails(register(func(s *discovery.Service) { s.NodeID = strings.Repeat("x", 513) }), discovery.ErrInvalid)
	ctx := discovery.WithCorrelation(l.Context(), strings.Repeat("x", 513))
	l.fails(c.Register(ctx, l.service(1)), discovery.ErrInvalid)
	l.nothing()
}
