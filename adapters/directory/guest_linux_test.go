package directory

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fsmgen/fsmgen/adapters/volume"
	"github.com/fsmgen/fsmgen/adapters/volume/volumetest"
	"github.com/fsmgen/fsmgen/internal/guest"
)

// TestKernel runs the conformance suite on file systems of its own. It runs in a guest.
func TestKernel(t *testing.T) {
	if !guest.Enter(t, "-module btrfs", "-program mkfs.btrfs") {
		return
	}
	t.Run("WithAnEnd", func(t *testing.T) { volumetest.Run(t, openSmall) })
	btrfs := onBtrfs(t)
	t.Run("WithReflinks", func(t *testing.T) {
		volumetest.Run(t, func(t *testing.T) (volume.Volumes, volumetest.Tools) {
			s := &subject{t, filepath.Join(btrfs, filepath.Base(t.Name()))}
			return s.reopen(nil), s.tools()
		})
	})
	t.Run("SnapshotsShare", func(t *testing.T) { testSharing(t, btrfs) })
}

const smallBytes = 16 << 20

func openSmall(t *testing.T) (volume.Volumes, volumetest.Tools) {
	s := &subject{t, filepath.Join(t.TempDir(), "place")}
	s.mount("tmpfs", "tmpfs", "size=16m")
	tools := s.tools()
	tools.Capacity = smallBytes
	return s.reopen(nil), tools
}

func (s *subject) mount(device, kind, options string) {
	s.Helper()
	err := os.Mkdir(s.root, 0o700)
	if err == nil {
		err = unix.Mount(device, s.root, kind, 0, options)
	}
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		if err := unix.Unmount(s.root, 0); err != nil {
			s.Error(err)
		}
	})
}

// onBtrfs mounts a file system whose files can share blocks.
func onBtrfs(t *testing.T) string {
	t.Helper()
	device := guest.LoopDevice(t, 128<<20)
	if out, err := exec.Command("mkfs.btrfs", "-q", device).CombinedOutput(); err != nil {
		t.Fatalf("mkfs.btrfs: %v\n%s", err, out)
	}
	s := &subject{t, filepath.Join(t.TempDir(), "btrfs")}
	s.mount(device, "btrfs", "")
	return s.root
}

// The extents of a snapshot are those of its origin.
func testSharing(t *testing.T, btrfs string) {
	v := (&subject{t, filepath.Join(btrfs, "sharing")}).reopen(nil)
	made, err := v.Create(t.Context(), "thin-1")
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 16<<20)
	for i := range data {
		data[i] = byte(i >> 8)
	}
	if err := os.WriteFile(filepath.Join(made.Path, "file"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := v.Unmount(t.Context(), "thin-1"); err != nil {
		t.Fatal(err)
	}
	before, err := v.Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Snapshot(t.Context(), "thin-1", "thin-1-snap"); err != nil {
		t.Fatal(err)
	}
	after, err := v.Usage(t.Context())
	if err != nil || after.Used-before.Used > 1<<20 {
		t.Errorf("a snapshot of 16 MiB: the usage was %+v and is %+v, %v", before, after, err)
	}
}
