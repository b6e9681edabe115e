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

// found is a volume with what only this adapter knows about it.
type found struct {
	volume.Volume
	number uint32 // of the name, if numbered; of the device, unless Absent
	device device
	mounts []mountPoint

	numbered bool // the name has a number; not looked up if the device is active
}

var validName = regexp.MustCompile(`^[a-z0-9-]{1,100}$`)

// Look implements volume.Volumes.
func (v *Volumes) Look(ctx context.Context, name string) (volume.Volume, error) {
	f, err := v.find(ctx, name)
	return f.Volume, err
}

// find returns what exists under a name. A volume that does not exist is Absent and no error.
func (v *Volumes) find(ctx context.Context, name string) (found, error) {
	f := found{Volume: volume.Volume{Name: name, Condition: volume.Absent}}
	if !validName.MatchString(name) || name == v.pool.name {
		return f, fmt.Errorf("device-mapper: %q is not a volume name: use 1 to 100 of the characters a-z, 0-9 and -, and not the name of the pool", name)
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
		return f, fmt.Errorf("read the number of volume %s: %w", name, err)
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

// isUnnamed reports whether the name is number-N of a device whose number has no name, and sets
// the number.
func isUnnamed(f *found, numbers map[string]uint32) (ok bool) {
	if f.number, ok = unnamedNumber(f.Name); !ok {
		return false
	}
	return !slices.Contains(slices.Collect(maps.Values(numbers)), f.number)
}

// findDevice fills in what the kernel reports about a device with a live table.
func (v *Volumes) findDevice(f *found) (err error) {
	if f.number, err = v.pool.numberOf(f.Name); err != nil {
		return err
	}
	// A mount of a suspended device would hang. A device without a node was being activated
	// when its process died.
	if f.Condition = volume.Known; f.device.suspended || !hasNode(f.Name, f.device.number) {
		return nil
	}
	f.Condition, f.Path = volume.Active, nodeOf(f.Name)
	if f.mounts, err = mountsOf(f.device.number); err != nil {
		return explain("read the mounts of", f.Name, err)
	}
	for _, m := range f.mounts {
		if f.Mounted == "" || m.place == v.place(f.Name) {
			f.Mounted = m.place
		}
	}
	return nil
}

// place returns the path at which a volume is mounted.
func (v *Volumes) place(name string) string { return filepath.Join(v.config.Mounts, name) }

func missing(op, name string, cause error) error {
	return &Error{Op: op, Name: name, Kind: volume.ErrNotExist, Err: cause}
}
