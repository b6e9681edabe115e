//go:build unix

package volumetest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

// tree fills a volume with what images have: a name of each kind of file.
func (b *bench) tree(v volume.Volume) {
	b.Helper()
	at := func(name string) string { return filepath.Join(v.Mounted, name) }
	b.must(os.MkdirAll(at("usr/bin"), 0o755))
	b.must(os.WriteFile(at("usr/bin/tool"), []byte("#!/bin/sh\n"), 0o755))
	b.must(os.Link(at("usr/bin/tool"), at("usr/bin/link")))
	b.must(os.Symlink("usr/bin", at("bin")))
	b.must(os.Symlink("/no/such/place", at("dangling")))
	b.must(syscall.Mkfifo(at("fifo"), 0o620))
	b.must(os.WriteFile(at("secret"), []byte("x"), 0o600))
	b.must(os.Chmod(at("secret"), 0o400|fs.ModeSetuid))
	b.must(os.Mkdir(at("closed"), 0o700))
	b.must(os.WriteFile(at("closed/inner"), []byte("y"), 0o640))
	if os.Geteuid() == 0 {
		b.must(os.Lchown(at("secret"), 12, 34))
		b.must(os.Lchown(at("bin"), 56, 78))
		b.must(os.Chmod(at("secret"), 0o400|fs.ModeSetuid)) // the change of owner took the bit
	}
	sparse, err := os.Create(at("sparse"))
	b.must(err)
	b.must(sparse.Truncate(1 << 20))
	b.must(sparse.Close())
	old := time.Date(2001, 2, 3, 4, 5, 6, 789_000_000, time.UTC)
	b.must(os.Chtimes(at("usr/bin/tool"), old, old))
	b.must(os.Chmod(at("closed"), 0o500))
	b.must(os.Chtimes(at("closed"), old, old))
}

// node is what a copy has to keep of a file.
type node struct {
	mode     fs.FileMode
	uid, gid uint32
	links    string
	size     int64
	modified time.Time
	content  string // or where a link points
}

// nodes reads a mounted volume.
func (b *bench) nodes(v volume.Volume) map[string]node {
	b.Helper()
	found := map[string]node{}
	b.must(filepath.WalkDir(v.Mounted, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == "lost+found" {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		stat := info.Sys().(*syscall.Stat_t)
		n := node{mode: info.Mode(), uid: stat.Uid, gid: stat.Gid, modified: info.ModTime()}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			n.content, err = os.Readlink(path)
		case info.Mode().IsRegular():
			var data []byte
			data, err = os.ReadFile(path)
			n.content, n.links, n.size = string(data), fmt.Sprint(stat.Nlink), info.Size()
		}
		name, _ := filepath.Rel(v.Mounted, path) // it is below
		if name != "." {
			found[name] = n
		}
		return err
	}))
	return found
}

func snapshot(b *bench) {
	v := b.create(image)
	b.tree(v)
	want := b.nodes(v)
	b.unmount(image)
	b.snapshot(image, snap)
	_, err := b.Snapshot(b.ctx, image, snap)
	b.wants(err, volume.ErrExists)
	got := b.nodes(b.mount(snap))
	if len(got) != len(want) || len(want) < 11 {
		b.Errorf("the snapshot has %d files, the origin %d", len(got), len(want))
	}
	for name, w := range want {
		g := got[name]
		if !g.modified.Equal(w.modified) {
			b.Errorf("%s was modified at %v, in the snapshot at %v", name, w.modified, g.modified)
		}
		g.modified, w.modified = time.Time{}, time.Time{}
		if g != w {
			b.Errorf("%s is %+v, in the snapshot %+v", name, w, g)
		}
	}
	b.linked(b.look(snap))
}

// linked fails the test unless two names are still one file.
func (b *bench) linked(v volume.Volume) {
	b.Helper()
	tool, err := os.Stat(filepath.Join(v.Mounted, "usr/bin/tool"))
	b.must(err)
	link, err := os.Stat(filepath.Join(v.Mounted, "usr/bin/link"))
	b.must(err)
	if !os.SameFile(tool, link) {
		b.Error("two names of one file are two files in the snapshot")
	}
}

func independent(b *bench) {
	b.origin()
	b.snapshot(image, snap)
	s := b.mount(snap)
	b.write(s, "file", "changed")
	b.write(s, "new", "x")
	b.unmount(snap)
	o := b.mount(image)
	b.holds(o, "file", "content")
	if files := b.files(o); len(files) != 1 {
		b.Errorf("the origin has %q after a write to its snapshot", files)
	}
	b.write(o, "file", "changed in the origin")
	b.unmount(image)
	b.holds(b.mount(snap), "file", "changed")
	b.snapshot(image, "thin-second-snap")
	b.holds(b.mount("thin-second-snap"), "file", "changed in the origin")
}

func outlives(b *bench) {
	b.origin()
	b.snapshot(image, snap)
	b.unmount(image)
	b.destroy(image)
	b.holds(b.mount(snap), "file", "content")
	b.empty(b.create(image))
	b.holds(b.look(snap), "file", "content")
}

func noOrigin(b *bench) {
	_, err := b.Snapshot(b.ctx, image, snap)
	b.wants(err, volume.ErrNoOrigin)
	b.absent(snap)
	b.absent(image)
	if debris := b.Debris(); len(debris) > 0 {
		b.Errorf("a snapshot of nothing left %q", debris)
	}
}

func mountedOrigin(b *bench) {
	b.write(b.create(image), "file", "content")
	_, err := b.Snapshot(b.ctx, image, snap)
	b.wants(err, volume.ErrBusy)
	b.absent(snap)
	b.unmount(image)
	b.snapshot(image, snap)
}
