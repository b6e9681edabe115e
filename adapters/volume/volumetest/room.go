//go:build unix

package volumetest

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

// fill writes to a mounted volume until nothing more fits, and returns the
// error with which that ended.
func (f *fixture) fill(v volume.Volume) error {
	f.Helper()
	file, err := os.Create(filepath.Join(v.Mounted, "filling"))
	f.must(err)
	chunk := make([]byte, 1<<20)
	for i := range chunk {
		chunk[i] = byte(i)
	}
	for written := int64(0); written <= f.Capacity && err == nil; written += int64(len(chunk)) {
		if _, err = file.Write(chunk); err == nil {
			err = file.Sync()
		}
	}
	return errors.Join(err, file.Close())
}

func full(f *fixture) {
	if f.Capacity == 0 {
		return // nothing that the driver could say of it
	}
	f.origin()
	v := f.create("thin-big")
	// A write that the kernel had taken already may come to grief as EIO.
	err := f.fill(v)
	f.Log(err)
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EIO) {
		f.Fatalf("%d bytes were written where they can't fit: %v", f.Capacity, err)
	}
	f.destroy("thin-big")
	f.holds(f.mount(image), "file", "content")
	again := f.create("thin-big")
	f.empty(again)
	f.write(again, "file", "there is room again")
	f.unmount("thin-big")
}

// An empty volume may take no room; a snapshot does, be it in the pool's
// metadata only.
func fullPlace(f *fixture) {
	if f.Capacity == 0 {
		return
	}
	v := f.create(image)
	f.must(os.WriteFile(filepath.Join(v.Mounted, "file"), make([]byte, 4<<20), 0o600))
	f.unmount(image)
	big := f.create("thin-big")
	before := f.Debris()
	if f.fill(big) == nil {
		f.Fatal("the place is not full")
	}
	if _, err := f.Create(f.ctx, "thin-new"); err == nil {
		f.destroy("thin-new")
	} else {
		f.wants(err, volume.ErrFull)
		f.absent("thin-new")
	}
	_, err := f.Snapshot(f.ctx, image, snap)
	f.wants(err, volume.ErrFull)
	f.absent(snap)
	if after := f.Debris(); len(after) > len(before) {
		f.Errorf("what found no room left %q, there was %q", after, before)
	}
	f.destroy("thin-big")
	f.snapshot(image, snap)
}
