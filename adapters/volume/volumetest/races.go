//go:build unix

package volumetest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

// together runs a function several times at once, each time with a driver of
// its own, and returns what each run answered.
func (f *fixture) together(runs int, run func(i int, v volume.Volumes) error) []error {
	errs := make([]error, runs)
	var group sync.WaitGroup
	for i := range runs {
		v := f.Volumes
		if i%2 == 1 {
			v = f.Reopen(nil) // a process of its own
		}
		group.Go(func() { errs[i] = run(i, v) })
	}
	group.Wait()
	return errs
}

func race(f *fixture) {
	won := 0
	for _, err := range f.together(6, func(_ int, v volume.Volumes) error {
		_, err := v.Create(f.ctx, image)
		return err
	}) {
		if err == nil {
			won++
		} else if !errors.Is(err, volume.ErrExists) {
			f.Error(err)
		}
	}
	if won != 1 {
		f.Errorf("%d of 6 created the volume", won)
	}
	f.empty(f.is(f.look(image), image, volume.Active, true))
}

func parallel(f *fixture) {
	f.origin()
	for _, err := range f.together(6, func(i int, v volume.Volumes) error { return sequence(f, v, fmt.Sprintf("thin-%d", i)) }) {
		f.must(err)
	}
	all, err := f.List(f.ctx)
	f.must(err)
	if len(all) != 7 {
		f.Errorf("the volumes are %+v", all)
	}
}

// sequence takes a volume through most of what can happen to one, beside others.
func sequence(f *fixture, v volume.Volumes, name string) error {
	if _, err := v.Create(f.ctx, name); err != nil {
		return err
	}
	if err := v.Unmount(f.ctx, name); err != nil {
		return err
	}
	if _, err := v.Look(f.ctx, image); err != nil {
		return err
	}
	if _, err := v.Snapshot(f.ctx, image, name+"-snap"); err != nil {
		return err
	}
	if _, err := v.Mount(f.ctx, name+"-snap"); err != nil {
		return err
	}
	if seen, err := v.Look(f.ctx, name+"-snap"); err != nil || seen.Mounted == "" {
		return fmt.Errorf("the snapshot is %+v, %w", seen, err)
	}
	return v.Destroy(f.ctx, name)
}
