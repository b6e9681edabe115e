package proxytest

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// HTTP forwards the requests of clients to a server that speaks HTTP, unless a
// test answers one in its place. It ends with its test.
type HTTP struct {
	URL string // where clients ask

	server string

	mu     sync.Mutex
	answer StandIn
	asked  []string
	times  map[string]int // that each method was asked with
}

// StandIn answers a request, or reports false: then it is forwarded. It is the
// nth request of its method since [HTTP.Break], from 1.
type StandIn func(n int, w http.ResponseWriter, r *http.Request) bool

// NewHTTP begins to forward to the server at HOST:PORT.
func NewHTTP(t testing.TB, server string) *HTTP {
	t.Helper()
	p := &HTTP{server: server}
	p.Break(nil)
	listener := httptest.NewServer(p)
	t.Cleanup(listener.Close)
	p.URL = listener.URL
	return p
}

// Break lets a test answer from now on; with nil everything is forwarded. What
// was asked before is forgotten.
func (p *HTTP) Break(answer StandIn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer, p.asked, p.times = answer, nil, map[string]int{}
}

// Requests lists what was asked, like "HEAD" and "GET bytes=100-"; a GET that
// takes whatever is there now, without If-Match, is marked as unconditional.
func (p *HTTP) Requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

// ServeHTTP is what clients reach.
func (p *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if answer, n := p.note(r); answer == nil || !answer(n, w, r) {
		answer := p.Ask(r)
		defer answer.Body.Close()
		head(w, answer)
		_, _ = io.Copy(w, answer.Body) // a client that went away is none of the proxy's business
	}
}

func (p *HTTP) note(r *http.Request) (answer StandIn, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	what := strings.TrimSpace(r.Method + " " + r.Header.Get("Range"))
	if r.Method == http.MethodGet && r.Header.Get("If-Match") == "" {
		what += " unconditionally"
	}
	p.asked = append(p.asked, what)
	p.times[r.Method]++
	return p.answer, p.times[r.Method]
}

// Ask passes a request on and returns what the server says. The host stays as it
// was signed.
func (p *HTTP) Ask(r *http.Request) *http.Response {
	out := r.Clone(r.Context())
	out.RequestURI, out.URL.Scheme, out.URL.Host = "", "http", p.server
	answer, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler) // the client went away
	}
	return answer
}

// Begin answers with the first bytes of what the server says, and no more.
func (p *HTTP) Begin(w http.ResponseWriter, r *http.Request, bytes int64) {
	answer := p.Ask(r)
	defer answer.Body.Close()
	head(w, answer)
	_, _ = io.CopyN(w, answer.Body, bytes) // as far as there is something, and a client that reads it
	_ = http.NewResponseController(w).Flush()
}

// head says what the server said before the body.
func head(w http.ResponseWriter, answer *http.Response) {
	for key, values := range answer.Header {
		w.Header()[key] = values
	}
	w.WriteHeader(answer.StatusCode)
}

// Reset ends a connection as a crashed host does.
func Reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a connection that is gone already is what is wanted
	}
	conn.Close()
}
