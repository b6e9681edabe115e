package s3_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsmgen/fsmgen/adapters/object"
	"github.com/fsmgen/fsmgen/adapters/s3"
)

// Endpoints that speak less of S3 than they should. The real server does not,
// so these are handlers.
func TestOddEndpoints(t *testing.T) {
	content := random(100_000)
	cut := len(content) / 2
	head := func(w http.ResponseWriter) {
		w.Header().Set("ETag", `"one"`)
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	}
	broken := func(w http.ResponseWriter) {
		head(w)
		fmt.Fprint(w, content[:cut])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	for name, tt := range map[string]struct {
		head, first, second func(w http.ResponseWriter)
		want                error  // nil with a message: any error
		message             string // ""; none
	}{
		"ignores the range": {head, broken, func(w http.ResponseWriter) {
			head(w)
			fmt.Fprint(w, content)
		}, nil, ""},
		"ignores If-Match": {head, broken, func(w http.ResponseWriter) {
			w.Header().Set("ETag", `"two"`)
			fmt.Fprint(w, content)
		}, object.ErrChanged, "from the beginning"},
		"sends another range": {head, broken, func(w http.ResponseWriter) {
			w.Header().Set("ETag", `"one"`)
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", len(content)-1, len(content)))
			w.WriteHeader(http.StatusPartialContent)
			fmt.Fprint(w, content)
		}, nil, "the request was for"},
		"sends more than it announced": {head, func(w http.ResponseWriter) {
			w.Header().Set("ETag", `"one"`)
			fmt.Fprint(w, content, "more")
		}, nil, object.ErrChanged, "longer"},
		"has no ETag": {func(w http.ResponseWriter) { w.Header().Set("Content-Length", "5") }, nil, nil, nil, "use an S3-compatible endpoint"},
		"has no length": {func(w http.ResponseWriter) {
			w.Header().Set("ETag", `"one"`)
			w.Header().Set("Transfer-Encoding", "chunked")
		}, nil, nil, nil, "use an S3-compatible endpoint"},
		"packs what it sends": {head, func(w http.ResponseWriter) {
			head(w)
			w.Header().Set("Content-Encoding", "gzip")
			fmt.Fprint(w, content)
		}, nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			gets := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodHead {
					tt.head(w)
					return
				}
				if gets++; gets == 1 {
					tt.first(w)
				} else {
					tt.second(w)
				}
			}))
			defer server.Close()
			store, err := s3.New(s3.Options{Endpoint: server.URL, PathStyle: true, Attempts: 3, Pause: func(context.Context, int) error { return nil }})
			if err != nil {
				t.Fatal(err)
			}
			l := newLanding(t)
			object, err := store.Fetch(t.Context(), "bucket", "image.tar", l.temp, l.path, nil)
			if tt.message == "" {
				if err != nil {
					t.Fatal(err)
				}
				l.holds(t, object, content)
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.message) || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("error = %v", err)
			}
			l.entries(t)
		})
	}
}

func TestFromURL(t *testing.T) {
	o, err := s3.FromURL("https://key:s%2Fcret@host:9000?region=eu-1")
	if err != nil || o.Endpoint != "https://host:9000" || o.Region != "eu-1" || !o.PathStyle {
		t.Errorf("options = %+v, %v", o, err)
	}
	if c, err := o.Credentials.Retrieve(t.Context()); err != nil || c.AccessKeyID != "key" || c.SecretAccessKey != "s/cret" {
		t.Errorf("credentials of %s: %v", c.AccessKeyID, err)
	}
	for _, bad := range []string{"", "host", "ftp://host", "http://", "http://key:secret@ho st", "http://key:secret@host:port", "://secret"} {
		if _, err := s3.FromURL(bad); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestNewRefusesBadOptions(t *testing.T) {
	for _, o := range []s3.Options{
		{Endpoint: "host:9000"}, {Endpoint: "http://key:secret@host"}, {Endpoint: "http://host?region=x"}, {StallTimeout: -1}, {Attempts: -1},
	} {
		if _, err := s3.New(o); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestBackoffEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(enough)
		began := time.Now()
		if err := s3.Backoff(ctx, 100); !errors.Is(err, enough) || time.Since(began) > 0 {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
	if err := s3.Backoff(t.Context(), 1); err != nil {
		t.Error(err)
	}
}
