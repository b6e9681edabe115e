//go:build linux || darwin

package directory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"golang.org/x/sys/unix"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

// The folders below Config.Root, and the names in the folder of a volume.
const (
	volumesFolder = "volumes"
	makingFolder  = "making"
	trashFolder   = "trash"
	contentFolder = "root"
	mountedMarker = "mounted"
)

// Volumes implements volume.Volumes. It is safe for concurrent use, also by several processes.
type Volumes struct {
	config Config
}

var _ volume.Volumes = (*Volumes)(nil)

// New opens the folder Config.Root, creates it if it does not exist, and removes what dead processes
// have left in it. It returns an error for an invalid Config, and if it can't create or clean the
// folder.
func New(config Config) (*Volumes, error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("volumes: %w", err)
	}
	v := &Volumes{config: config}
	for _, folder := range []string{volumesFolder, makingFolder, trashFolder} {
		if err := os.MkdirAll(v.path(folder), 0o700); err != nil {
			return nil, fmt.Errorf("volumes: %w", err)
		}
	}
	if err := v.sweep(); err != nil {
		return nil, fmt.Errorf("volumes: remove what was left in %s: %w", config.Root, err)
	}
	return v, nil
}

func (v *Volumes) path(elements ...string) string {
	return filepath.Join(append([]string{v.config.Root}, elements...)...)
}

func (v *Volumes) volume(name string) string  { return v.path(volumesFolder, name) }
func (v *Volumes) content(name string) string { return v.path(volumesFolder, name, contentFolder) }
func (v *Volumes) marker(name string) string  { return v.path(volumesFolder, name, mountedMarker) }

var validName = regexp.MustCompile(`^[a-z0-9-]{1,100}$`)

// step is called before everything that changes something. It returns the error of ctx, or that of
// Config.Step.
func (v *Volumes) step(ctx context.Context, point string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return v.config.Step(point)
}

// Look implements volume.Volumes.
func (v *Volumes) Look(ctx context.Context, name string) (volume.Volume, error) {
	found := volume.Volume{Name: name, Condition: volume.Absent}
	if !validName.MatchString(name) {
		return found, fmt.Errorf("%q is not a volume name: use 1 to 100 of the characters a-z, 0-9 and -", name)
	}
	if err := ctx.Err(); err != nil {
		return found, err
	}
	switch there, err := exists(v.content(name)); {
	case err != nil || !there:
		return found, explain("look at", name, err)
	}
	found.Condition, found.Path = volume.Active, v.content(name)
	mounted, err := exists(v.marker(name))
	if mounted {
		found.Mounted = found.Path
	}
	return found, explain("look at", name, err)
}

func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// active is like Look, but returns volume.ErrNotExist if there is no volume.
func (v *Volumes) active(ctx context.Context, op, name string) (volume.Volume, error) {
	found, err := v.Look(ctx, name)
	if err == nil && found.Condition == volume.Absent {
		err = &Error{Op: op, Name: name, Kind: volume.ErrNotExist, Err: fs.ErrNotExist}
	}
	return found, err
}

// Create implements volume.Volumes.
func (v *Volumes) Create(ctx context.Context, name string) (volume.Volume, error) {
	err := v.make(ctx, "create", name, func(string) error { return nil })
	if err == nil {
		err = v.setMounted(ctx, name)
	}
	if err != nil {
		return volume.Volume{}, explain("create", name, err)
	}
	return v.Look(ctx, name)
}

// Snapshot implements volume.Volumes.
func (v *Volumes) Snapshot(ctx context.Context, origin, name string) (volume.Volume, error) {
	from, err := v.Look(ctx, origin)
	switch {
	case err != nil:
		return from, err
	case from.Condition == volume.Absent:
		return from, &Error{Op: "snapshot", Name: origin, Kind: volume.ErrNoOrigin, Err: fs.ErrNotExist}
	case from.Mounted != "":
		return from, &Error{Op: "snapshot", Name: origin, Kind: volume.ErrBusy, Err: errors.New("it is mounted: unmount it first")}
	}
	err = v.make(ctx, "snapshot", name, func(content string) error {
		if err := copyTree(ctx, from.Path, content); err != nil {
			return err
		}
		return syncAll(content) // a power cut after the rename must find it whole
	})
	if err != nil {
		return volume.Volume{}, explain("snapshot", name, err)
	}
	return v.Look(ctx, name)
}

// Activate implements volume.Volumes: what exists is active.
func (v *Volumes) Activate(ctx context.Context, name string) (volume.Volume, error) {
	return v.active(ctx, "activate", name)
}

// Mount implements volume.Volumes.
func (v *Volumes) Mount(ctx context.Context, name string) (volume.Volume, error) {
	found, err := v.active(ctx, "mount", name)
	if err != nil || found.Mounted != "" {
		return found, err
	}
	if err := v.setMounted(ctx, name); err != nil {
		return found, explain("mount", name, err)
	}
	return v.Look(ctx, name)
}

func (v *Volumes) setMounted(ctx context.Context, name string) error {
	if err := v.step(ctx, "mount"); err != nil {
		return err
	}
	marker, err := os.OpenFile(v.marker(name), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return marker.Close()
}

// Unmount implements volume.Volumes.
func (v *Volumes) Unmount(ctx context.Context, name string) error {
	found, err := v.Look(ctx, name)
	if err != nil || found.Mounted == "" {
		return err
	}
	if err := syncAll(found.Mounted); err != nil {
		return explain("unmount", name, err)
	}
	if err := v.step(ctx, "unmount"); err != nil {
		return err
	}
	if err := os.Remove(v.marker(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return explain("unmount", name, err)
	}
	return nil
}

// List implements volume.Volumes.
func (v *Volumes) List(ctx context.Context) ([]volume.Volume, error) {
	entries, err := os.ReadDir(v.path(volumesFolder)) // sorted
	if err != nil {
		return nil, err
	}
	var all []volume.Volume
	for _, e := range entries {
		if !validName.MatchString(e.Name()) {
			continue // not ours
		}
		found, err := v.Look(ctx, e.Name())
		if err != nil {
			return nil, err
		}
		if found.Condition != volume.Absent {
			all = append(all, found)
		}
	}
	return all, nil
}

// Usage implements volume.Volumes: it is that of the whole file system.
func (v *Volumes) Usage(context.Context) (volume.Usage, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(v.config.Root, &s); err != nil {
		return volume.Usage{}, fmt.Errorf("usage of %s: %w", v.config.Root, err)
	}
	block := blockSize(&s)
	return volume.Usage{Used: int64(s.Blocks-s.Bfree) * block, Total: int64(s.Blocks) * block}, nil
}
