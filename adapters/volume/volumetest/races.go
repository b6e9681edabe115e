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
func (b *bench) together(runs int, run func(i int, v volume.Volumes) error) []error {
	errs := make([]error, runs)
	var group sync.WaitGroup
	for i := range runs {
		v := b.Volumes
		if i%2 == 1 {
			v = b.Reopen(nil) // a process of its own
		}
		group.Go(func() { errs[i] = run(i, v) })
	}
	group.Wait()
	return errs
}

func race(b *bench) {
	won := 0
	for _, err := range b.together(6, func(_ int, v volume.Volumes) error {
		_, err := v.Create(b.ctx, image)
		return err
	}) {
		if err == nil {
			won++
		} else if !errors.Is(err, volume.ErrExists) {
			b.Error(err)
		}
	}
	if won != 1 {
		b.Errorf("%d of 6 created the volume", won)
	}
	b.empty(b.is(b.look(image), image, volume.Active, true))
}

func parallel(b *bench) {
	b.origin()
	for _, err := range b.together(6, func(i int, v volume.Volumes) error { return sequence(b, v, fmt.Sprintf("thin-%d", i)) }) {
		b.must(err)
	}
	all, err := b.List(b.ctx)
	b.must(err)
	if len(all) != 7 {
		b.Errorf("the volumes are %+v", all)
	}
}

// sequence takes a volume through most of what can happen to one, beside others.
func sequence(b *bench, v volume.Volumes, name string) error {
	if _, err := v.Create(b.ctx, name); err != nil {
		return err
	}
	if err := v.Unmount(b.ctx, name); err != nil {
		return err
	}
	if _, err := v.Look(b.ctx, image); err != nil {
		return err
	}
	if _, err := v.Snapshot(b.ctx, image, name+"-snap"); err != nil {
		return err
	}
	if _, err := v.Mount(b.ctx, name+"-snap"); err != nil {
		return err
	}
	if seen, err := v.Look(b.ctx, name+"-snap"); err != nil || seen.Mounted == "" {
		return fmt.Errorf("the snapshot is %+v, %w", seen, err)
	}
	return v.Destroy(b.ctx, name)
}
