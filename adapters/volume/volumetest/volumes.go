//go:build unix

package volumetest

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

func unknown(f *fixture) {
	f.absent(image)
	_, err := f.Mount(f.ctx, image)
	f.wants(err, volume.ErrNotExist)
	_, err = f.Activate(f.ctx, image)
	f.wants(err, volume.ErrNotExist)
	f.must(f.Unmount(f.ctx, image))
	f.must(f.Destroy(f.ctx, image))
	f.absent(image)
	if all, err := f.List(f.ctx); err != nil || len(all) > 0 {
		f.Errorf("an empty place has %v, %v", all, err)
	}
}

func names(f *fixture) {
	for _, name := range []string{"", ".", "..", "../x", "a/b", "A", "a b", "a\n", "ä", "a\x00"} {
		if v, err := f.Create(f.ctx, name); err == nil {
			f.Errorf("the name %q was taken: %+v", name, v)
		}
		if v, err := f.Look(f.ctx, name); err == nil {
			f.Errorf("the name %q was looked at: %+v", name, v)
		}
		if f.Destroy(f.ctx, name) == nil {
			f.Errorf("the name %q was destroyed", name)
		}
	}
	f.origin()
	if v, err := f.Snapshot(f.ctx, image, "../x"); err == nil {
		f.Errorf("a snapshot was made: %+v", v)
	}
}

func cancelled(f *fixture) {
	f.origin()
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	_, err := f.Create(ctx, "other")
	f.wants(err, context.Canceled)
	_, err = f.Snapshot(ctx, image, snap)
	f.wants(err, context.Canceled)
	f.wants(f.Destroy(ctx, image), context.Canceled)
	f.absent("other")
	f.absent(snap)
	f.holds(f.mount(image), "file", "content")
}

func create(f *fixture) {
	v := f.create(image)
	f.empty(v)
	f.write(v, "file", "content")
	f.must(os.Mkdir(filepath.Join(v.Mounted, "folder"), 0o750))
	f.holds(f.look(image), "file", "content")
}

func createOnce(f *fixture) {
	f.write(f.create(image), "file", "content")
	_, err := f.Create(f.ctx, image)
	f.wants(err, volume.ErrExists)
	f.holds(f.is(f.look(image), image, volume.Active, true), "file", "content")
	f.unmount(image)
	_, err = f.Create(f.ctx, image)
	f.wants(err, volume.ErrExists)
	f.is(f.look(image), image, volume.Active, false)
}

func mount(f *fixture) {
	v := f.create(image)
	if again := f.mount(image); again != v {
		f.Errorf("a mounted volume was %+v and is %+v", v, again)
	}
	other := f.Reopen(nil)
	if again, err := other.Mount(f.ctx, image); err != nil || again != v {
		f.Errorf("to another process the volume is %+v, %v; want %+v", again, err, v)
	}
}

func unmount(f *fixture) {
	f.write(f.create(image), "file", "content")
	f.unmount(image)
	f.unmount(image)
	f.is(f.look(image), image, volume.Active, false)
	v := f.mount(image)
	f.holds(v, "file", "content")
	f.write(v, "second", "more")
	f.unmount(image)
	if files := f.files(f.mount(image)); !slices.Equal(files, []string{"file", "second"}) {
		f.Errorf("the files are %q", files)
	}
}

func destroy(f *fixture) {
	for range 2 {
		v := f.create(image)
		f.empty(v) // the second time, too
		f.write(v, "file", "content")
		f.destroy(image)
		f.destroy(image)
		if _, err := os.Lstat(filepath.Join(v.Mounted, "file")); !os.IsNotExist(err) {
			f.Errorf("the file of a destroyed volume: %v", err)
		}
		if _, err := os.Lstat(v.Path); !os.IsNotExist(err) {
			f.Errorf("the path of a destroyed volume: %v", err)
		}
	}
	if debris := f.Debris(); len(debris) > 0 {
		f.Errorf("a destroyed volume left %q", debris)
	}
	f.origin()
	f.snapshot(image, snap)
	f.destroy(snap)
	f.holds(f.mount(image), "file", "content")
}

func busy(f *fixture) {
	v := f.create(image)
	f.write(v, "file", "content")
	file, err := os.Open(filepath.Join(v.Mounted, "file"))
	f.must(err)
	defer file.Close()
	if f.Holds {
		f.wants(f.Unmount(f.ctx, image), volume.ErrBusy)
		f.wants(f.Destroy(f.ctx, image), volume.ErrBusy)
		f.holds(f.is(f.look(image), image, volume.Active, true), "file", "content")
		f.must(file.Close())
	}
	f.unmount(image)
	f.destroy(image)
}

func list(f *fixture) {
	for _, name := range []string{"thin-b", "thin-a", "thin-c"} {
		f.create(name)
	}
	f.unmount("thin-a")
	f.snapshot("thin-a", "thin-a-snap")
	f.destroy("thin-c")
	all, err := f.List(f.ctx)
	f.must(err)
	want := []volume.Volume{f.look("thin-a"), f.look("thin-a-snap"), f.look("thin-b")}
	if !slices.Equal(all, want) {
		f.Errorf("the volumes are %+v, want %+v", all, want)
	}
}

func usage(f *fixture) {
	before, err := f.Usage(f.ctx)
	f.must(err)
	v := f.create(image)
	f.must(os.WriteFile(filepath.Join(v.Mounted, "file"), make([]byte, 4<<20), 0o600))
	f.unmount(image)
	after, err := f.Usage(f.ctx)
	f.must(err)
	if before.Total <= 0 || before.Total != after.Total || after.Used > after.Total || after.UsedMeta > after.TotalMeta {
		f.Errorf("the usage was %+v and is %+v", before, after)
	}
	if after.Used-before.Used < 4<<20 && f.Capacity > 0 { // nothing else writes there
		f.Errorf("4 MiB were written; the usage was %+v and is %+v", before, after)
	}
}

func reboot(f *fixture) {
	f.origin()
	f.snapshot(image, snap)
	f.write(f.mount(snap), "file", "changed")
	f.unmount(snap)
	f.must(f.Destroy(f.ctx, "never-made"))
	f.Reboot()
	f.Volumes = f.Reopen(nil)
	for name, content := range map[string]string{image: "content", snap: "changed"} {
		v := f.look(name)
		if v.Condition == volume.Absent || v.Mounted != "" {
			f.Fatalf("after a reboot a volume is %+v", v)
		}
		_, err := f.Create(f.ctx, name)
		f.wants(err, volume.ErrExists)
		for range 2 {
			v, err = f.Activate(f.ctx, name)
			f.must(err)
			f.is(v, name, volume.Active, false)
		}
		f.holds(f.mount(name), "file", content)
	}
	f.absent("never-made")
	_, err := f.Activate(f.ctx, "never-made")
	f.wants(err, volume.ErrNotExist)
	f.Reboot()
	f.Volumes = f.Reopen(nil)
	f.destroy(image) // known and not active
}
