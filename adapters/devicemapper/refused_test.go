//go:build linux

package devicemapper

import (
	"errors"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fsmgen/fsmgen/adapters/volume"
	"github.com/fsmgen/fsmgen/internal/guest"
)

// testMetadataFull makes devices until the metadata has no room for one more.
func testMetadataFull(t *testing.T, s *subject, v *Volumes) {
	_, err := v.Create(t.Context(), image)
	must(t, err)
	must(t, v.Unmount(t.Context(), image))
	const more = 2000 // than 4 MiB of metadata hold
	for number := range uint32(more) {
		if err = v.pool.create(number); err != nil {
			break
		}
	}
	if err == nil {
		t.Fatalf("the metadata has room for %d devices", more)
	}
	wants(t, err, volume.ErrFull)
	wants(t, err, unix.EOPNOTSUPP)
	contains(t, err, adviceFullMetadata)
	_, err = v.Create(t.Context(), "thin-one-more")
	wants(t, err, volume.ErrFull)
	_, err = v.Snapshot(t.Context(), image, image+"-snap")
	wants(t, err, volume.ErrFull)
	wants(t, v.Destroy(t.Context(), image), volume.ErrFull)
	if all, err := v.List(t.Context()); err != nil || len(all) != 1 || all[0].Name != image {
		t.Errorf("the volumes are %+v, %v", all, err)
	}
	_, err = v.Activate(t.Context(), image)
	must(t, err)
	if seen, err := v.Look(t.Context(), image); err != nil || seen.Condition != volume.Active {
		t.Errorf("the volume is %+v, %v", seen, err)
	}
	if _, reserved := s.numbers.numbers["thin-one-more"]; reserved {
		t.Error("what could not be made has a number")
	}
}

// testNoPermission opens the pool as another user than root.
func testNoPermission(t *testing.T, s *subject, _ *Volumes) {
	opened := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine, so no other one changes its user
		const unprivileged = 65534
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, unprivileged, unprivileged, unprivileged); errno != 0 {
			opened <- errno
			return
		}
		_, err := New(s.config, s.numbers)
		opened <- err
	}()
	err := <-opened
	wants(t, err, volume.ErrUnsupported)
	wants(t, err, unix.EACCES)
	contains(t, err, advicePermission)
}

// testNoThinPool opens a pool on a kernel that has device-mapper without pools.
func testNoThinPool(t *testing.T) {
	must(t, unix.DeleteModule("dm_thin_pool", 0))
	config := Config{Metadata: guest.LoopDevice(t, 4<<20), Data: guest.LoopDevice(t, poolBytes), Mounts: t.TempDir()}
	_, err := New(config, &table{})
	wants(t, err, volume.ErrUnsupported)
	wants(t, err, unix.EINVAL)
	contains(t, err, adviceUnsupported)
	c, err := openControl()
	must(t, err)
	if d, err := c.look("pool"); err != nil || d.exists {
		t.Errorf("the pool that could not be made is %+v, %v", d, err)
	}
	must(t, errors.Join(c.remove("pool"), c.file.Close()))
}
