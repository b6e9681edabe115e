package images_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fsmgen/fsmgen/internal/guest"
	"github.com/fsmgen/fsmgen/services/images"
)

// TestDiskFullOfTheTar: the tar, the database and all else are on one small
// disk. With the tar gone there is room to say what happened.
func TestDiskFullOfTheTar(t *testing.T) {
	disk := smallDisk(t, 8)
	if disk == nil {
		return
	}
	objects := s3Directory(t, map[string][]byte{"big.tar": bigTar(t, 12), "small.tar": imageTar(t, 1)})
	s := newSite(t, images.Options{Dir: filepath.Join(disk.path, "state"), Objects: objects, Volumes: volumesBelow(filepath.Join(t.TempDir(), "volumes"))})
	s.fails("images", "big.tar", "download", "download_failed", "pending", "no space left on device", "make room on that disk")
	s.leaves(0, 0)
	disk.grow(64)
	s.ready("images", "big.tar", bigTar(t, 12))
}

// TestDiskFullOfTheVolume: the disk of the volumes is too small for what the
// archive holds, or for the snapshot of it.
func TestDiskFullOfTheVolume(t *testing.T) {
	for name, tt := range map[string]struct {
		room                    int
		machine, reason, status string
		volumes                 int
		advice                  string
	}{
		"extraction": {8, "unpack", "extract_failed", "completed", 0, "make room"},
		"snapshot":   {18, "activate", "pool_full", "completed", 1, "enlarge the disk"},
	} {
		t.Run(name, func(t *testing.T) {
			disk := smallDisk(t, tt.room)
			if disk == nil {
				return
			}
			objects := s3Directory(t, map[string][]byte{"big.tar": bigTar(t, 12)})
			s := newSite(t, images.Options{Objects: objects, Volumes: volumesBelow(filepath.Join(disk.path, "volumes"))})
			s.fails("images", "big.tar", tt.machine, tt.reason, tt.status, "no space left on device", tt.advice)
			s.leaves(1, tt.volumes)
			disk.grow(64)
			s.ready("images", "big.tar", bigTar(t, 12))
		})
	}
}

// bigTar is an image with so many megabytes in it.
func bigTar(t *testing.T, megabytes int) []byte {
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
	for _, name := range []string{"rootfs/", "etc/", "usr/", "var/"} {
		add(tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o755}, nil)
	}
	for i := range megabytes {
		add(tar.Header{Name: fmt.Sprintf("usr/big-%d", i), Typeflag: tar.TypeReg, Mode: 0o644}, bytes.Repeat([]byte{byte(i), 'x'}, 1<<19))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// disk is a file system in memory that can be filled.
type disk struct {
	*testing.T
	path string
}

// smallDisk mounts one of so many megabytes until the test ends. Where mounting
// is refused the test runs in the guest, and there is nothing left to do: nil.
func smallDisk(t *testing.T, megabytes int) *disk {
	t.Helper()
	d := &disk{t, t.TempDir()}
	err := unix.Mount("small", d.path, "tmpfs", 0, fmt.Sprintf("size=%dm", megabytes))
	if errors.Is(err, unix.EPERM) && !guest.Enter(t) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(d.path, 0); err != nil {
			t.Error(err)
		}
	})
	return d
}

// grow makes room.
func (d *disk) grow(megabytes int) {
	d.Helper()
	if err := unix.Mount("small", d.path, "tmpfs", unix.MS_REMOUNT, fmt.Sprintf("size=%dm", megabytes)); err != nil {
		d.Fatal(err)
	}
}
