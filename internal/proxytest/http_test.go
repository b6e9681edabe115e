package proxytest_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/fsmgen/fsmgen/internal/proxytest"
)

// library is an HTTP server behind a proxy.
func library(t *testing.T) *proxytest.HTTP {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Host-Asked", r.Host)
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "a whole book")
	}))
	t.Cleanup(server.Close)
	return proxytest.NewHTTP(t, strings.TrimPrefix(server.URL, "http://"))
}

// said is the answer of the library.
type said struct {
	status     int
	host, body string
}

// read asks on a connection of its own.
func read(t *testing.T, p *proxytest.HTTP, headers ...string) (said, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL, nil)
	must(t, err)
	request.Close = true
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return said{}, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return said{answer.StatusCode, answer.Header.Get("Host-Asked"), string(text)}, err
}

func TestHTTPForwards(t *testing.T) {
	p := library(t)
	got, err := read(t, p, "Range", "bytes=2-", "If-Match", "x")
	must(t, err)
	if got.body != "a whole book" || got.status != http.StatusTeapot || "http://"+got.host != p.URL {
		t.Errorf("read %+v", got)
	}
	_, err = read(t, p)
	must(t, err)
	if got := p.Requests(); !slices.Equal(got, []string{"GET bytes=2-", "GET unconditionally"}) {
		t.Errorf("asked %q", got)
	}
}

func TestHTTPAnswersInPlace(t *testing.T) {
	p := library(t)
	p.Break(func(n int, w http.ResponseWriter, r *http.Request) bool {
		switch n {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			p.Begin(w, r, 3)
			panic(http.ErrAbortHandler)
		case 3:
			proxytest.Reset(w)
		}
		return n <= 3
	})
	if got, err := read(t, p); err != nil || got.status != http.StatusServiceUnavailable {
		t.Errorf("read %+v, %v", got, err)
	}
	if got, err := read(t, p); got.body != "a w" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("read %+v, %v", got, err)
	}
	if _, err := read(t, p); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the end is %v", err)
	}
	if got, err := read(t, p); got.body != "a whole book" || err != nil {
		t.Errorf("read %+v, %v", got, err)
	}
	p.Break(nil)
	if got := p.Requests(); len(got) > 0 {
		t.Errorf("asked %q", got)
	}
}
