package devicemapper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

// Mount implements volume.Volumes.
func (v *Volumes) Mount(ctx context.Context, name string) (volume.Volume, error) {
	f, err := v.find(ctx, name)
	switch {
	case err != nil || f.Mounted != "":
		return f.Volume, err
	case f.Condition == volume.Absent:
		return f.Volume, missing("mount", name, unix.ENODATA)
	case f.Condition != volume.Active:
		return f.Volume, &Error{Op: "mount", Name: name, Advice: "activate it first", Err: errors.New("it is not active")}
	}
	if err := v.mount(name); err != nil {
		// Another process may have mounted it.
		if f, again := v.find(ctx, name); again == nil && f.Mounted != "" {
			return f.Volume, nil
		}
		return f.Volume, err
	}
	return v.Look(ctx, name)
}

func (v *Volumes) mount(name string) error {
	if err := v.config.Step("mount"); err != nil {
		return err
	}
	return mount(nodeOf(name), v.place(name))
}

// Unmount implements volume.Volumes. If writes to the volume were lost, for example because the
// pool was full, Unmount makes it read-only, leaves it mounted and returns an *Error, also when
// it is called again. Such a volume can only be destroyed.
func (v *Volumes) Unmount(ctx context.Context, name string) error {
	f, err := v.find(ctx, name)
	if err != nil {
		return err
	}
	for _, m := range f.mounts {
		if err := v.sound(m); err != nil {
			return err
		}
	}
	return v.unmountAll(f)
}

// sound returns nil if everything that was written at a mount point is on the device. The
// kernel reports a lost write once, so sound makes the mount point read-only to remember it.
// The kernel may report a full pool as EIO, so sound adds the error of the pool.
func (v *Volumes) sound(m mountPoint) error {
	if m.readOnly {
		return &Error{Op: "unmount", Name: m.place, Advice: "destroy the volume", Err: fmt.Errorf("writes to it were lost: %w", unix.EROFS)}
	}
	err := syncMount(m.place)
	if err == nil {
		return nil
	}
	return errors.Join(err, v.pool.writable(), freeze(m.place))
}

// unmountAll unmounts a volume from Config.Mounts. It returns volume.ErrBusy if an operator has
// mounted the volume elsewhere.
func (v *Volumes) unmountAll(f found) error {
	for _, m := range slices.Backward(f.mounts) {
		if m.place != v.place(f.Name) {
			return &Error{Op: "unmount", Name: f.Name, Kind: volume.ErrBusy, Advice: "unmount it there", Err: fmt.Errorf("it is mounted at %s as well: %w", m.place, unix.EBUSY)}
		}
		if err := v.config.Step("unmount"); err != nil {
			return err
		}
		// EINVAL: another process has unmounted it.
		if err := unmount(m.place); err != nil && !errors.Is(err, unix.EINVAL) {
			return err
		}
	}
	return nil
}

// Destroy implements volume.Volumes. It releases the number last, because a repeated call finds
// the rest of the volume by it.
func (v *Volumes) Destroy(ctx context.Context, name string) error {
	f, err := v.find(ctx, name)
	if err == nil {
		err = v.unmountAll(f)
	}
	if err == nil && f.device.exists {
		err = v.pool.switchOff(name, f.device)
	}
	if err == nil && f.Condition != volume.Absent {
		err = v.pool.delete(f.number)
	}
	if err == nil {
		err = v.forget(ctx, name)
	}
	return err
}

// forget removes the node, the mount point and the number of a volume whose device is deleted.
func (v *Volumes) forget(ctx context.Context, name string) error {
	if err := v.pool.removeNode(name); err != nil {
		return err
	}
	if err := v.config.Step("remove mount point"); err != nil {
		return err
	}
	if err := os.Remove(v.place(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return explain("remove", v.place(name), err)
	}
	if err := v.config.Step("release number"); err != nil {
		return err
	}
	if err := v.numbers.Release(ctx, name); err != nil {
		return fmt.Errorf("release the number of volume %s: %w", name, err)
	}
	return nil
}
