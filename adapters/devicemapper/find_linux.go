package devicemapper

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

// found is a volume with what only this adapter knows of it.
type found struct {
	volume.Volume
	number uint32 // that the name has, if numbered; unless it is Absent, of the device
	device device
	mounts []mountPoint

	numbered bool // the name has a number; not asked if the device is active
}

var validName = regexp.MustCompile(`^[a-z0-9-]{1,100}$`)

// Look implements volume.Volumes.
func (v *Volumes) Look(ctx context.Context, name string) (volume.Volume, error) {
	f, err := v.find(ctx, name)
	return f.Volume, err
}

// find tells what there is under a name.
func (v *Volumes) find(ctx context.Context, name string) (found, error) {
	f := found{Volume: volume.Volume{Name: name, Condition: volume.Absent}}
	if !validName.MatchString(name) || name == v.pool.name {
		return f, fmt.Errorf("device-mapper: %q is no name of a volume: it holds a-z, 0-9 and - only", name)
	}
	if err := ctx.Err(); err != nil {
		return f, err
	}
	var err error
	if f.device, err = v.pool.settled(name); err != nil {
		return f, err
	}
	if f.device.live {
		return f, v.findDevice(&f)
	}
	numbers, err := v.numbers.Names(ctx)
	if err != nil {
		return f, fmt.Errorf("the number of volume %s: %w", name, err)
	}
	if f.number, f.numbered = numbers[name]; !f.numbered && !isUnnamed(&f, numbers) {
		return f, nil
	}
	has, err := v.pool.has(f.number)
	if has {
		f.Condition = volume.Known
	}
	return f, err
}

// isUnnamed reports whether a name is that of a device without one.
func isUnnamed(f *found, numbers map[string]uint32) (ok bool) {
	if f.number, ok = unnamedNumber(f.Name); !ok {
		return false
	}
	return !slices.Contains(slices.Collect(maps.Values(numbers)), f.number)
}

// findDevice fills in what the kernel knows of a device with a table.
func (v *Volumes) findDevice(f *found) (err error) {
	if f.number, err = v.pool.numberOf(f.Name); err != nil {
		return err
	}
	// Of one that is suspended a mount would hang; one without its node was being
	// activated by a process that died.
	if f.Condition = volume.Known; f.device.suspended || !hasNode(f.Name, f.device.number) {
		return nil
	}
	f.Condition, f.Path = volume.Active, nodeOf(f.Name)
	if f.mounts, err = mountsOf(f.device.number); err != nil {
		return explain("look for mounts of", f.Name, err)
	}
	for _, m := range f.mounts {
		if f.Mounted == "" || m.place == v.place(f.Name) {
			f.Mounted = m.place
		}
	}
	return nil
}

// place is where a volume is mounted.
func (v *Volumes) place(name string) string { return filepath.Join(v.config.Mounts, name) }

func missing(op, name string, cause error) error {
	return &Error{Op: op, Name: name, Kind: volume.ErrNotExist, Err: cause}
}
