//go:build unix

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

	"github.com/fsmgen/fsmgen/internal/guest"
	"github.com/fsmgen/fsmgen/services/images"
)

// keeperMaker is images.Options.Volumes.
type keeperMaker = func(context.Context, images.Numbers) (images.Volumes, error)

// laboratory is one keeper of volumes, and how to look at what it keeps.
type laboratory struct {
	inGuest bool // it needs a kernel of its own
	// prepare makes what the keeper needs until the test ends; nil: nothing.
	prepare func(t *testing.T, dir string)
	// volumes makes the keeper of a test's folder; step, if not nil, is called
	// before each step that changes something.
	volumes func(dir string, step func(string) error) keeperMaker
	// keeper is one that looks at the folder while no service has it open.
	keeper func(t *testing.T, dir string) images.Volumes
	// judge holds what the kernel knows against the names of the volumes that
	// there should be; nil: it knows nothing.
	judge func(t *testing.T, dir string, names []string, fail func(string, ...any))
}

// options are those of a service in a test's folder: objects in bucket/, the
// service in state/, volumes wherever the keeper has them.
func (l laboratory) options(dir string) images.Options {
	return tested(images.Options{Dir: filepath.Join(dir, "state"), Objects: bucket(dir), Volumes: l.volumes(dir, nil)})
}

// everywhere runs a test with each keeper that can be had here, beside other tests.
func everywhere(t *testing.T, test func(t *testing.T, name string)) {
	t.Helper()
	beside(t)
	alone(t, test)
}

// alone is everywhere for a test that measures time.
func alone(t *testing.T, test func(t *testing.T, name string)) {
	t.Helper()
	for name, lab := range laboratories {
		if lab.inGuest == guest.Inside() {
			t.Run(name, func(t *testing.T) { test(t, name) })
		}
	}
}

// beside lets a test run beside others, but not in a guest: its tests look at
// everything that the one kernel has.
func beside(t *testing.T) {
	t.Helper()
	if !guest.Inside() {
		t.Parallel()
	}
}

// place makes the folder of a test.
func place(t *testing.T, lab string) string {
	t.Helper()
	dir := t.TempDir()
	if prepare := laboratories[lab].prepare; prepare != nil {
		prepare(t, dir)
	}
	return dir
}

// stocked makes the folder of a test with an object, a.tar.
func stocked(t *testing.T, lab string) (dir string) {
	t.Helper()
	dir = place(t, lab)
	put(t, dir, "a.tar", imageTar(t, 1))
	return dir
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

// helloLines is how often usr/bin/hello says so. It makes an archive of which a
// download and an extraction have a middle.
const helloLines = 8000

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
	add(tar.Header{Name: "usr/bin/hello", Typeflag: tar.TypeReg, Mode: 0o755}, bytes.Repeat([]byte("#!/bin/sh\necho hello\n"), helloLines))
	add(tar.Header{Name: "usr/bin/hi", Typeflag: tar.TypeSymlink, Linkname: "hello"}, nil)
	add(tar.Header{Name: "var/log/boot", Typeflag: tar.TypeReg, Mode: 0o600}, bytes.Repeat([]byte{byte(n)}, 100_000))
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
