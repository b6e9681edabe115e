//go:build unix

package images_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/fsmgen/fsmgen/adapters/s3"
)

// An endpoint is a bucket of its own on the real S3 server, behind a proxy that
// does what bad networks do.
type endpoint struct {
	*testing.T
	bucket string
	client *sdk.Client // straight to the server
	store  *s3.Store   // through the proxy
	target string

	mu    sync.Mutex
	fault func(n int, w http.ResponseWriter, r *http.Request) bool // of the nth GET; false: none
	gets  int
	asked []string // "HEAD", "GET bytes=100-", in order
}

func newEndpoint(t *testing.T) *endpoint {
	t.Helper()
	address := os.Getenv("FSMGEN_S3")
	if address == "" && os.Getenv("FSMGEN_REQUIRE_PARTS") != "" {
		t.Fatal("FSMGEN_S3 is not set")
	}
	if address == "" {
		t.Skip("FSMGEN_S3 is not set: run under tools/parts")
	}
	o, err := s3.FromURL(address)
	if err != nil {
		t.Fatal(err)
	}
	real, err := url.Parse(o.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256([]byte(t.Name()))
	e := &endpoint{T: t, bucket: fmt.Sprintf("images-%d-%x", os.Getpid(), digest[:6]), target: real.Host}
	server := o.Endpoint
	e.client = sdk.New(sdk.Options{BaseEndpoint: &server, Region: o.Region, Credentials: o.Credentials, UsePathStyle: true})
	if _, err := e.client.CreateBucket(t.Context(), &sdk.CreateBucketInput{Bucket: &e.bucket}); err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(e)
	t.Cleanup(proxy.Close)
	o.Endpoint, o.StallTimeout, o.Attempts = proxy.URL, 300*time.Millisecond, 3
	o.Pause = func(context.Context, int) error { return nil }
	if e.store, err = s3.New(o); err != nil {
		t.Fatal(err)
	}
	return e
}

// put stores an object; change may say more of it.
func (e *endpoint) put(key string, data []byte, change func(*sdk.PutObjectInput)) {
	e.Helper()
	in := &sdk.PutObjectInput{Bucket: &e.bucket, Key: &key, Body: bytes.NewReader(data)}
	if change != nil {
		change(in)
	}
	if _, err := e.client.PutObject(context.WithoutCancel(e.Context()), in); err != nil {
		e.Error(err)
	}
}

// breaks has each GET from now on answered by a fault, which counts them from 1.
func (e *endpoint) breaks(fault func(n int, w http.ResponseWriter, r *http.Request) bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fault, e.gets, e.asked = fault, 0, nil
}

func (e *endpoint) requests() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.asked)
}

// ServeHTTP notes a request and lets the fault have it first.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	fault, n := e.fault, e.gets
	what := strings.TrimSpace(r.Method + " " + r.Header.Get("Range"))
	if r.Method == http.MethodGet {
		e.gets++
		n = e.gets
		if r.Header.Get("If-Match") == "" {
			what += " unconditionally"
		}
	}
	e.asked = append(e.asked, what)
	e.mu.Unlock()
	if fault == nil || r.Method != http.MethodGet || !fault(n, w, r) {
		e.pass(w, r, -1)
	}
}

// ask passes a request on. The host stays as it was signed.
func (e *endpoint) ask(r *http.Request) *http.Response {
	out := r.Clone(r.Context())
	out.RequestURI, out.URL.Scheme, out.URL.Host = "", "http", e.target
	answer, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler) // the client went away
	}
	return answer
}

// pass answers with the first bytes of what the server says; -1: with all.
func (e *endpoint) pass(w http.ResponseWriter, r *http.Request, bytes int64) {
	answer := e.ask(r)
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

// hangUp ends a connection as a crashed host does.
func hangUp(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a connection that is gone already is what is wanted
	}
	conn.Close()
}
