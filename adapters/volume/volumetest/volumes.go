//go:build unix

package volumetest

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

func unknown(b *bench) {
	b.absent(image)
	_, err := b.Mount(b.ctx, image)
	b.wants(err, volume.ErrNotExist)
	_, err = b.Activate(b.ctx, image)
	b.wants(err, volume.ErrNotExist)
	b.must(b.Unmount(b.ctx, image))
	b.must(b.Destroy(b.ctx, image))
	b.absent(image)
	if all, err := b.List(b.ctx); err != nil || len(all) > 0 {
		b.Errorf("an empty place has %v, %v", all, err)
	}
}

func names(b *bench) {
	for _, name := range []string{"", ".", "..", "../x", "a/b", "A", "a b", "a\n", "ä", "a\x00"} {
		if v, err := b.Create(b.ctx, name); err == nil {
			b.Errorf("the name %q was taken: %+v", name, v)
		}
		if v, err := b.Look(b.ctx, name); err == nil {
			b.Errorf("the name %q was looked at: %+v", name, v)
		}
		if b.Destroy(b.ctx, name) == nil {
			b.Errorf("the name %q was destroyed", name)
		}
	}
	b.origin()
	if v, err := b.Snapshot(b.ctx, image, "../x"); err == nil {
		b.Errorf("a snapshot was made: %+v", v)
	}
}

func cancelled(b *bench) {
	b.origin()
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	_, err := b.Create(ctx, "other")
	b.wants(err, context.Canceled)
	_, err = b.Snapshot(ctx, image, snap)
	b.wants(err, context.Canceled)
	b.wants(b.Destroy(ctx, image), context.Canceled)
	b.absent("other")
	b.absent(snap)
	b.holds(b.mount(image), "file", "content")
}

func create(b *bench) {
	v := b.create(image)
	b.empty(v)
	b.write(v, "file", "content")
	b.must(os.Mkdir(filepath.Join(v.Mounted, "folder"), 0o750))
	b.holds(b.look(image), "file", "content")
}

func createOnce(b *bench) {
	b.write(b.create(image), "file", "content")
	_, err := b.Create(b.ctx, image)
	b.wants(err, volume.ErrExists)
	b.holds(b.is(b.look(image), image, volume.Active, true), "file", "content")
	b.unmount(image)
	_, err = b.Create(b.ctx, image)
	b.wants(err, volume.ErrExists)
	b.is(b.look(image), image, volume.Active, false)
}

func mount(b *bench) {
	v := b.create(image)
	if again := b.mount(image); again != v {
		b.Errorf("a mounted volume was %+v and is %+v", v, again)
	}
	other := b.Reopen(nil)
	if again, err := other.Mount(b.ctx, image); err != nil || again != v {
		b.Errorf("to another process the volume is %+v, %v; want %+v", again, err, v)
	}
}

func unmount(b *bench) {
	b.write(b.create(image), "file", "content")
	b.unmount(image)
	b.unmount(image)
	b.is(b.look(image), image, volume.Active, false)
	v := b.mount(image)
	b.holds(v, "file", "content")
	b.write(v, "second", "more")
	b.unmount(image)
	if files := b.files(b.mount(image)); !slices.Equal(files, []string{"file", "second"}) {
		b.Errorf("the files are %q", files)
	}
}

func destroy(b *bench) {
	for range 2 {
		v := b.create(image)
		b.empty(v) // the second time, too
		b.write(v, "file", "content")
		b.destroy(image)
		b.destroy(image)
		if _, err := os.Lstat(filepath.Join(v.Mounted, "file")); !os.IsNotExist(err) {
			b.Errorf("the file of a destroyed volume: %v", err)
		}
		if _, err := os.Lstat(v.Path); !os.IsNotExist(err) {
			b.Errorf("the path of a destroyed volume: %v", err)
		}
	}
	if debris := b.Debris(); len(debris) > 0 {
		b.Errorf("a destroyed volume left %q", debris)
	}
	b.origin()
	b.snapshot(image, snap)
	b.destroy(snap)
	b.holds(b.mount(image), "file", "content")
}

func busy(b *bench) {
	v := b.create(image)
	b.write(v, "file", "content")
	file, err := os.Open(filepath.Join(v.Mounted, "file"))
	b.must(err)
	defer file.Close()
	if b.Holds {
		b.wants(b.Unmount(b.ctx, image), volume.ErrBusy)
		b.wants(b.Destroy(b.ctx, image), volume.ErrBusy)
		b.holds(b.is(b.look(image), image, volume.Active, true), "file", "content")
		b.must(file.Close())
	}
	b.unmount(image)
	b.destroy(image)
}

func list(b *bench) {
	for _, name := range []string{"thin-b", "thin-a", "thin-c"} {
		b.create(name)
	}
	b.unmount("thin-a")
	b.snapshot("thin-a", "thin-a-snap")
	b.destroy("thin-c")
	all, err := b.List(b.ctx)
	b.must(err)
	want := []volume.Volume{b.look("thin-a"), b.look("thin-a-snap"), b.look("thin-b")}
	if !slices.Equal(all, want) {
		b.Errorf("the volumes are %+v, want %+v", all, want)
	}
}

func usage(b *bench) {
	before, err := b.Usage(b.ctx)
	b.must(err)
	v := b.create(image)
	b.must(os.WriteFile(filepath.Join(v.Mounted, "file"), make([]byte, 4<<20), 0o600))
	b.unmount(image)
	after, err := b.Usage(b.ctx)
	b.must(err)
	if before.Total <= 0 || before.Total != after.Total || after.Used > after.Total || after.UsedMeta > after.TotalMeta {
		b.Errorf("the usage was %+v and is %+v", before, after)
	}
	if after.Used-before.Used < 4<<20 && b.Capacity > 0 { // nobody else writes there
		b.Errorf("4 MiB were written; the usage was %+v and is %+v", before, after)
	}
}

func reboot(b *bench) {
	b.origin()
	b.snapshot(image, snap)
	b.write(b.mount(snap), "file", "changed")
	b.unmount(snap)
	b.must(b.Destroy(b.ctx, "never-made"))
	b.Reboot()
	b.Volumes = b.Reopen(nil)
	for name, content := range map[string]string{image: "content", snap: "changed"} {
		v := b.look(name)
		if v.Condition == volume.Absent || v.Mounted != "" {
			b.Fatalf("after a reboot a volume is %+v", v)
		}
		_, err := b.Create(b.ctx, name)
		b.wants(err, volume.ErrExists)
		for range 2 {
			v, err = b.Activate(b.ctx, name)
			b.must(err)
			b.is(v, name, volume.Active, false)
		}
		b.holds(b.mount(name), "file", content)
	}
	b.absent("never-made")
	_, err := b.Activate(b.ctx, "never-made")
	b.wants(err, volume.ErrNotExist)
	b.Reboot()
	b.Volumes = b.Reopen(nil)
	b.destroy(image) // known and not active
}
