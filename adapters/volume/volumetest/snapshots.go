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
func (f *fixture) tree(v volume.Volume) {
	f.Helper()
	at := func(name string) string { return filepath.Join(v.Mounted, name) }
	f.must(os.MkdirAll(at("usr/bin"), 0o755))
	f.must(os.WriteFile(at("usr/bin/tool"), []byte("#!/bin/sh\n"), 0o755))
	f.must(os.Link(at("usr/bin/tool"), at("usr/bin/link")))
	f.must(os.Symlink("usr/bin", at("bin")))
	f.must(os.Symlink("/no/such/place", at("dangling")))
	f.must(syscall.Mkfifo(at("fifo"), 0o620))
	f.must(os.WriteFile(at("secret"), []byte("x"), 0o600))
	f.must(os.Chmod(at("secret"), 0o400|fs.ModeSetuid))
	f.must(os.Mkdir(at("closed"), 0o700))
	f.must(os.WriteFile(at("closed/inner"), []byte("y"), 0o640))
	if os.Geteuid() == 0 {
		f.must(os.Lchown(at("secret"), 12, 34))
		f.must(os.Lchown(at("bin"), 56, 78))
		f.must(os.Chmod(at("secret"), 0o400|fs.ModeSetuid)) // the change of owner took the bit
	}
	sparse, err := os.Create(at("sparse"))
	f.must(err)
	f.must(sparse.Truncate(1 << 20))
	f.must(sparse.Close())
	old := time.Date(2001, 2, 3, 4, 5, 6, 789_000_000, time.UTC)
	f.must(os.Chtimes(at("usr/bin/tool"), old, old))
	f.must(os.Chmod(at("closed"), 0o500))
	f.must(os.Chtimes(at("closed"), old, old))
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
func (f *fixture) nodes(v volume.Volume) map[string]node {
	f.Helper()
	found := map[string]node{}
	f.must(filepath.WalkDir(v.Mounted, func(path string, d fs.DirEntry, err error) error {
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

func snapshot(f *fixture) {
	v := f.create(image)
	f.tree(v)
	want := f.nodes(v)
	f.unmount(image)
	f.snapshot(image, snap)
	_, err := f.Snapshot(f.ctx, image, snap)
	f.wants(err, volume.ErrExists)
	got := f.nodes(f.mount(snap))
	if len(got) != len(want) || len(want) < 11 {
		f.Errorf("the snapshot has %d files, the origin %d", len(got), len(want))
	}
	for name, w := range want {
		g := got[name]
		if !g.modified.Equal(w.modified) {
			f.Errorf("%s was modified at %v, in the snapshot at %v", name, w.modified, g.modified)
		}
		g.modified, w.modified = time.Time{}, time.Time{}
		if g != w {
			f.Errorf("%s is %+v, in the snapshot %+v", name, w, g)
		}
	}
	f.linked(f.look(snap))
}

// linked fails the test unless two names are still one file.
func (f *fixture) linked(v volume.Volume) {
	f.Helper()
	tool, err := os.Stat(filepath.Join(v.Mounted, "usr/bin/tool"))
	f.must(err)
	link, err := os.Stat(filepath.Join(v.Mounted, "usr/bin/link"))
	f.must(err)
	if !os.SameFile(tool, link) {
		f.Error("two names of one file are two files in the snapshot")
	}
}

func independent(f *fixture) {
	f.origin()
	f.snapshot(image, snap)
	s := f.mount(snap)
	f.write(s, "file", "changed")
	f.write(s, "new", "x")
	f.unmount(snap)
	o := f.mount(image)
	f.holds(o, "file", "content")
	if files := f.files(o); len(files) != 1 {
		f.Errorf("the origin has %q after a write to its snapshot", files)
	}
	f.write(o, "file", "changed in the origin")
	f.unmount(image)
	f.holds(f.mount(snap), "file", "changed")
	f.snapshot(image, "thin-second-snap")
	f.holds(f.mount("thin-second-snap"), "file", "changed in the origin")
}

func outlives(f *fixture) {
	f.origin()
	f.snapshot(image, snap)
	f.unmount(image)
	f.destroy(image)
	f.holds(f.mount(snap), "file", "content")
	f.empty(f.create(image))
	f.holds(f.look(snap), "file", "content")
}

func noOrigin(f *fixture) {
	_, err := f.Snapshot(f.ctx, image, snap)
	f.wants(err, volume.ErrNoOrigin)
	f.absent(snap)
	f.absent(image)
	if debris := f.Debris(); len(debris) > 0 {
		f.Errorf("a snapshot of nothing left %q", debris)
	}
}

func mountedOrigin(f *fixture) {
	f.write(f.create(image), "file", "content")
	_, err := f.Snapshot(f.ctx, image, snap)
	f.wants(err, volume.ErrBusy)
	f.absent(snap)
	f.unmount(image)
	f.snapshot(image, snap)
}
