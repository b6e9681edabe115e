package s3_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/adapters/object"
	"github.com/fsmgen/fsmgen/adapters/s3"
	"github.com/fsmgen/fsmgen/internal/proxytest"
)

// faulty is a shop behind a proxy. Pauses are recorded instead of made.
func faulty(t *testing.T, change func(*s3.Options), fault func(p *proxytest.HTTP, n int, w http.ResponseWriter, r *http.Request) bool) (s shop, p *proxytest.HTTP, pauses *[]int) {
	t.Helper()
	pauses = &[]int{}
	s = remote(t, func(o *s3.Options) {
		target, err := url.Parse(o.Endpoint)
		if err != nil {
			t.Fatal(err)
		}
		p = proxytest.NewHTTP(t, target.Host)
		p.Break(func(n int, w http.ResponseWriter, r *http.Request) bool { return fault(p, n, w, r) })
		o.Endpoint, o.Attempts = p.URL, 4
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
		fault func(p *proxytest.HTTP, w http.ResponseWriter, r *http.Request)
		asked []string // nil: the second GET asks for some range
	}{
		"stall in the body": {func(p *proxytest.HTTP, w http.ResponseWriter, r *http.Request) {
			p.Begin(w, r, half)
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		}, resumed},
		"stall before the answer": {func(_ *proxytest.HTTP, _ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		}, []string{"HEAD", "GET", "GET"}},
		"connection closed in the body": {func(p *proxytest.HTTP, w http.ResponseWriter, r *http.Request) {
			p.Begin(w, r, half)
			panic(http.ErrAbortHandler)
		}, resumed},
		"reset in the body": {func(p *proxytest.HTTP, w http.ResponseWriter, r *http.Request) {
			p.Begin(w, r, half)
			proxytest.Reset(w)
		}, nil},
		"reset before the answer": {func(_ *proxytest.HTTP, w http.ResponseWriter, _ *http.Request) { proxytest.Reset(w) }, []string{"HEAD", "GET", "GET"}},
		"chunks that end early": {func(p *proxytest.HTTP, w http.ResponseWriter, r *http.Request) {
			answer := p.Ask(r)
			defer answer.Body.Close()
			w.Header().Set("ETag", answer.Header.Get("ETag"))
			_, _ = io.CopyN(w, answer.Body, half)
		}, resumed},
		"length that is too short": {func(p *proxytest.HTTP, w http.ResponseWriter, r *http.Request) {
			answer := p.Ask(r)
			defer answer.Body.Close()
			w.Header().Set("ETag", answer.Header.Get("ETag"))
			w.Header().Set("Content-Length", strconv.Itoa(half))
			_, _ = io.CopyN(w, answer.Body, half)
		}, []string{"HEAD", "GET", "GET"}},
	} {
		t.Run(name, func(t *testing.T) {
			stall := time.Hour // of the endpoint, not of a busy machine
			if strings.HasPrefix(name, "stall") {
				stall = 3 * time.Second
			}
			s, p, pauses := faulty(t, func(o *s3.Options) { o.StallTimeout = stall }, func(p *proxytest.HTTP, n int, w http.ResponseWriter, r *http.Request) bool {
				isFirst := r.Method == http.MethodGet && n == 1
				if isFirst {
					tt.fault(p, w, r)
				}
				return isFirst
			})
			content := random(size)
			s.put("image.tar", content)
			l := newLanding(t)
			object, err := s.store.Fetch(t.Context(), s.bucket, "image.tar", l.temp, l.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			l.holds(t, object, content)
			asked := p.Requests()
			if tt.asked != nil && !slices.Equal(asked, tt.asked) || len(asked) != 3 || len(*pauses) > 1 {
				t.Errorf("asked %q, paused %d", asked, *pauses)
			}
		})
	}
}

// Answers that pass are waited for, those that stay are given up, those that
// are final are taken at their word.
func TestStoreRepeatsWhatMayPass(t *testing.T) {
	for status, again := range map[int]bool{500: true, 502: true, 503: true, 504: true, 429: true, 408: true, 400: false, 301: false, 405: false} {
		for _, method := range []string{http.MethodHead, http.MethodGet} {
			for _, times := range []int{3, 4} { // of four attempts
				t.Run(fmt.Sprintf("%d times %d to %s", times, status, method), func(t *testing.T) {
					failed := 0
					s, _, pauses := faulty(t, nil, func(_ *proxytest.HTTP, _ int, w http.ResponseWriter, r *http.Request) bool {
						fails := r.Method == method && failed < times
						if fails {
							failed++
							w.WriteHeader(status)
						}
						return fails
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
		at   int   // the GET in front of which the object is replaced
		want error // of Fetch
		do   func(s shop)
	}{
		"replaced between HEAD and GET":    {1, object.ErrChanged, func(s shop) { s.put("image.tar", random(size-1)) }},
		"replaced between two ranges":      {2, object.ErrChanged, func(s shop) { s.put("image.tar", random(size+1)) }},
		"replaced by one of the same size": {2, object.ErrChanged, func(s shop) { s.put("image.tar", strings.ToUpper(random(size))) }},
		"replaced by a shorter one":        {2, object.ErrChanged, func(s shop) { s.put("image.tar", "short") }},
		"removed between HEAD and GET":     {1, object.ErrNoObject, func(s shop) { s.remove("image.tar") }},
		"removed between two ranges":       {2, object.ErrNoObject, func(s shop) { s.remove("image.tar") }},
	} {
		t.Run(name, func(t *testing.T) {
			var s shop
			s, p, _ := faulty(t, nil, func(p *proxytest.HTTP, n int, w http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodHead {
					return false
				}
				if n == tt.at {
					tt.do(s)
				}
				if n < tt.at {
					p.Begin(w, r, half)
					panic(http.ErrAbortHandler)
				}
				return false
			})
			s.put("image.tar", random(size))
			l := newLanding(t)
			_, err := s.store.Fetch(t.Context(), s.bucket, "image.tar", l.temp, l.path, nil)
			if !errors.Is(err, tt.want) || len(p.Requests()) != 1+tt.at {
				t.Errorf("asked %q: %v", p.Requests(), err)
			}
			l.entries(t)
		})
	}
}

// Slow is not stalled: what counts is the time without a byte.
func TestStoreWaitsForTheSlow(t *testing.T) {
	const timeout, pieces = 5 * time.Second, 12 // a busy machine loses less than that between two pieces
	s, p, _ := faulty(t, func(o *s3.Options) { o.StallTimeout = timeout }, func(p *proxytest.HTTP, _ int, w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodHead {
			return false
		}
		answer := p.Ask(r)
		defer answer.Body.Close()
		w.Header().Set("ETag", answer.Header.Get("ETag"))
		tick := time.NewTicker(timeout / 10)
		defer tick.Stop()
		for range pieces {
			<-tick.C
			_, _ = io.CopyN(w, answer.Body, 1)
			_ = http.NewResponseController(w).Flush()
		}
		return true
	})
	s.put("image.tar", random(pieces))
	l := newLanding(t)
	began := time.Now()
	object, err := s.store.Fetch(t.Context(), s.bucket, "image.tar", l.temp, l.path, nil)
	if err != nil || time.Since(began) < timeout || len(p.Requests()) != 2 {
		t.Fatalf("asked %q, took %s: %v", p.Requests(), time.Since(began), err)
	}
	l.holds(t, object, random(pieces))
}

// On a bad line every attempt brings something: that is no reason to give up.
func TestStoreIsPatientWhileItGetsSomewhere(t *testing.T) {
	const piece, pieces = 9 << 20, 4
	s, p, pauses := faulty(t, func(o *s3.Options) { o.Attempts = 2 }, func(p *proxytest.HTTP, _ int, w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodHead {
			return false
		}
		p.Begin(w, r, piece)
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
	if len(p.Requests()) < pieces || slices.Max(*pauses) != 1 {
		t.Errorf("asked %q, paused %d", p.Requests(), *pauses)
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
			if !errors.Is(err, object.ErrDenied) || !strings.Contains(err.Error(), "check the credentials") {
				t.Errorf("error = %v", err)
			}
			l.entries(t)
		})
	}
}

// Where nothing listens the endpoint is asked as often as was said.
func TestStoreGivesUp(t *testing.T) {
	var pauses []int
	store, err := s3.New(s3.Options{Endpoint: "http://127.0.0.1:1", PathStyle: true, Attempts: 3, Pause: func(_ context.Context, failed int) error {
		pauses = append(pauses, failed)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	l := newLanding(t)
	_, err = store.Fetch(t.Context(), "bucket", "image.tar", l.temp, l.path, nil)
	if err == nil || !strings.Contains(err.Error(), "3 attempts in a row failed") || !slices.Equal(pauses, []int{1, 2}) {
		t.Errorf("paused %d: %v", pauses, err)
	}
	l.entries(t)
}
