//go:build unix

package volumetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

// The names of most tests, as document 002 makes them.
const (
	image = "thin-0a1b2c3d"
	snap  = image + "-snap"
)

// bench is a driver under examination.
type bench struct {
	*testing.T
	Tools
	volume.Volumes
	ctx context.Context
}

func newBench(t *testing.T, open Open) *bench {
	volumes, tools := open(t)
	return &bench{T: t, Tools: tools, Volumes: volumes, ctx: t.Context()}
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// wants fails the test unless err is target.
func (b *bench) wants(err, target error) {
	b.Helper()
	if !errors.Is(err, target) {
		b.Fatalf("the error is %v, want %v", err, target)
	}
}

// is fails the test unless the volume is in that condition, and Look agrees.
func (b *bench) is(v volume.Volume, name string, condition volume.Condition, mounted bool) volume.Volume {
	b.Helper()
	if v.Name != name || v.Condition != condition || (v.Path != "") != (condition == volume.Active) || (v.Mounted != "") != mounted {
		b.Fatalf("the volume is %+v, want %s, %s, mounted: %v", v, name, condition, mounted)
	}
	if seen := b.look(name); seen != v {
		b.Fatalf("the volume is %+v, and Look says %+v", v, seen)
	}
	if v.Path != "" {
		_, err := os.Stat(v.Path)
		b.must(err)
	}
	return v
}

func (b *bench) look(name string) volume.Volume {
	b.Helper()
	v, err := b.Look(b.ctx, name)
	b.must(err)
	return v
}

func (b *bench) absent(name string) {
	b.Helper()
	b.is(b.look(name), name, volume.Absent, false)
}

// usable activates a volume that is not active, as whoever finds one does.
func (b *bench) usable(name string) {
	b.Helper()
	v := b.look(name)
	if v.Condition == volume.Known {
		var err error
		v, err = b.Activate(b.ctx, name)
		b.must(err)
	}
	b.is(v, name, volume.Active, v.Mounted != "")
}

func (b *bench) create(name string) volume.Volume {
	b.Helper()
	v, err := b.Create(b.ctx, name)
	b.must(err)
	return b.is(v, name, volume.Active, true)
}

func (b *bench) snapshot(origin, name string) volume.Volume {
	b.Helper()
	v, err := b.Snapshot(b.ctx, origin, name)
	b.must(err)
	return b.is(v, name, volume.Active, false)
}

func (b *bench) mount(name string) volume.Volume {
	b.Helper()
	v, err := b.Mount(b.ctx, name)
	b.must(err)
	return b.is(v, name, volume.Active, true)
}

func (b *bench) unmount(name string) {
	b.Helper()
	b.must(b.Unmount(b.ctx, name))
	if v := b.look(name); v.Mounted != "" {
		b.Fatalf("an unmounted volume is %+v", v)
	}
}

func (b *bench) destroy(name string) {
	b.Helper()
	b.must(b.Destroy(b.ctx, name))
	b.absent(name)
}

// origin makes a volume with a file, and unmounts it.
func (b *bench) origin() {
	b.Helper()
	b.write(b.create(image), "file", "content")
	b.unmount(image)
}

func (b *bench) write(v volume.Volume, file, content string) {
	b.Helper()
	b.must(os.WriteFile(filepath.Join(v.Mounted, file), []byte(content), 0o600))
}

// holds fails the test unless the file of a mounted volume has this content.
func (b *bench) holds(v volume.Volume, file, content string) {
	b.Helper()
	data, err := os.ReadFile(filepath.Join(v.Mounted, file))
	b.must(err)
	if string(data) != content {
		b.Fatalf("%s of %s is %q, want %q", file, v.Name, data, content)
	}
}

// files lists a mounted volume, without the folder that ext4 begins with.
func (b *bench) files(v volume.Volume) []string {
	b.Helper()
	entries, err := os.ReadDir(v.Mounted)
	b.must(err)
	var names []string
	for _, e := range entries {
		if e.Name() != "lost+found" {
			names = append(names, e.Name())
		}
	}
	return names
}

// empty fails the test unless nothing is in a mounted volume.
func (b *bench) empty(v volume.Volume) {
	b.Helper()
	if files := b.files(v); len(files) > 0 {
		b.Fatalf("%s should be empty and has %q", v.Name, files)
	}
}

// leavesNothing destroys every volume and looks for what is left then.
func (b *bench) leavesNothing() {
	b.Helper()
	b.Volumes = b.Reopen(nil)
	all, err := b.List(b.ctx)
	b.must(err)
	for _, v := range all {
		b.destroy(v.Name)
	}
	if debris := b.Debris(); len(debris) > 0 {
		b.Errorf("this is left when every volume is destroyed: %q", debris)
	}
}
