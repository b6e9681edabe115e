package images_test

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/fsmgen/fsmgen/services/images"
)

// laboratory is a place in which images are built, and one keeper of volumes.
type laboratory struct {
	// volumes makes the keeper; dir is the folder of the test.
	volumes func(dir string) func(context.Context, images.Numbers) (images.Volumes, error)
}

// options are those of a service in a test's folder: objects in bucket/, the
// service in state/, volumes wherever the keeper has them.
func (l laboratory) options(dir string) images.Options {
	return quick(images.Options{Dir: filepath.Join(dir, "state"), Objects: bucket(dir), Volumes: l.volumes(dir)})
}

// everywhere runs a test in each laboratory that this machine has.
func everywhere(t *testing.T, test func(t *testing.T, name string)) {
	t.Helper()
	for name := range laboratories {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t, name) })
	}
}

// put makes an object.
func put(t *testing.T, dir, key string, data []byte) {
	t.Helper()
	path := filepath.Join(dir, "bucket", "images", key)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// imageTar is an archive with the layout that document 002 asks for; those of
// different n differ.
func imageTar(t *testing.T, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	add := func(h tar.Header, data []byte) {
		h.Size = int64(len(data))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"rootfs/", "etc/", "usr/", "usr/bin/", "var/", "var/log/"} {
		add(tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o755}, nil)
	}
	add(tar.Header{Name: "etc/hostname", Typeflag: tar.TypeReg, Mode: 0o644}, fmt.Appendf(nil, "image-%d\n", n))
	add(tar.Header{Name: "usr/bin/hello", Typeflag: tar.TypeReg, Mode: 0o755}, bytes.Repeat([]byte("#!/bin/sh\necho hello\n"), 20_000))
	add(tar.Header{Name: "usr/bin/hi", Typeflag: tar.TypeSymlink, Linkname: "hello"}, nil)
	add(tar.Header{Name: "var/log/boot", Typeflag: tar.TypeReg, Mode: 0o600}, bytes.Repeat([]byte{byte(n)}, 300_000))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// settled waits until no effect is left to be carried out.
func settled(t *testing.T, dir string) {
	t.Helper()
	db := database(t, dir)
	for t.Context().Err() == nil {
		var open int
		if err := db.QueryRow("SELECT count(*) FROM fsm_outbox WHERE state <> 'delivered' AND NOT cancelled").Scan(&open); err != nil {
			t.Fatal(err)
		}
		if open == 0 {
			return
		}
		runtime.Gosched()
	}
}

// empty makes sure that a folder of the service holds nothing.
func empty(t *testing.T, dir, folder string) {
	t.Helper()
	left, err := os.ReadDir(filepath.Join(dir, "state", folder))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		t.Errorf("%s/%s is left", folder, f.Name())
	}
}
