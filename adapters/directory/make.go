//go:build linux || darwin

package directory

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

// make makes a volume aside, lets fill fill its content, and moves it to its
// place.
func (v *Volumes) make(ctx context.Context, op, name string, fill func(content string) error) error {
	found, err := v.Look(ctx, name)
	if err != nil {
		return err
	}
	if found.Condition != volume.Absent {
		return &Error{Op: op, Name: name, Kind: volume.ErrExists, Err: fs.ErrExist}
	}
	if err := v.step(ctx, op+": make"); err != nil {
		return err
	}
	dir, unlock, err := v.temporary(makingFolder)
	if err != nil {
		return err
	}
	defer unlock()
	content := filepath.Join(dir, contentFolder)
	if err := os.Mkdir(content, 0o755); err != nil {
		return errors.Join(err, removeTree(dir))
	}
	if err := fill(content); err != nil {
		return errors.Join(err, removeTree(dir))
	}
	if err := v.step(ctx, op+": place"); err != nil {
		return err
	}
	if err := os.Rename(dir, v.volume(name)); err != nil {
		return errors.Join(err, removeTree(dir))
	}
	return syncFolder(v.path(volumesFolder))
}

// temporary makes a folder in making or trash, locked until unlock is called or
// the process dies.
func (v *Volumes) temporary(in string) (dir string, unlock func(), err error) {
	for {
		dir, err := os.MkdirTemp(v.path(in), "")
		if err != nil {
			return "", nil, err
		}
		unlock, err := lock(dir)
		if err == nil {
			return dir, unlock, nil
		}
		// Another process that sweeps may have seen it before the lock.
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.EWOULDBLOCK) {
			return "", nil, err
		}
	}
}

// lock takes the flock of a folder that still has its name, or fails at once.
func lock(dir string) (unlock func(), err error) {
	file, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		_, err = os.Lstat(dir)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { file.Close() }, nil
}

// sweep removes what processes that died were making or deleting.
func (v *Volumes) sweep() error {
	for _, folder := range []string{makingFolder, trashFolder} {
		entries, err := os.ReadDir(v.path(folder))
		if err != nil {
			return err
		}
		for _, e := range entries {
			dir := v.path(folder, e.Name())
			unlock, err := lock(dir)
			if err != nil {
				continue // another process uses it
			}
			err = removeTree(dir)
			unlock()
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Destroy implements volume.Volumes. It is never busy: a file that is open
// stays readable to the process that has it.
func (v *Volumes) Destroy(ctx context.Context, name string) error {
	found, err := v.Look(ctx, name)
	if err != nil {
		return err
	}
	if found.Condition != volume.Absent {
		if err := v.discard(ctx, name); err != nil {
			return explain("destroy", name, err)
		}
	}
	return nil
}

func (v *Volumes) discard(ctx context.Context, name string) error {
	if err := v.step(ctx, "destroy: discard"); err != nil {
		return err
	}
	bin, unlock, err := v.temporary(trashFolder)
	if err != nil {
		return err
	}
	defer unlock()
	err = os.Rename(v.volume(name), filepath.Join(bin, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // another process was faster
		return errors.Join(err, removeTree(bin))
	}
	if err := syncFolder(v.path(volumesFolder)); err != nil {
		return err
	}
	if err := v.step(ctx, "destroy: delete"); err != nil {
		return err
	}
	return removeTree(bin)
}

// removeTree deletes a folder, whatever the modes in it. One that is gone is no
// error.
func removeTree(dir string) error {
	err := os.RemoveAll(dir)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	walked := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		// A folder is visited before it is read.
		if d != nil && d.IsDir() && err == nil {
			err = os.Chmod(path, 0o700)
		}
		return err
	})
	return errors.Join(walked, os.RemoveAll(dir))
}

// syncFolder makes the names in a folder durable.
func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
