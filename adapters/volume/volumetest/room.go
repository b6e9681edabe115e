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
func (b *bench) fill(v volume.Volume) error {
	b.Helper()
	file, err := os.Create(filepath.Join(v.Mounted, "filling"))
	b.must(err)
	chunk := make([]byte, 1<<20)
	for i := range chunk {
		chunk[i] = byte(i)
	}
	for written := int64(0); written <= b.Capacity && err == nil; written += int64(len(chunk)) {
		if _, err = file.Write(chunk); err == nil {
			err = file.Sync()
		}
	}
	return errors.Join(err, file.Close())
}

func full(b *bench) {
	if b.Capacity == 0 {
		return // nothing that the driver could say of it
	}
	b.origin()
	v := b.create("thin-big")
	// A write that the kernel had taken already may come to grief as EIO.
	err := b.fill(v)
	b.Log(err)
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EIO) {
		b.Fatalf("%d bytes were written where they can't fit: %v", b.Capacity, err)
	}
	b.destroy("thin-big")
	b.holds(b.mount(image), "file", "content")
	again := b.create("thin-big")
	b.empty(again)
	b.write(again, "file", "there is room again")
	b.unmount("thin-big")
}

// An empty volume may take no room; a snapshot does, be it in the pool's
// metadata only.
func fullPlace(b *bench) {
	if b.Capacity == 0 {
		return
	}
	v := b.create(image)
	b.must(os.WriteFile(filepath.Join(v.Mounted, "file"), make([]byte, 4<<20), 0o600))
	b.unmount(image)
	big := b.create("thin-big")
	before := b.Debris()
	if b.fill(big) == nil {
		b.Fatal("the place is not full")
	}
	if _, err := b.Create(b.ctx, "thin-new"); err == nil {
		b.destroy("thin-new")
	} else {
		b.wants(err, volume.ErrFull)
		b.absent("thin-new")
	}
	_, err := b.Snapshot(b.ctx, image, snap)
	b.wants(err, volume.ErrFull)
	b.absent(snap)
	if after := b.Debris(); len(after) > len(before) {
		b.Errorf("what found no room left %q, there was %q", after, before)
	}
	b.destroy("thin-big")
	b.snapshot(image, snap)
}
