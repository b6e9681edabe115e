//go:build unix

package images_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/fsmgen/fsmgen/internal/proxytest"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/services/images"
)

// endpointFaults are what an endpoint may do instead of answering a GET.
var endpointFaults = map[string]func(e *endpoint, w http.ResponseWriter, r *http.Request){
	"stalls before it answers": func(_ *endpoint, _ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	},
	"stalls in the body": func(e *endpoint, w http.ResponseWriter, r *http.Request) {
		e.proxy.Begin(w, r, fewBytes)
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	},
	"resets the connection": func(_ *endpoint, w http.ResponseWriter, _ *http.Request) { proxytest.Reset(w) },
	"resets it in the body": func(e *endpoint, w http.ResponseWriter, r *http.Request) {
		e.proxy.Begin(w, r, fewBytes)
		proxytest.Reset(w)
	},
	"answers 503": func(_ *endpoint, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	},
	"sends a short body": func(e *endpoint, w http.ResponseWriter, r *http.Request) {
		answer := e.proxy.Ask(r)
		defer answer.Body.Close()
		w.Header().Set("ETag", answer.Header.Get("ETag"))
		if from := answer.Header.Get("Content-Range"); from != "" {
			w.Header().Set("Content-Range", from)
			w.WriteHeader(http.StatusPartialContent)
		}
		_, _ = io.CopyN(w, answer.Body, fewBytes)
	},
}

// fewBytes is what a fault in the body lets through.
const fewBytes = 5_000

// TestEndpointRecovers: what passes is waited for. A body that broke off is
// taken up by range, and only if the object is still the same one.
func TestEndpointRecovers(t *testing.T) {
	t.Parallel()
	for name, fault := range endpointFaults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEndpoint(t)
			archive := imageTar(t, 1)
			e.put("a.tar", archive, nil)
			e.breaks(func(n int, w http.ResponseWriter, r *http.Request) bool {
				if n <= 2 {
					fault(e, w, r)
				}
				return n <= 2
			})
			s := newSite(t, images.Options{Objects: e.store})
			s.ready(e.bucket, "a.tar", archive)
			asked := e.proxy.Requests()
			if slices.ContainsFunc(asked, func(r string) bool { return strings.Contains(r, "unconditionally") }) {
				t.Errorf("it asked %q", asked)
			}
			resumed := slices.ContainsFunc(asked, func(r string) bool { return strings.HasPrefix(r, "GET bytes=") })
			if inBody := strings.Contains(name, "body"); resumed != inBody && !strings.Contains(name, "reset") {
				t.Errorf("it asked %q", asked)
			}
		})
	}
}

// TestEndpointStaysBroken: after the repeats of the table the run is aborted, the
// row says 'pending' ("or download failed"), and nothing is left. The endpoint
// mended, the next request succeeds.
func TestEndpointStaysBroken(t *testing.T) {
	t.Parallel()
	for name, fault := range endpointFaults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEndpoint(t)
			archive := imageTar(t, 1)
			e.put("a.tar", archive, nil)
			e.breaks(func(_ int, w http.ResponseWriter, r *http.Request) bool { fault(e, w, r); return true })
			s := newSite(t, images.Options{Objects: e.store})
			s.fails(e.bucket, "a.tar", "download", "download_failed", "pending", "a.tar", "fetch it again when the endpoint works")
			s.leaves(0, 0)
			e.proxy.Break(nil)
			s.ready(e.bucket, "a.tar", archive)
		})
	}
}

// TestWrongCredentials are not tried again and again.
func TestWrongCredentials(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	e.put("a.tar", imageTar(t, 1), nil)
	e.breaks(func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusForbidden)
		return true
	})
	s := newSite(t, images.Options{Objects: e.store})
	s.fails(e.bucket, "a.tar", "download", "download_failed", "pending", "check the credentials")
	s.leaves(0, 0)
	if n := len(e.proxy.Requests()); n != 2 {
		t.Errorf("it asked %q", e.proxy.Requests())
	}
}

// TestObjectReplacedBeforeValidation: what was fetched is one version, and that
// is what is validated and built, whatever the key names meanwhile.
func TestObjectReplacedBeforeValidation(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	old, replacing := imageTar(t, 1), imageTar(t, 2)
	e.put("a.tar", old, nil)
	var once sync.Once
	s := newSite(t, images.Options{Objects: e.store, Engine: func(c *engine.Config) {
		c.Trace = func(ctx context.Context, op engine.Operation) (context.Context, func(error)) {
			if op.Kind == engine.OpHandle && op.Name == "validate_file" {
				once.Do(func() { e.put("a.tar", replacing, nil) })
			}
			return ctx, func(error) {}
		}
	}})
	s.ready(e.bucket, "a.tar", old)
}

// TestObjectReplacedWhileItIsRead: the two are never mixed. The repeat fetches
// the new one from its beginning; if there is a new one each time, the run ends.
func TestObjectReplacedWhileItIsRead(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	e.put("a.tar", imageTar(t, 1), nil)
	replacing, always := imageTar(t, 2), false
	e.breaks(func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n > 1 && !always {
			return false
		}
		if r.Header.Get("Range") == "" {
			e.proxy.Begin(w, r, fewBytes)
			proxytest.Reset(w)
			return true
		}
		e.put("a.tar", imageTar(t, n+2), nil)
		return false
	})
	always = true
	s := newSite(t, images.Options{Objects: e.store})
	s.fails(e.bucket, "a.tar", "download", "download_failed", "pending", images.ErrChanged.Error(), "fetch it from the beginning")
	s.leaves(0, 0)

	e.put("a.tar", imageTar(t, 1), nil)
	e.breaks(func(n int, w http.ResponseWriter, r *http.Request) bool {
		switch n {
		case 1:
			e.proxy.Begin(w, r, fewBytes)
			proxytest.Reset(w)
			return true
		case 2:
			e.put("a.tar", replacing, nil)
		}
		return false
	})
	s.ready(e.bucket, "a.tar", replacing)
}

// TestStatedChecksum: an object that has a SHA-256 of its own, from the server or
// as metadata of whoever stored it, becomes an image with that checksum only.
func TestStatedChecksum(t *testing.T) {
	t.Parallel()
	archive := imageTar(t, 1)
	sum := sha256.Sum256(archive)
	right, wrong := hex.EncodeToString(sum[:]), strings.Repeat("0badcafe", 8)
	metadata := func(sum string) func(*sdk.PutObjectInput) {
		return func(in *sdk.PutObjectInput) { in.Metadata = map[string]string{"sha256": sum} }
	}
	server := func(in *sdk.PutObjectInput) { in.ChecksumAlgorithm = types.ChecksumAlgorithmSha256 }
	for name, tt := range map[string]struct {
		put   func(*sdk.PutObjectInput)
		bent  bool // on the way
		valid bool
	}{
		"metadata":                  {metadata(right), false, true},
		"metadata in capitals":      {metadata(strings.ToUpper(right)), false, true},
		"metadata of another":       {metadata(wrong), false, false},
		"metadata that is no sum":   {metadata("unknown"), false, true},
		"the server's":              {server, false, true},
		"the server's, bent body":   {server, true, false},
		"metadata, a bent body":     {metadata(right), true, false},
		"of the server and another": {func(in *sdk.PutObjectInput) { server(in); metadata(wrong)(in) }, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEndpoint(t)
			e.put("a.tar", archive, tt.put)
			if tt.bent {
				e.breaks(func(_ int, w http.ResponseWriter, r *http.Request) bool { e.bend(w, r); return true })
			}
			s := newSite(t, images.Options{Objects: e.store})
			if tt.valid {
				s.ready(e.bucket, "a.tar", archive)
				return
			}
			s.fails(e.bucket, "a.tar", "download", "file_invalid", "failed")
			s.leaves(0, 0)
			e.proxy.Break(nil)
			e.put("a.tar", archive, server)
			s.ready(e.bucket, "a.tar", archive)
		})
	}
}

// bend changes a byte of the content of a file, which leaves a tar intact.
func (e *endpoint) bend(w http.ResponseWriter, r *http.Request) {
	answer := e.proxy.Ask(r)
	defer answer.Body.Close()
	for key, values := range answer.Header {
		w.Header()[key] = values
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	body[bytes.Index(body, []byte("echo hello"))] ^= 1
	w.WriteHeader(answer.StatusCode)
	_, _ = w.Write(body)
}

// TestBadObjects: the objects of TestBadInputEndsInTheDocumentedState, from the
// real server.
func TestBadObjects(t *testing.T) {
	t.Parallel()
	whole := imageTar(t, 1)
	for name, tt := range map[string]struct {
		object                 []byte
		reason, status, report string
	}{
		"none":      {nil, "download_failed", "pending", "check the bucket and the key"},
		"empty":     {[]byte{}, "file_invalid", "failed", ""},
		"truncated": {whole[:len(whole)/2], "file_invalid", "failed", ""},
		"no tar":    {bytes.Repeat([]byte("no tar at all\n"), 1000), "file_invalid", "failed", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEndpoint(t)
			if tt.object != nil {
				e.put("new\nline.tar", tt.object, nil)
			}
			s := newSite(t, images.Options{Objects: e.store})
			s.fails(e.bucket, "new\nline.tar", "download", tt.reason, tt.status, tt.report)
			s.leaves(0, 0)
			e.put("new\nline.tar", whole, nil)
			s.ready(e.bucket, "new\nline.tar", whole)
		})
	}
}

// stubborn is a keeper that deletes nothing as long as it is told so.
type stubborn struct {
	images.Volumes
	refuses *atomic.Bool
}

func (k stubborn) Destroy(ctx context.Context, name string) error {
	if k.refuses.Load() {
		return fmt.Errorf("volume %s: %w", name, images.ErrBusy)
	}
	return k.Volumes.Destroy(ctx, name)
}

// TestStuckUntilAPersonHelps: what can't be cleaned up is not built upon, the
// status and the error say so, and Retry goes on once the cause is mended.
func TestStuckUntilAPersonHelps(t *testing.T) {
	t.Parallel()
	objects := s3Directory(t, map[string][]byte{"a.tar": archive(t, tar.Header{Name: "etc/", Typeflag: tar.TypeDir, Mode: 0o755})})
	s, refuses := newStubbornSite(t, objects)
	refuses.Store(true)
	s.fails("images", "a.tar", "unpack", "layout_invalid", "completed", "of these the object has etc")
	var stuck *images.StuckError
	if _, err := s.service.Process(t.Context(), "images", "a.tar"); !errors.As(err, &stuck) || !strings.Contains(err.Error(), "images retry "+stuck.RunID) {
		t.Fatalf("the second request ended with %v", err)
	}
	if list, err := s.service.Status(t.Context()); err != nil || len(list) != 1 || list[0].Stuck != "destroy_device" || list[0].RunID != stuck.RunID {
		t.Errorf("the status is %+v: %v", list, err)
	}
	refuses.Store(false)
	if r, err := s.service.Retry(t.Context(), stuck.RunID, "a test", "it is mended"); err != nil || r.Requeued != 1 {
		t.Errorf("%+v: %v", r, err)
	}
	s.leaves(1, 0)
	s.fails("images", "a.tar", "unpack", "layout_invalid", "completed")
	s.leaves(1, 0)
}

// newStubbornSite is one whose keeper is stubborn as long as refuses is true.
func newStubbornSite(t *testing.T, objects images.Objects) (s *site, refuses *atomic.Bool) {
	t.Helper()
	o := images.Options{Dir: filepath.Join(t.TempDir(), "state"), Objects: objects}
	k := stubborn{refuses: &atomic.Bool{}}
	keep := volumesBelow(filepath.Join(o.Dir, "volumes"))
	o.Volumes = func(ctx context.Context, n images.Numbers) (v images.Volumes, err error) {
		k.Volumes, err = keep(ctx, n)
		return k, err
	}
	return newSite(t, o), k.refuses
}

// TestStuckInTheMiddle: a volume that nobody has a row for and that can't be
// destroyed holds the run up that would make its own in that place.
func TestStuckInTheMiddle(t *testing.T) {
	t.Parallel()
	archive := imageTar(t, 1)
	s, refuses := newStubbornSite(t, s3Directory(t, map[string][]byte{"a.tar": archive}))
	if _, err := s.service.Process(t.Context(), "images", "a.tar"); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.dir, "images.db")+"?_pragma=foreign_keys(1)&_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("DELETE FROM unpacked_images"); err != nil {
		t.Fatal(err)
	}
	refuses.Store(true)
	var stuck *images.StuckError
	if _, err := s.service.Process(t.Context(), "images", "a.tar"); !errors.As(err, &stuck) || stuck.Effect != "destroy_device" {
		t.Fatalf("it ended with %v", err)
	}
	refuses.Store(false)
	if r, err := s.service.Retry(t.Context(), stuck.RunID, "a test", "it is mended"); err != nil || r.Requeued != 1 {
		t.Errorf("%+v: %v", r, err)
	}
	s.ready("images", "a.tar", archive)
}

// s3Directory is a bucket "images" of plain files.
func s3Directory(t *testing.T, objects map[string][]byte) images.Objects {
	t.Helper()
	dir := t.TempDir()
	for key, data := range objects {
		path := filepath.Join(dir, "bucket", "images", key)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return bucket(dir)
}
