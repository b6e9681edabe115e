//go:build unix

package images_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/fsmgen/fsmgen/adapters/s3"
	"github.com/fsmgen/fsmgen/internal/parts"
	"github.com/fsmgen/fsmgen/internal/proxytest"
)

// An endpoint is a bucket of its own on the real S3 server, behind a proxy that
// does what bad networks do.
type endpoint struct {
	*testing.T
	bucket string
	client *sdk.Client // straight to the server
	store  *s3.Store   // through the proxy
	proxy  *proxytest.HTTP
}

func newEndpoint(t *testing.T) *endpoint {
	t.Helper()
	o, err := s3.FromURL(parts.Address(t, "FSMGEN_S3"))
	if err != nil {
		t.Fatal(err)
	}
	real, err := url.Parse(o.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256([]byte(t.Name()))
	e := &endpoint{T: t, bucket: fmt.Sprintf("images-%d-%x", os.Getpid(), digest[:6]), proxy: proxytest.NewHTTP(t, real.Host)}
	server := o.Endpoint
	e.client = sdk.New(sdk.Options{BaseEndpoint: &server, Region: o.Region, Credentials: o.Credentials, UsePathStyle: true})
	if _, err := e.client.CreateBucket(t.Context(), &sdk.CreateBucketInput{Bucket: &e.bucket}); err != nil {
		t.Fatal(err)
	}
	o.Endpoint, o.StallTimeout, o.Attempts = e.proxy.URL, time.Hour, 3
	if strings.Contains(t.Name(), "stalls") {
		o.StallTimeout = 300 * time.Millisecond // elsewhere a busy machine is no stall
	}
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
func (e *endpoint) breaks(fault proxytest.StandIn) {
	e.proxy.Break(func(n int, w http.ResponseWriter, r *http.Request) bool {
		return r.Method == http.MethodGet && fault(n, w, r)
	})
}
