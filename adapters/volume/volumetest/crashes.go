//go:build unix

package volumetest

import (
	"errors"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

// errCrash ends a call at a step.
var errCrash = errors.New("the process was killed")

// crashes runs a call once for each of its steps, and ends it at that step. prepare makes the call
// possible. A process that dies makes the call; every third time a reboot follows. The next process
// runs check.
func (f *fixture) crashes(prepare func(), call func(volume.Volumes) error, check func(point string)) {
	f.Helper()
	seen := 0
	for at := 0; ; at++ {
		prepare()
		point, err := f.crash(at, call)
		if point == "" {
			f.must(err)
			break
		}
		f.wants(err, errCrash)
		if at%3 == 1 {
			f.Reboot()
		}
		seen++
		f.Volumes = f.Reopen(nil)
		check(point)
		if debris := f.Debris(); len(debris) > 0 {
			f.Fatalf("a crash at %q left %q", point, debris)
		}
	}
	f.Logf("ended at %d steps", seen)
	if seen == 0 {
		f.Error("the call has no step at which it could be ended")
	}
}

// crash makes a call by a process that dies at a step, and returns the step. That step and all later
// ones fail. The step is "" if the call has fewer.
func (f *fixture) crash(at int, call func(volume.Volumes) error) (point string, err error) {
	steps := 0
	volumes := f.Reopen(func(p string) error {
		if steps++; steps <= at {
			return nil
		}
		if point == "" {
			point = p
		}
		return errCrash
	})
	return point, call(volumes)
}

func (f *fixture) nothing() {}

// ready makes sure that the image is there, active and not mounted.
func (f *fixture) ready() {
	f.Helper()
	if f.look(image).Condition == volume.Absent {
		f.origin()
	}
	_, err := f.Activate(f.ctx, image)
	f.must(err)
	f.unmount(image)
}

func crashInCreate(f *fixture) {
	create := func(v volume.Volumes) error { _, err := v.Create(f.ctx, image); return err }
	f.crashes(f.nothing, create, func(point string) {
		v := f.look(image)
		if v.Mounted != "" {
			f.Fatalf("a volume that was not finished at %q is mounted: %+v", point, v)
		}
		if v.Condition != volume.Absent {
			_, err := f.Create(f.ctx, image)
			f.wants(err, volume.ErrExists)
			f.destroy(image)
		}
		v = f.create(image)
		f.empty(v)
		f.destroy(image)
	})
}

func crashInSnapshot(f *fixture) {
	snapshot := func(v volume.Volumes) error { _, err := v.Snapshot(f.ctx, image, snap); return err }
	f.crashes(f.ready, snapshot, func(string) {
		if f.look(snap).Condition == volume.Absent {
			f.usable(image)
			f.snapshot(image, snap)
		} else {
			_, err := f.Snapshot(f.ctx, image, snap)
			f.wants(err, volume.ErrExists)
			f.usable(snap)
		}
		f.holds(f.mount(snap), "file", "content")
		f.destroy(snap)
	})
}

func crashInActivate(f *fixture) {
	f.ready()
	f.Reboot()
	f.Volumes = f.Reopen(nil)
	if f.look(image).Condition == volume.Active {
		return // this driver's volumes are always active
	}
	activate := func(v volume.Volumes) error { _, err := v.Activate(f.ctx, image); return err }
	f.crashes(func() { f.ready(); f.Reboot() }, activate, func(string) {
		f.usable(image)
		f.holds(f.mount(image), "file", "content")
	})
}

func crashInMount(f *fixture) {
	mount := func(v volume.Volumes) error { _, err := v.Mount(f.ctx, image); return err }
	again := func(string) {
		f.usable(image)
		f.holds(f.mount(image), "file", "content")
	}
	f.crashes(f.ready, mount, again)
	unmount := func(v volume.Volumes) error { return v.Unmount(f.ctx, image) }
	f.crashes(func() { f.ready(); f.mount(image) }, unmount, again)
}

func crashInDestroy(f *fixture) {
	destroy := func(v volume.Volumes) error { return v.Destroy(f.ctx, image) }
	f.crashes(func() { f.ready(); f.mount(image) }, destroy, func(string) {
		f.destroy(image)
		if all, err := f.List(f.ctx); err != nil || len(all) > 0 {
			f.Fatalf("a destroyed volume is listed: %+v, %v", all, err)
		}
		f.empty(f.create(image))
	})
}
