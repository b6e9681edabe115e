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

// fixture is a driver that the cases run on.
type fixture struct {
	*testing.T
	Tools
	volume.Volumes
	ctx context.Context
}

func newFixture(t *testing.T, open Open) *fixture {
	volumes, tools := open(t)
	return &fixture{T: t, Tools: tools, Volumes: volumes, ctx: t.Context()}
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// wants fails the test unless err is target.
func (f *fixture) wants(err, target error) {
	f.Helper()
	if !errors.Is(err, target) {
		f.Fatalf("the error is %v, want %v", err, target)
	}
}

// is fails the test unless the volume is in that condition, and Look agrees.
func (f *fixture) is(v volume.Volume, name string, condition volume.Condition, mounted bool) volume.Volume {
	f.Helper()
	if v.Name != name || v.Condition != condition || (v.Path != "") != (condition == volume.Active) || (v.Mounted != "") != mounted {
		f.Fatalf("the volume is %+v, want %s, %s, mounted: %v", v, name, condition, mounted)
	}
	if seen := f.look(name); seen != v {
		f.Fatalf("the volume is %+v, and Look says %+v", v, seen)
	}
	if v.Path != "" {
		_, err := os.Stat(v.Path)
		f.must(err)
	}
	return v
}

func (f *fixture) look(name string) volume.Volume {
	f.Helper()
	v, err := f.Look(f.ctx, name)
	f.must(err)
	return v
}

func (f *fixture) absent(name string) {
	f.Helper()
	f.is(f.look(name), name, volume.Absent, false)
}

// usable activates a volume that is not active, as callers of Look do.
func (f *fixture) usable(name string) {
	f.Helper()
	v := f.look(name)
	if v.Condition == volume.Known {
		var err error
		v, err = f.Activate(f.ctx, name)
		f.must(err)
	}
	f.is(v, name, volume.Active, v.Mounted != "")
}

func (f *fixture) create(name string) volume.Volume {
	f.Helper()
	v, err := f.Create(f.ctx, name)
	f.must(err)
	return f.is(v, name, volume.Active, true)
}

func (f *fixture) snapshot(origin, name string) volume.Volume {
	f.Helper()
	v, err := f.Snapshot(f.ctx, origin, name)
	f.must(err)
	return f.is(v, name, volume.Active, false)
}

func (f *fixture) mount(name string) volume.Volume {
	f.Helper()
	v, err := f.Mount(f.ctx, name)
	f.must(err)
	return f.is(v, name, volume.Active, true)
}

func (f *fixture) unmount(name string) {
	f.Helper()
	f.must(f.Unmount(f.ctx, name))
	if v := f.look(name); v.Mounted != "" {
		f.Fatalf("an unmounted volume is %+v", v)
	}
}

func (f *fixture) destroy(name string) {
	f.Helper()
	f.must(f.Destroy(f.ctx, name))
	f.absent(name)
}

// origin makes a volume with a file, and unmounts it.
func (f *fixture) origin() {
	f.Helper()
	f.write(f.create(image), "file", "content")
	f.unmount(image)
}

func (f *fixture) write(v volume.Volume, file, content string) {
	f.Helper()
	f.must(os.WriteFile(filepath.Join(v.Mounted, file), []byte(content), 0o600))
}

// holds fails the test unless the file of a mounted volume has this content.
func (f *fixture) holds(v volume.Volume, file, content string) {
	f.Helper()
	data, err := os.ReadFile(filepath.Join(v.Mounted, file))
	f.must(err)
	if string(data) != content {
		f.Fatalf("%s of %s is %q, want %q", file, v.Name, data, content)
	}
}

// files lists a mounted volume, without the folder that ext4 begins with.
func (f *fixture) files(v volume.Volume) []string {
	f.Helper()
	entries, err := os.ReadDir(v.Mounted)
	f.must(err)
	var names []string
	for _, e := range entries {
		if e.Name() != "lost+found" {
			names = append(names, e.Name())
		}
	}
	return names
}

// empty fails the test unless nothing is in a mounted volume.
func (f *fixture) empty(v volume.Volume) {
	f.Helper()
	if files := f.files(v); len(files) > 0 {
		f.Fatalf("%s should be empty and has %q", v.Name, files)
	}
}

// leavesNothing destroys every volume and looks for what is left then.
func (f *fixture) leavesNothing() {
	f.Helper()
	f.Volumes = f.Reopen(nil)
	all, err := f.List(f.ctx)
	f.must(err)
	for _, v := range all {
		f.destroy(v.Name)
	}
	if debris := f.Debris(); len(debris) > 0 {
		f.Errorf("this is left when every volume is destroyed: %q", debris)
	}
}
