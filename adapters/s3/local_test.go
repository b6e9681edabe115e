//go:build unix

package s3_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/fsmgen/fsmgen/adapters/object"
	"github.com/fsmgen/fsmgen/adapters/s3"
)

// No key and no link leads out of a bucket, and what is no file is no object.
func TestDirectoryKeepsItsBuckets(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{"secret": "s", "bucket/file": "f", "other/file": "o"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, "store", name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "store", name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	bucket := filepath.Join(root, "store", "bucket")
	for link, target := range map[string]string{"out": "../other/file", "up": "..", "absolute": "/etc/passwd", "inside": "file", "dangling": "nothing", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(bucket, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(bucket, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(bucket, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	d := s3.Directory{Root: filepath.Join(root, "store")}
	for _, tt := range [][2]string{
		{"bucket", "../other/file"}, {"bucket", "../secret"}, {"bucket", "/etc/passwd"}, {"bucket", "a/../file"}, {"bucket", "./file"}, {"bucket", "dir//file"},
		{"bucket", "out"}, {"bucket", "up/other/file"}, {"bucket", "absolute"}, {"bucket", "dangling"}, {"bucket", "loop"}, {"bucket", "pipe"}, {"bucket", "dir"},
		{"bucket", ""}, {"bucket", "."}, {"bucket", "nul\x00"}, {"..", "store/secret"}, {".", "secret"}, {"", "secret"}, {"bucket/dir", "x"}, {"/etc", "passwd"}, {"secret", "x"},
	} {
		l := newLanding(t)
		if _, err := d.Fetch(t.Context(), tt[0], tt[1], l.temp, l.path, nil); !errors.Is(err, object.ErrNoObject) {
			t.Errorf("%q: %v", tt, err)
		}
		l.entries(t)
	}
	l := newLanding(t)
	object, err := d.Fetch(t.Context(), "bucket", "inside", l.temp, l.path, nil)
	if err != nil {
		t.Fatalf("a link within the bucket: %v", err)
	}
	l.holds(t, object, "f")
}

// A file that changes while it is read is not passed on.
func TestDirectoryNoticesChanges(t *testing.T) {
	const size = 2 << 20
	for name, change := range map[string]func(s shop, file string) error{
		"replaced":  func(s shop, _ string) error { s.put("image.tar", random(size)); return nil },
		"removed":   func(s shop, _ string) error { s.remove("image.tar"); return nil },
		"truncated": func(_ shop, file string) error { return os.Truncate(file, size/2) },
		"longer":    func(_ shop, file string) error { return os.Truncate(file, size+1) },
		"rewritten": func(_ shop, file string) error { return os.WriteFile(file, []byte(random(size)), 0o644) },
		"a directory": func(s shop, file string) error {
			s.remove("image.tar")
			return os.Mkdir(file, 0o755)
		},
	} {
		s := local(t)
		s.put("image.tar", random(size))
		file := filepath.Join(s.store.(s3.Directory).Root, "bucket", "image.tar")
		l := newLanding(t)
		changed := false
		_, err := s.store.Fetch(t.Context(), s.bucket, "image.tar", l.temp, l.path, func(int64, int64) {
			if changed {
				return
			}
			changed = true
			if err := change(s, file); err != nil {
				t.Fatal(err)
			}
		})
		if !errors.Is(err, object.ErrChanged) {
			t.Errorf("%s: %v", name, err)
		}
		l.entries(t)
	}
}
