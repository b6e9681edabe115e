package s3_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/fsmgen/fsmgen/adapters/object"
	"github.com/fsmgen/fsmgen/adapters/s3"
	"github.com/fsmgen/fsmgen/internal/parts"
)

// shop is an object store with a bucket of its own.
type shop struct {
	store  object.Objects
	bucket string
	put    func(key, content string)
	remove func(key string)
}

func local(t *testing.T) shop {
	root := t.TempDir()
	file := func(key string) string { return filepath.Join(root, "bucket", key) }
	return shop{
		store: s3.Directory{Root: root}, bucket: "bucket",
		put: func(key, content string) {
			t.Helper()
			if err := os.MkdirAll(filepath.Dir(file(key)), 0o755); err != nil {
				t.Fatal(err)
			}
			temp := file(key) + ".new" // as a careful program replaces a file
			if err := os.WriteFile(temp, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(temp, file(key)); err != nil {
				t.Fatal(err)
			}
		},
		remove: func(key string) {
			t.Helper()
			if err := os.Remove(file(key)); err != nil {
				t.Fatal(err)
			}
		},
	}
}

// options are those of the real server.
func options(t *testing.T) s3.Options {
	t.Helper()
	o, err := s3.FromURL(parts.Address(t, "FSMGEN_S3"))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// remote is a shop on the real server, with the options as change leaves them.
func remote(t *testing.T, change func(*s3.Options)) shop {
	t.Helper()
	o := options(t)
	endpoint := o.Endpoint
	client := sdk.New(sdk.Options{BaseEndpoint: &endpoint, Region: o.Region, Credentials: o.Credentials, UsePathStyle: true})
	digest := sha256.Sum256([]byte(t.Name()))
	bucket := fmt.Sprintf("test-%d-%x", os.Getpid(), digest[:6])
	ctx := context.WithoutCancel(t.Context())
	if _, err := client.CreateBucket(ctx, &sdk.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&o)
	}
	store, err := s3.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return shop{
		store: store, bucket: bucket,
		put: func(key, content string) {
			t.Helper()
			_, err := client.PutObject(ctx, &sdk.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader(content), ContentLength: aws.Int64(int64(len(content)))})
			if err != nil {
				t.Fatal(err)
			}
		},
		remove: func(key string) {
			t.Helper()
			if _, err := client.DeleteObject(ctx, &sdk.DeleteObjectInput{Bucket: &bucket, Key: &key}); err != nil {
				t.Fatal(err)
			}
		},
	}
}

// landing is where a test fetches to.
type landing struct{ dir, temp, path string }

func newLanding(t *testing.T) landing {
	t.Helper()
	dir := t.TempDir()
	return landing{dir, filepath.Join(dir, "temp"), filepath.Join(dir, "image.tar")}
}

// holds fails unless the directory has the fetched file and nothing else.
func (l landing) holds(t *testing.T, object object.Object, content string) {
	t.Helper()
	got, err := os.ReadFile(l.path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(content))
	if string(got) != content || object.Size != int64(len(content)) || object.Checksum != hex.EncodeToString(sum[:]) || object.ETag == "" {
		t.Errorf("%d bytes arrived of %d; object = %+v", len(got), len(content), object)
	}
	l.entries(t, "image.tar")
}

func (l landing) entries(t *testing.T, want ...string) {
	t.Helper()
	found, err := os.ReadDir(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range found {
		names = append(names, f.Name())
	}
	if strings.Join(names, " ") != strings.Join(want, " ") {
		t.Errorf("the directory holds %q, want %q", names, want)
	}
}

// random is content that does not compress and has no period.
func random(n int) string {
	content := make([]byte, 0, n+sha256.Size)
	for i := 0; len(content) < n; i++ {
		sum := sha256.Sum256(fmt.Append(nil, i))
		content = append(content, sum[:]...)
	}
	return string(content[:n])
}

func TestDirectory(t *testing.T) { testObjects(t, local) }

func TestStore(t *testing.T) {
	testObjects(t, func(t *testing.T) shop { return remote(t, nil) })
}

// testObjects runs the cases that every object.Objects must pass.
func testObjects(t *testing.T, open func(*testing.T) shop) {
	t.Run("contents", func(t *testing.T) { testContents(t, open(t)) })
	t.Run("keys", func(t *testing.T) { testKeys(t, open(t)) })
	t.Run("absent", func(t *testing.T) { testAbsent(t, open(t)) })
	t.Run("progress", func(t *testing.T) { testProgress(t, open(t)) })
	t.Run("files", func(t *testing.T) { testFiles(t, open(t)) })
	t.Run("cancelled", func(t *testing.T) { testCancelled(t, open(t)) })
	t.Run("versions", func(t *testing.T) { testVersions(t, open(t)) })
	t.Run("full disk", func(t *testing.T) { testFullDisk(t, open(t)) })
}

func testContents(t *testing.T, s shop) {
	for _, size := range []int{0, 1, 4096, 256 << 10, 256<<10 + 1, 5 << 20} {
		content := random(size)
		s.put("image.tar", content)
		l := newLanding(t)
		object, err := s.store.Fetch(t.Context(), s.bucket, "image.tar", l.temp, l.path, nil)
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		l.holds(t, object, content)
	}
}

func testKeys(t *testing.T, s shop) {
	for _, key := range []string{
		"a", "deep/below/image.tar", "with space", "new\nline", "tab\tand\rreturn", "größe/画像.tar", "100%25+plus&amp=?#;", `back\slash`, "quote\"'`$(x)", ".hidden", "-rf",
	} {
		s.put(key, key)
		l := newLanding(t)
		object, err := s.store.Fetch(t.Context(), s.bucket, key, l.temp, l.path, nil)
		if err != nil {
			t.Errorf("%q: %v", key, err)
			continue
		}
		l.holds(t, object, key)
	}
}

func testAbsent(t *testing.T, s shop) {
	s.put("there/image.tar", "x")
	for _, tt := range [][2]string{
		{s.bucket, "absent"}, {s.bucket, "ab\nsent"}, {s.bucket, "there/image.tar/below"}, {s.bucket, "there/image"}, {"no-such-bucket-here", "there/image.tar"},
	} {
		l := newLanding(t)
		_, err := s.store.Fetch(t.Context(), tt[0], tt[1], l.temp, l.path, nil)
		if !errors.Is(err, object.ErrNoObject) {
			t.Errorf("%q: %v", tt, err)
		} else if !strings.Contains(err.Error(), fmt.Sprintf("%q", tt[1])) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: the message does not quote the key: %v", tt, err)
		}
		l.entries(t)
	}
}

func testProgress(t *testing.T, s shop) {
	const size = 3 << 20
	s.put("image.tar", random(size))
	l := newLanding(t)
	var before, calls int64
	_, err := s.store.Fetch(t.Context(), s.bucket, "image.tar", l.temp, l.path, func(done, total int64) {
		if done <= before || done > size || total != size {
			t.Errorf("%d of %d after %d", done, total, before)
		}
		before = done
		calls++
	})
	if err != nil || before != size || calls < 10 {
		t.Errorf("%d bytes in %d calls: %v", before, calls, err)
	}
}

func testFiles(t *testing.T, s shop) {
	s.put("image.tar", "content")
	l := newLanding(t)
	for _, name := range []string{l.temp, l.path} { // what an earlier attempt left
		if err := os.WriteFile(name, bytes.Repeat([]byte("old"), 1000), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	object, err := s.store.Fetch(t.Context(), s.bucket, "image.tar", l.temp, l.path, nil)
	if err != nil {
		t.Fatal(err)
	}
	l.holds(t, object, "content")

	l = newLanding(t)
	if _, err := s.store.Fetch(t.Context(), s.bucket, "image.tar", l.temp, l.dir+"/missing/image.tar", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is missing: %v", err)
	}
	l.entries(t)
	if _, err := s.store.Fetch(t.Context(), s.bucket, "image.tar", l.dir+"/missing/temp", l.path, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a temp directory that is missing: %v", err)
	}
	l.entries(t)
}

func testCancelled(t *testing.T, s shop) {
	s.put("image.tar", random(4<<20))
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	l := newLanding(t)
	_, err := s.store.Fetch(ctx, s.bucket, "image.tar", l.temp, l.path, func(int64, int64) { cancel(enough) })
	if !errors.Is(err, enough) {
		t.Errorf("in the middle: %v", err)
	}
	l.entries(t)
	if _, err := s.store.Fetch(ctx, s.bucket, "image.tar", l.temp, l.path, nil); !errors.Is(err, enough) {
		t.Errorf("before it began: %v", err)
	}
	l.entries(t)
}

func testVersions(t *testing.T, s shop) {
	seen := map[string]bool{}
	for _, content := range []string{"first", "second one", "third of all"} {
		s.put("image.tar", content)
		l := newLanding(t)
		object, err := s.store.Fetch(t.Context(), s.bucket, "image.tar", l.temp, l.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if seen[object.ETag] || strings.Contains(object.ETag, `"`) {
			t.Errorf("ETag %s of another version, or in quotes", object.ETag)
		}
		seen[object.ETag] = true
	}
}

// A device that is always full stands for the disk.
func testFullDisk(t *testing.T, s shop) {
	s.put("image.tar", random(1<<20))
	l := newLanding(t)
	if err := os.Symlink("/dev/full", l.temp); err != nil {
		t.Fatal(err)
	}
	_, err := s.store.Fetch(t.Context(), s.bucket, "image.tar", l.temp, l.path, nil)
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "make room") {
		t.Errorf("error = %v", err)
	}
	l.entries(t)
}
