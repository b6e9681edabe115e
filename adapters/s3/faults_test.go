package s3_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/adapters/s3"
	"github.com/fsmgen/fsmgen/services/images"
)

// A proxy stands between a Store and the real server and does what bad networks
// do. It keeps what was asked.
type proxy struct {
	target string
	mu     sync.Mutex
	asked  []string                                                      // "GET bytes=100-", in order
	fault  func(p *proxy, n int, w http.ResponseWriter, r *http.Request) // of the nth request, from 1
}

// ServeHTTP counts each request and lets the fault have it.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	what := strings.TrimSpace(r.Method + " " + r.Header.Get("Range"))
	if r.Method == http.MethodGet && r.Header.Get("If-Match") == "" {
		what += " unconditionally"
	}
	p.asked = append(p.asked, what)
	n := len(p.asked)
	p.mu.Unlock()
	p.fault(p, n, w, r)
}

func (p *proxy) requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

// ask passes a request on. The host stays as it was signed.
func (p *proxy) ask(r *http.Request) *http.Response {
	out := r.Clone(r.Context())
	out.RequestURI, out.URL.Scheme, out.URL.Host = "", "http", p.target
	answer, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler) // the client went away
	}
	return answer
}

// pass answers with the first bytes of what the server says, or with all of it.
func (p *proxy) pass(w http.ResponseWriter, r *http.Request, bytes int64) {
	answer := p.ask(r)
	defer answer.Body.Close()
	for key, values := range answer.Header {
		w.Header()[key] = values
	}
	w.WriteHeader(answer.StatusCode)
	if bytes < 0 {
		_, _ = io.Copy(w, answer.Body) // a client that went away is none of the proxy's business
		return
	}
	_, _ = io.CopyN(w, answer.Body, bytes)
	_ = http.NewResponseController(w).Flush()
}

const all = -1

// faulty is a shop behind a proxy. Pauses are recorded instead of made.
func faulty(t *testing.T, change func(*s3.Options), fault func(p *proxy, n int, w http.ResponseWriter, r *http.Request)) (shop, *proxy, *[]int) {
	t.Helper()
	p, pauses := &proxy{fault: fault}, &[]int{}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	s := remote(t, func(o *s3.Options) {
		target, err := url.Parse(o.Endpoint)
		if err != nil {
			t.Fatal(err)
		}
		p.target, o.Endpoint = target.Host, server.URL
		o.Attempts = 4
		o.Pause = func(_ context.Context, failed int) error {
			*pauses = append(*pauses, failed)
			return nil
		}
		if change != nil {
			change(o)
		}
	})
	return s, p, pauses
}

const half, size = 1 << 20, 2 << 20

// Each fault hits the first GET; the rest is passed on. What comes out is whole.
// A connection that was used before and is reset without an answer net/http
// replaces by itself, without a pause.
func TestStoreResumes(t *testing.T) {
	resumed := []string{"HEAD", "GET", fmt.Sprintf("GET bytes=%d-", half)}
	for name, tt := range map[string]struct {
		fault func(p *proxy, w http.ResponseWriter, r *http.Request)
		asked []string // nil: the second GET asks for some range
	}{
		"stall in the body": {func(p *proxy, w http.ResponseWriter, r *http.Request) {
			p.pass(w, r, half)
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		}, resumed},
		"stall before the answer": {func(_ *proxy, _ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		}, []string{"HEAD", "GET", "GET"}},
		"connection closed in the body": {func(p *proxy, w http.ResponseWriter, r *http.Request) {
			p.pass(w, r, half)
			panic(http.ErrAbortHandler)
		}, resumed},
		"reset in the body": {func(p *proxy, w http.ResponseWriter, r *http.Request) {
			p.pass(w, r, half)
			reset(w)
		}, nil},
		"reset before the answer": {func(_ *proxy, w http.ResponseWriter, _ *http.Request) { reset(w) }, []string{"HEAD", "GET", "GET"}},
		"chunks that end early": {func(p *proxy, w http.ResponseWriter, r *http.Request) {
			answer := p.ask(r)
			defer answer.Body.Close()
			w.Header().Set("ETag", answer.Header.Get("ETag"))
			_, _ = io.CopyN(w, answer.Body, half)
		}, resumed},
		"length that is too short": {func(p *proxy, w http.ResponseWriter, r *http.Request) {
			answer := p.ask(r)
			defer answer.Body.Close()
			w.Header().Set("ETag", answer.Header.Get("ETag"))
			w.Header().Set("Content-Length", strconv.Itoa(half))
			_, _ = io.CopyN(w, answer.Body, half)
		}, []string{"HEAD", "GET", "GET"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, p, pauses := faulty(t, func(o *s3.Options) { o.StallTimeout = 500 * time.Millisecond }, func(p *proxy, n int, w http.ResponseWriter, r *http.Request) {
				if n == 2 {
					tt.fault(p, w, r)
					return
				}
				p.pass(w, r, all)
			})
			content := random(size)
			s.put("image.tar", content)
			l := newLanding(t)
			object, err := s.store.Fetch(t.Context(), s.bucket, "image.tar", l.temp, l.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			l.holds(t, object, content)
			asked := p.requests()
			if tt.asked != nil && !slices.Equal(asked, tt.asked) || len(asked) != 3 || len(*pauses) > 1 {
				t.Errorf("asked %q, paused %d", asked, *pauses)
			}
		})
	}
}

// reset ends a connection as a crashed host does.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a connection that is gone already is what is wanted
	}
	conn.Close()
}

// Answers that pass are waited for, those that stay are given up, those that
// are final are taken at their word.
func TestStoreRepeatsWhatMayPass(t *testing.T) {
	for status, again := range map[int]bool{500: true, 502: true, 503: true, 504: true, 429: true, 408: true, 400: false, 301: false, 405: false} {
		for _, method := range []string{http.MethodHead, http.MethodGet} {
			for _, times := range []int{3, 4} { // of four attempts
				t.Run(fmt.Sprintf("%d times %d to %s", times, status, method), func(t *testing.T) {
					failed := 0
					s, _, pauses := faulty(t, nil, func(p *proxy, _ int, w http.ResponseWriter, r *http.Request) {
						if r.Method == method && failed < times {
							failed++
							w.WriteHeader(status)
							return
						}
						p.pass(w, r, all)
					})
					s.put("image.tar", "content")
					l := newLanding(t)
					object, err := s.store.Fetch(t.Context(), s.bucket, "image.tar", l.temp, l.path, nil)
					switch {
					case !again:
						if err == nil || failed != 1 {
							t.Errorf("asked %d times: %v", failed, err)
						}
						l.entries(t)
					case times == 4:
						if err == nil || !strings.Contains(err.Error(), strconv.Itoa(status)) || !slices.Equal(*pauses, []int{1, 2, 3}) {
							t.Errorf("paused %d: %v", *pauses, err)
						}
						l.entries(t)
					case err != nil:
						t.Fatal(err)
					default:
						l.holds(t, object, "content")
					}
				})
			}
		}
	}
}

func TestStoreNoticesAnotherObject(t *testing.T) {
	for name, tt := range map[string]struct {
		at   int   // the request in front of which the object is replaced
		want error // of Fetch
		do   func(s shop)
	}{
		"replaced between HEAD and GET":    {2, images.ErrChanged, func(s shop) { s.put("image.tar", random(size-1)) }},
		"replaced between two ranges":      {3, images.ErrChanged, func(s shop) { s.put("image.tar", random(size+1)) }},
		"replaced by one of the same size": {3, images.ErrChanged, func(s shop) { s.put("image.tar", strings.ToUpper(random(size))) }},
		"replaced by a shorter one":        {3, images.ErrChanged, func(s shop) { s.put("image.tar", "short") }},
		"removed between HEAD and GET":     {2, images.ErrNoObject, func(s shop) { s.remove("image.tar") }},
		"removed between two ranges":       {3, images.ErrNoObject, func(s shop) { s.remove("image.tar") }},
	} {
		t.Run(name, func(t *testing.T) {
			var s shop
			s, p, _ := faulty(t, nil, func(p *proxy, n int, w http.ResponseWriter, r *http.Request) {
				if n == tt.at {
					tt.do(s)
				}
				if n == 2 && tt.at == 3 {
					p.pass(w, r, half)
					panic(http.ErrAbortHandler)
				}
				p.pass(w, r, all)
			})
			s.put("image.tar", random(size))
			l := newLanding(t)
			_, err := s.store.Fetch(t.Context(), s.bucket, "image.tar", l.temp, l.path, nil)
			if !errors.Is(err, tt.want) || len(p.requests()) != tt.at {
				t.Errorf("asked %q: %v", p.requests(), err)
			}
			l.entries(t)
		})
	}
}

// Slow is not stalled: what counts is the time without a byte.
func TestStoreWaitsForTheSlow(t *testing.T) {
	const timeout, pieces = 500 * time.Millisecond, 12
	s, p, _ := faulty(t, func(o *s3.Options) { o.StallTimeout = timeout }, func(p *proxy, _ int, w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			p.pass(w, r, all)
			return
		}
		answer := p.ask(r)
		defer answer.Body.Close()
		w.Header().Set("ETag", answer.Header.Get("ETag"))
		tick := time.NewTicker(timeout / 10)
		defer tick.Stop()
		for range pieces {
			<-tick.C
			_, _ = io.CopyN(w, answer.Body, 1)
			_ = http.NewResponseController(w).Flush()
		}
	})
	s.put("image.tar", random(pieces))
	l := newLanding(t)
	began := time.Now()
	object, err := s.store.Fetch(t.Context(), s.bucket, "image.tar", l.temp, l.path, nil)
	if err != nil || time.Since(began) < timeout || len(p.requests()) != 2 {
		t.Fatalf("asked %q, took %s: %v", p.requests(), time.Since(began), err)
	}
	l.holds(t, object, random(pieces))
}

// On a bad line every attempt brings something: that is no reason to give up.
func TestStoreIsPatientWhileItGetsSomewhere(t *testing.T) {
	const piece, pieces = 9 << 20, 4
	s, p, pauses := faulty(t, func(o *s3.Options) { o.Attempts = 2 }, func(p *proxy, _ int, w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			p.pass(w, r, all)
			return
		}
		p.pass(w, r, piece)
		panic(http.ErrAbortHandler)
	})
	content := random(piece * pieces)
	s.put("image.tar", content)
	l := newLanding(t)
	object, err := s.store.Fetch(t.Context(), s.bucket, "image.tar", l.temp, l.path, nil)
	if err != nil {
		t.Fatal(err)
	}
	l.holds(t, object, content)
	if len(p.requests()) < pieces || slices.Max(*pauses) != 1 {
		t.Errorf("asked %q, paused %d", p.requests(), *pauses)
	}
}

func TestStoreDenied(t *testing.T) {
	for name, endpoint := range map[string]string{"wrong secret": "http://fsmgen:wrong@", "no signature": "http://"} {
		t.Run(name, func(t *testing.T) {
			s := remote(t, func(o *s3.Options) {
				wrong, err := s3.FromURL(endpoint + strings.TrimPrefix(o.Endpoint, "http://"))
				if err != nil {
					t.Fatal(err)
				}
				*o = wrong
			})
			s.put("image.tar", "content")
			l := newLanding(t)
			_, err := s.store.Fetch(t.Context(), s.bucket, "image.tar", l.temp, l.path, nil)
			if !errors.Is(err, images.ErrDenied) || !strings.Contains(err.Error(), "check the credentials") {
				t.Errorf("error = %v", err)
			}
			l.entries(t)
		})
	}
}

// Where nothing listens the endpoint is asked as often as was said.
func TestStoreGivesUp(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	var pauses []int
	store, err := s3.New(s3.Options{Endpoint: "http://" + address, PathStyle: true, Attempts: 3, Pause: func(_ context.Context, failed int) error {
		pauses = append(pauses, failed)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	l := newLanding(t)
	_, err = store.Fetch(t.Context(), "bucket", "image.tar", l.temp, l.path, nil)
	if err == nil || !strings.Contains(err.Error(), "gave up after 3 attempts") || !slices.Equal(pauses, []int{1, 2}) {
		t.Errorf("paused %d: %v", pauses, err)
	}
	l.entries(t)
}
