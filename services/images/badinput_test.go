//go:build unix

package images_test

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/services/images"
)

// archive makes a tar of headers without content.
func archive(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestBadInputEndsInTheDocumentedState: a clear error, the states of document
// 002, and nothing left behind.
func TestBadInputEndsInTheDocumentedState(t *testing.T) {
	whole := imageTar(t, 1)
	for _, tt := range []struct {
		name            string
		object          []byte // nil: there is none
		machine, reason string
		cause           string // a part of it
		status          string // images.download_status
	}{
		{"no object", nil, "download", "download_failed", "no such object", "pending"},
		{"empty object", []byte{}, "download", "file_invalid", "", "failed"},
		{"no tar", bytes.Repeat([]byte("what is this? "), 1000), "download", "file_invalid", "", "failed"},
		{"truncated tar", whole[:len(whole)/2], "download", "file_invalid", "", "failed"},
		{"a way out", archive(t, tar.Header{Name: "../out", Typeflag: tar.TypeReg}), "download", "file_invalid", "", "failed"},
		{"no layout", archive(t, tar.Header{Name: "etc/", Typeflag: tar.TypeDir, Mode: 0o755}), "unpack", "layout_invalid", "", "completed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, lab string) {
				dir := t.TempDir()
				put(t, dir, "other.tar", whole)
				if tt.object != nil {
					put(t, dir, "a.tar", tt.object)
				}
				s, c := watched(t, lab, dir)
				works(t, s)
				_, err := s.Process(t.Context(), "images", "a.tar")
				aborted(t, err, tt.machine, tt.reason)
				if err != nil && !strings.Contains(err.Error(), tt.cause) {
					t.Errorf("%v does not say %q", err, tt.cause)
				}
				l := list(t, s)
				if len(l) != 1 || l[0].Download != tt.status || l[0].State != "aborted" {
					t.Errorf("the status is %+v", l)
				}
				settled(t, dir)
				if volumes, err := c.List(t.Context()); err != nil || len(volumes) != 0 {
					t.Errorf("the volumes %v are left: %v", volumes, err)
				}
				if got, err := s.GC(t.Context()); err == nil {
					t.Errorf("a collection went on beside the worker: %+v", got)
				}
				if tt.machine == "download" {
					empty(t, dir, "tars")
				}
				empty(t, dir, "temp")
				process(t, s, "other.tar") // the service goes on
			})
		})
	}
}

// TestMendedLayout: a tar that was valid is not downloaded again while it is there
// (document 002, Scenario 4 of Download); the error says which one to remove.
func TestMendedLayout(t *testing.T) {
	t.Parallel()
	dir, mended := t.TempDir(), imageTar(t, 1)
	s := newSite(t, images.Options{Objects: bucket(dir)})
	old := filepath.Join(s.dir, "tars", images.ImageID("images", "a.tar")+".tar")
	put(t, dir, "a.tar", archive(t, tar.Header{Name: "etc/", Typeflag: tar.TypeDir, Mode: 0o755}))
	for range 2 {
		s.fails("images", "a.tar", "unpack", "layout_invalid", "completed", "of these the object has etc", "remove "+old+", and ask again")
		s.leaves(1, 0)
		put(t, dir, "a.tar", mended)
	}
	if err := os.Remove(old); err != nil {
		t.Fatal(err)
	}
	s.ready("images", "a.tar", mended)
}

// TestKeysOfAnyKind: a key may hold what a file name may.
func TestKeysOfAnyKind(t *testing.T) {
	everywhere(t, func(t *testing.T, lab string) {
		dir := t.TempDir()
		s := open(t, laboratories[lab], dir)
		works(t, s)
		seen := map[string]string{}
		for i, key := range []string{"new\nline.tar", "ümläut 中.tar", "a/b/c.tar", "a-b/c.tar", "UPPER.tar", "upper.tar", strings.Repeat("long", 50)} {
			put(t, dir, key, imageTar(t, i))
			r := process(t, s, key)
			if other, twice := seen[r.ImageID]; twice {
				t.Errorf("%q and %q are both image %s", key, other, r.ImageID)
			}
			seen[r.ImageID] = key
			if strings.ContainsFunc(r.ImageID, func(c rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-", c) }) {
				t.Errorf("%q is image %q", key, r.ImageID)
			}
		}
	})
}

func TestImageID(t *testing.T) {
	for key, want := range map[string]string{
		"alpine.tar":        "alpine-tar-",
		"dir/Debian 12.tar": "debian-12-tar-",
		"\n":                "",
	} {
		if got := images.ImageID("images", key); !strings.HasPrefix(got, want) || got != images.ImageID("images", key) || len(got) != len(want)+32 {
			t.Errorf("%q is image %q, want %q and 32 digits", key, got, want)
		}
	}
	if images.ImageID("a", "b/c") == images.ImageID("a/b", "c") {
		t.Error("two objects are one image")
	}
}
