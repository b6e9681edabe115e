//go:build linux

package devicemapper

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

// image is the volume of most tests.
const image = "thin-0a1b2c3d"

var errCrash = errors.New("the process was killed")

// A process that dies while it makes the pool is followed by one that ends it.
func testPoolIsMade(t *testing.T, s *subject, _ *Volumes) {
	for at := 0; ; at++ {
		s.reboot()
		steps := 0
		s.control.step = func(string) error {
			if steps++; steps > at {
				return errCrash
			}
			return nil
		}
		_, err := openPool(s.control, s.config.withDefaults())
		s.control.step = func(string) error { return nil }
		if err == nil {
			break
		}
		wants(t, err, errCrash)
		p, err := openPool(s.control, s.config.withDefaults())
		must(t, err)
		must(t, p.writable())
		if at > 10 {
			t.Fatal("a pool takes fewer steps")
		}
	}
}

// The numbers are lost, and with them the names. What the pool has is neither
// taken for what is made next, though all names prefer the same number, nor
// forgotten.
func testLostNumbers(t *testing.T, s *subject, v *Volumes) {
	made, err := v.Create(t.Context(), image)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(made.Mounted, "file"), []byte("x"), 0o600))
	lost := unnamed(s.numbers.numbers[image])
	s.reboot()
	clear(s.numbers.numbers)
	v = s.reopen(nil).(*Volumes)
	if seen, err := v.Look(t.Context(), lost); err != nil || seen.Condition != volume.Known {
		t.Errorf("what lost its name is %+v, %v", seen, err)
	}
	made, err = v.Create(t.Context(), image)
	must(t, err)
	if _, err := os.Stat(filepath.Join(made.Mounted, "file")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a new volume has the content of an old one: %v", err)
	}
	all, err := v.List(t.Context())
	must(t, err)
	if len(all) != 2 || all[0].Name != lost || all[1].Name != image {
		t.Errorf("the volumes are %+v, want %s and %s", all, lost, image)
	}
	must(t, v.Destroy(t.Context(), unnamed(s.numbers.numbers[image]))) // it has a name, so this is none
	must(t, v.Destroy(t.Context(), lost))
	if all, err := v.List(t.Context()); err != nil || len(all) != 1 || all[0] != made {
		t.Errorf("the volumes are %+v, %v, want %+v", all, err, made)
	}
}

// A device of this name that is none of this pool's is left alone.
func testForeignDevice(t *testing.T, s *subject, v *Volumes) {
	must(t, s.control.activate(image, target{length: 8, kind: "error"}))
	_, err := v.Look(t.Context(), image)
	contains(t, err, "not a thin device")
	_, err = v.Create(t.Context(), image)
	contains(t, err, "not a thin device")
	contains(t, v.Destroy(t.Context(), image), "not a thin device")
	if d, err := s.control.look(image); err != nil || !d.live {
		t.Errorf("the foreign device is %+v, %v", d, err)
	}
}

// A node that was left by a device of the same name, and one that is no device.
func testStaleNode(t *testing.T, s *subject, v *Volumes) {
	must(t, unix.Mknod(nodeOf(image), unix.S_IFBLK|0o600, int(unix.Mkdev(7, 99))))
	_, err := v.Create(t.Context(), image)
	must(t, err)
	must(t, v.Unmount(t.Context(), image))
	s.reboot()
	must(t, os.WriteFile(nodeOf(image), nil, 0o600))
	v = s.reopen(nil).(*Volumes)
	_, err = v.Activate(t.Context(), image)
	must(t, err)
	_, err = v.Mount(t.Context(), image)
	must(t, err)
}

// testMountedElsewhere: a mount that an operator made elsewhere is seen and used, and stays.
func testMountedElsewhere(t *testing.T, _ *subject, v *Volumes) {
	_, err := v.Create(t.Context(), image)
	must(t, err)
	must(t, v.Unmount(t.Context(), image))
	elsewhere := filepath.Join(t.TempDir(), "a b")
	must(t, os.Mkdir(elsewhere, 0o700))
	must(t, mount(nodeOf(image), elsewhere))
	seen, err := v.Mount(t.Context(), image)
	if err != nil || seen.Mounted != elsewhere {
		t.Errorf("the volume is %+v, %v", seen, err)
	}
	wants(t, v.Unmount(t.Context(), image), volume.ErrBusy)
	wants(t, v.Destroy(t.Context(), image), volume.ErrBusy)
	wants(t, v.Deactivate(t.Context(), image), volume.ErrBusy)
	must(t, unmount(elsewhere))
	must(t, v.Deactivate(t.Context(), image))
	must(t, v.Deactivate(t.Context(), image))
	if seen, err := v.Look(t.Context(), image); err != nil || seen.Condition != volume.Known {
		t.Errorf("the volume is %+v, %v", seen, err)
	}
}

// testLeftSuspended: a mount of an origin that was left suspended would hang.
func testLeftSuspended(t *testing.T, s *subject, v *Volumes) {
	_, err := v.Create(t.Context(), image)
	must(t, err)
	must(t, v.Unmount(t.Context(), image))
	must(t, s.control.suspend(image))
	if seen, err := v.Look(t.Context(), image); err != nil || seen.Condition != volume.Known {
		t.Errorf("a suspended volume is %+v, %v", seen, err)
	}
	_, err = v.Mount(t.Context(), image)
	contains(t, err, "activate it first")
	_, err = v.Activate(t.Context(), image)
	must(t, err)
	_, err = v.Mount(t.Context(), image)
	must(t, err)
	must(t, v.Unmount(t.Context(), image))
	must(t, s.control.suspend(image))
	must(t, v.Destroy(t.Context(), image))
}

// A probe that was left keeps its number open, which could not be deleted.
func testLeftProbe(t *testing.T, s *subject, v *Volumes) {
	_, err := v.Create(t.Context(), image)
	must(t, err)
	probe := v.pool.name + probeSuffix
	_, _, err = s.control.do(unix.DM_DEV_CREATE, command{name: probe})
	must(t, err)
	must(t, s.control.load(probe, v.pool.thin(s.numbers.numbers[image], 1)))
	must(t, v.Destroy(t.Context(), image))
	if left := s.devices(); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

// A snapshot takes no room for what it shares.
func testMapped(t *testing.T, _ *subject, v *Volumes) {
	made, err := v.Create(t.Context(), image)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(made.Mounted, "file"), make([]byte, 4<<20), 0o600))
	must(t, v.Unmount(t.Context(), image))
	before, err := v.Usage(t.Context())
	must(t, err)
	_, err = v.Snapshot(t.Context(), image, image+"-snap")
	must(t, err)
	after, err := v.Usage(t.Context())
	must(t, err)
	mapped, err := v.Mapped(t.Context(), image+"-snap")
	must(t, err)
	if mapped < 4<<20 || after.Used != before.Used {
		t.Errorf("the snapshot maps %d bytes; the usage was %+v and is %+v", mapped, before, after)
	}
}

// What did not fit is told when the volume is unmounted, and again when that is
// repeated by a process that knows nothing of it.
func testLostWrites(t *testing.T, s *subject, v *Volumes) {
	made, err := v.Create(t.Context(), image)
	must(t, err)
	// The page cache takes it; there is no room in the pool.
	must(t, os.WriteFile(filepath.Join(made.Mounted, "file"), make([]byte, poolBytes+4<<20), 0o600))
	first := v.Unmount(t.Context(), image)
	wants(t, first, volume.ErrFull)
	second := s.reopen(nil).Unmount(t.Context(), image)
	contains(t, second, "destroy the volume")
	_, err = v.Snapshot(t.Context(), image, image+"-snap")
	if err == nil {
		t.Error("a snapshot was made of what lost writes")
	}
	if seen, err := v.Look(t.Context(), image); err != nil || seen.Mounted == "" {
		t.Errorf("the volume is %+v, %v", seen, err)
	}
	must(t, v.Destroy(t.Context(), image))
	_, err = v.Create(t.Context(), image)
	must(t, err)
}

func testNoMkfs(t *testing.T, s *subject, _ *Volumes) {
	s.config.Mkfs = "no-such-mkfs"
	v := s.reopen(nil).(*Volumes)
	_, err := v.Create(t.Context(), image)
	wants(t, err, volume.ErrUnsupported)
	contains(t, err, adviceMkfs)
	if seen, err := v.Look(t.Context(), image); err != nil || seen.Condition != volume.Active || seen.Mounted != "" {
		t.Errorf("a volume that could not be formatted is %+v, %v", seen, err)
	}
}
