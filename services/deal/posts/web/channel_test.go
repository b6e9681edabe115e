package web_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/services/deal/posts"
	"github.com/fsmgen/fsmgen/services/deal/posts/posttest"
	"github.com/fsmgen/fsmgen/services/deal/posts/web"
)

// server keeps posts as the package comment describes.
type server struct {
	mu    sync.Mutex
	posts map[string][]byte
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	content, err := io.ReadAll(r.Body)
	key := strings.TrimPrefix(r.URL.Path, "/channel/posts/")
	s.mu.Lock()
	defer s.mu.Unlock()
	there, taken := s.posts[key]
	switch {
	case err != nil || r.Header.Get("Authorization") != "Bearer secret":
		w.WriteHeader(http.StatusBadRequest)
	case r.Method == http.MethodGet && taken:
		_, _ = w.Write(there)
	case r.Method == http.MethodGet:
		w.WriteHeader(http.StatusNotFound)
	case r.Method != http.MethodPut || r.Header.Get("Idempotency-Key") != key:
		w.WriteHeader(http.StatusBadRequest)
	case taken && !bytes.Equal(there, content):
		w.WriteHeader(http.StatusConflict)
	case taken:
		w.WriteHeader(http.StatusNoContent)
	default:
		s.posts[key] = content
		w.WriteHeader(http.StatusCreated)
	}
}

func serve(t *testing.T, h http.Handler) (*httptest.Server, *web.Channel) {
	t.Helper()
	listening := httptest.NewServer(h)
	t.Cleanup(listening.Close)
	return listening, channel(t, web.Config{URL: listening.URL + "/channel/posts/", Token: "secret", Transport: listening.Client().Transport})
}

func channel(t *testing.T, c web.Config) *web.Channel {
	t.Helper()
	ch, err := web.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func TestConformance(t *testing.T) {
	t.Parallel()
	posttest.Run(t, func(t *testing.T) posttest.Place {
		s := &server{posts: map[string][]byte{}}
		listening, ch := serve(t, s)
		change := func(f func()) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			f()
			return nil
		}
		return posttest.Place{
			Channel: ch,
			Edit:    func(key string, content []byte) error { return change(func() { s.posts[key] = content }) },
			Delete:  func(key string) error { return change(func() { delete(s.posts, key) }) },
			Cut:     func() error { listening.Close(); return nil },
		}
	})
}

// TestStatuses: what each status says of a post, of PUT and of GET.
func TestStatuses(t *testing.T) {
	t.Parallel()
	const gone, seen, open = "gone", "seen", "open"
	for _, tt := range []struct {
		status int
		put    error  // nil: there; errOpen: may be tried again
		get    string // what the look says
	}{
		{200, nil, seen}, {201, nil, open}, {202, errOpen, open}, {204, nil, open}, {206, errOpen, open},
		{301, errOpen, open}, {302, errOpen, open}, {304, errOpen, open}, {307, errOpen, open},
		{400, posts.ErrRefused, open}, {401, errOpen, open}, {403, posts.ErrRefused, open}, {404, posts.ErrRefused, gone},
		{405, posts.ErrRefused, open}, {407, errOpen, open}, {408, errOpen, open}, {409, posts.ErrConflict, open},
		{410, posts.ErrRefused, gone}, {413, posts.ErrRefused, open}, {422, posts.ErrConflict, open}, {425, errOpen, open},
		{429, errOpen, open}, {451, posts.ErrRefused, open},
		{500, errOpen, open}, {501, errOpen, open}, {502, errOpen, open}, {503, errOpen, open}, {504, errOpen, open}, {599, errOpen, open},
	} {
		_, ch := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(tt.status)
		}))
		err := ch.Publish(t.Context(), "key", []byte("x"))
		if !errors.Is(kind(err), tt.put) {
			t.Errorf("PUT with %d: %v, want %v", tt.status, err, tt.put)
		}
		var status *web.StatusError
		if err != nil && (!errors.As(err, &status) || status.Status != tt.status) {
			t.Errorf("PUT with %d has the error %v", tt.status, err)
		}
		sight, err := ch.Look(t.Context(), "key")
		got := gone
		switch {
		case err != nil:
			got = open
		case sight.Seen:
			got = seen
		}
		if got != tt.get || posts.Permanent(err) {
			t.Errorf("GET with %d: %+v, %v, want %s", tt.status, sight, err, tt.get)
		}
	}
}

var errOpen = errors.New("may be tried again")

func kind(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, posts.ErrConflict):
		return posts.ErrConflict
	case errors.Is(err, posts.ErrRefused):
		return posts.ErrRefused
	}
	return errOpen
}

// TestATokenGoesNowhereElse: a redirect is not followed.
func TestATokenGoesNowhereElse(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 10)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.Method }))
	t.Cleanup(elsewhere.Close)
	_, ch := serve(t, http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	if err := ch.Publish(t.Context(), "key", []byte("x")); !errors.Is(kind(err), errOpen) {
		t.Error(err)
	}
	if sight, err := ch.Look(t.Context(), "key"); err == nil {
		t.Errorf("a redirect shows %+v", sight)
	}
	if len(asked) > 0 {
		t.Errorf("the other server got %s", <-asked)
	}
}

// TestASilentServer: neither a server that does not answer nor one that stops within the body says
// anything of the post.
func TestASilentServer(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"no answer": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"half a body": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "10")
			_, _ = w.Write([]byte("half"))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
		"a body that is cut": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			_, _ = w.Write([]byte("half"))
			panic(http.ErrAbortHandler)
		},
	} {
		listening := httptest.NewServer(answer)
		t.Cleanup(listening.Close)
		ch := channel(t, web.Config{URL: listening.URL, Timeout: 50 * time.Millisecond})
		if sight, err := ch.Look(t.Context(), "key"); err == nil || posts.Permanent(err) {
			t.Errorf("%s: a look found %+v, %v", name, sight, err)
		}
	}
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	ch := channel(t, web.Config{URL: silent.URL, Timeout: 50 * time.Millisecond})
	if err := ch.Publish(t.Context(), "key", []byte("x")); !errors.Is(err, context.DeadlineExceeded) || posts.Permanent(err) {
		t.Errorf("publishing at a silent server: %v", err)
	}
}

// TestAnErrorIsShort: of a long answer an error shows the beginning, and never the token.
func TestAnErrorIsShort(t *testing.T) {
	t.Parallel()
	_, ch := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte("not an admin of the channel" + strings.Repeat("\x00", 1<<20)))
	}))
	err := ch.Publish(t.Context(), "key", []byte("x"))
	if err == nil || !strings.Contains(err.Error(), "not an admin of the channel") || len(err.Error()) > 2000 || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

// TestEncodings: the hash is that of the content, and an encoding that can't be read is no look.
func TestEncodings(t *testing.T) {
	t.Parallel()
	content := []byte(strings.Repeat("content ", 100))
	for encoding, legible := range map[string]bool{"": true, "identity": true, "gzip": true, "br": false} {
		_, ch := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if encoding != "" {
				w.Header().Set("Content-Encoding", encoding)
			}
			if encoding != "gzip" {
				_, _ = w.Write(content)
				return
			}
			if !strings.Contains(r.Header.Get("Accept-Encoding"), encoding) {
				t.Errorf("accepted is %q", r.Header.Get("Accept-Encoding"))
			}
			compressed := gzip.NewWriter(w)
			_, _ = compressed.Write(content)
			_ = compressed.Close()
		}))
		sight, err := ch.Look(t.Context(), "key")
		if legible && (err != nil || sight != (posts.Sight{Seen: true, Hash: posts.Hash(content)})) || !legible && err == nil {
			t.Errorf("a look at %q found %+v, %v", encoding, sight, err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []web.Config{
		{}, {URL: "channel"}, {URL: "ftp://host/"}, {URL: "https:///path"}, {URL: "https://host/?a=b"}, {URL: "https://host/#a"},
		{URL: "https://host\x00"}, {URL: "https://host/", Timeout: -1},
	} {
		if _, err := web.New(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}
