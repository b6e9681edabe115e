//go:build unix

package volumetest

import (
	"errors"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

// errCrash ends a call at a step.
var errCrash = errors.New("the process was killed")

// crashes runs a call once for each of its steps, and ends it there: prepare
// brings the place to where the call can be made, the call is made by a process
// that dies, now and then in a reboot, and check is by the next one.
func (b *bench) crashes(prepare func(), call func(volume.Volumes) error, check func(point string)) {
	b.Helper()
	seen := 0
	for at := 0; ; at++ {
		prepare()
		point, err := b.crash(at, call)
		if point == "" {
			b.must(err)
			break
		}
		b.wants(err, errCrash)
		if at%3 == 1 {
			b.Reboot()
		}
		seen++
		b.Volumes = b.Reopen(nil)
		check(point)
		if debris := b.Debris(); len(debris) > 0 {
			b.Fatalf("a crash at %q left %q", point, debris)
		}
	}
	b.Logf("ended at %d steps", seen)
	if seen == 0 {
		b.Error("the call has no step at which it could be ended")
	}
}

// crash makes a call by a process that dies at a step, and returns the step:
// that one and all later ones fail. None: the call has fewer.
func (b *bench) crash(at int, call func(volume.Volumes) error) (point string, err error) {
	steps := 0
	volumes := b.Reopen(func(p string) error {
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

func (b *bench) nothing() {}

// ready makes sure that the image is there, active and not mounted.
func (b *bench) ready() {
	b.Helper()
	if b.look(image).Condition == volume.Absent {
		b.origin()
	}
	_, err := b.Activate(b.ctx, image)
	b.must(err)
	b.unmount(image)
}

func crashInCreate(b *bench) {
	create := func(v volume.Volumes) error { _, err := v.Create(b.ctx, image); return err }
	b.crashes(b.nothing, create, func(point string) {
		v := b.look(image)
		if v.Mounted != "" {
			b.Fatalf("a volume that was not finished at %q is mounted: %+v", point, v)
		}
		if v.Condition != volume.Absent {
			_, err := b.Create(b.ctx, image)
			b.wants(err, volume.ErrExists)
			b.destroy(image)
		}
		v = b.create(image)
		b.empty(v)
		b.destroy(image)
	})
}

func crashInSnapshot(b *bench) {
	snapshot := func(v volume.Volumes) error { _, err := v.Snapshot(b.ctx, image, snap); return err }
	b.crashes(b.ready, snapshot, func(string) {
		if b.look(snap).Condition == volume.Absent {
			b.usable(image)
			b.snapshot(image, snap)
		} else {
			_, err := b.Snapshot(b.ctx, image, snap)
			b.wants(err, volume.ErrExists)
			b.usable(snap)
		}
		b.holds(b.mount(snap), "file", "content")
		b.destroy(snap)
	})
}

func crashInActivate(b *bench) {
	b.ready()
	b.Reboot()
	b.Volumes = b.Reopen(nil)
	if b.look(image).Condition == volume.Active {
		return // this driver's volumes are always active
	}
	activate := func(v volume.Volumes) error { _, err := v.Activate(b.ctx, image); return err }
	b.crashes(func() { b.ready(); b.Reboot() }, activate, func(string) {
		b.usable(image)
		b.holds(b.mount(image), "file", "content")
	})
}

func crashInMount(b *bench) {
	mount := func(v volume.Volumes) error { _, err := v.Mount(b.ctx, image); return err }
	again := func(string) {
		b.usable(image)
		b.holds(b.mount(image), "file", "content")
	}
	b.crashes(b.ready, mount, again)
	unmount := func(v volume.Volumes) error { return v.Unmount(b.ctx, image) }
	b.crashes(func() { b.ready(); b.mount(image) }, unmount, again)
}

func crashInDestroy(b *bench) {
	destroy := func(v volume.Volumes) error { return v.Destroy(b.ctx, image) }
	b.crashes(func() { b.ready(); b.mount(image) }, destroy, func(string) {
		b.destroy(image)
		if all, err := b.List(b.ctx); err != nil || len(all) > 0 {
			b.Fatalf("a destroyed volume is listed: %+v, %v", all, err)
		}
		b.empty(b.create(image))
	})
}
