//go:build linux || darwin

package directory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// A copier copies one tree into a folder that exists and is empty.
type copier struct {
	from, to string
	linked   map[inode]string    // where a file with several names was copied to
	folders  []folder            // to be finished when all is in them, outermost first
	files    chan<- func() error // those with one name, for the next free copier
}

// copiers is how many files are copied at once: making one is mostly waiting for
// the file system.
const copiers = 4

// inode is what the names of one file have in common.
type inode struct{ device, number uint64 }

type folder struct {
	from, to string
	info     fs.FileInfo
}

// copyTree copies everything below from, and its own attributes, to a folder.
func copyTree(ctx context.Context, from, to string) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	files := make(chan func() error)
	var copying sync.WaitGroup
	for range copiers {
		copying.Go(func() {
			for file := range files {
				if err := file(); err != nil {
					fail(err)
				}
			}
		})
	}
	c := copier{from: from, to: to, linked: map[inode]string{}, files: files}
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = context.Cause(ctx)
		}
		if err == nil {
			err = c.copy(path, d)
		}
		return err
	})
	close(files)
	copying.Wait()
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	// Writing into a folder changes its times, and its mode may forbid it.
	for i := len(c.folders) - 1; i >= 0; i-- {
		f := c.folders[i]
		if err := copyAttributes(f.from, f.to, f.info); err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) copy(path string, d fs.DirEntry) error {
	name, err := filepath.Rel(c.from, path)
	if err != nil {
		return err
	}
	info, err := d.Info()
	if err != nil {
		return err
	}
	to := filepath.Join(c.to, name)
	if d.IsDir() {
		c.folders = append(c.folders, folder{path, to, info})
		if err := makeReadable(path, info); err != nil || name == "." {
			return err
		}
		return os.Mkdir(to, 0o700)
	}
	stat := info.Sys().(*syscall.Stat_t)
	if stat.Nlink > 1 {
		id := inodeOf(stat)
		if first, ok := c.linked[id]; ok {
			return os.Link(first, to)
		}
		c.linked[id] = to
	}
	file := func() error {
		if err := copyNode(path, to, info, int(stat.Rdev)); err != nil {
			return fmt.Errorf("copy %s: %w", name, err)
		}
		return copyAttributes(path, to, info)
	}
	if stat.Nlink > 1 { // its other names need it
		return file()
	}
	c.files <- file
	return nil
}

// makeReadable lets the owner into a folder of its own that it had closed to
// itself. Root needs no leave.
func makeReadable(path string, info fs.FileInfo) error {
	const readable = 0o500
	if os.Geteuid() == 0 || info.Mode()&readable == readable {
		return nil
	}
	return os.Chmod(path, info.Mode()|readable)
}

// copyNode makes a file of the same kind with the same content.
func copyNode(from, to string, info fs.FileInfo, device int) error {
	switch kind := info.Mode().Type(); kind {
	case 0:
		return copyFile(from, to, info)
	case fs.ModeSymlink:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case fs.ModeNamedPipe:
		return unix.Mknod(to, unix.S_IFIFO|0o600, 0)
	case fs.ModeSocket:
		return unix.Mknod(to, unix.S_IFSOCK|0o600, 0)
	case fs.ModeDevice:
		return unix.Mknod(to, unix.S_IFBLK|0o600, device)
	case fs.ModeDevice | fs.ModeCharDevice:
		return unix.Mknod(to, unix.S_IFCHR|0o600, device)
	default:
		return fmt.Errorf("a file of type %v: %w", kind, errors.ErrUnsupported)
	}
}

func copyFile(from, to string, info fs.FileInfo) error {
	source, err := openFile(from, info)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = clone(target, source, info.Size())
	return errors.Join(err, target.Close())
}

// openFile opens a file to read. Of one that its mode closes to its own owner,
// as /etc/shadow of some images, the mode is changed for that moment.
func openFile(path string, info fs.FileInfo) (*os.File, error) {
	file, err := os.Open(path)
	if !errors.Is(err, fs.ErrPermission) {
		return file, err
	}
	if err := os.Chmod(path, info.Mode()|0o400); err != nil {
		return nil, err
	}
	file, err = os.Open(path)
	return file, errors.Join(err, os.Chmod(path, info.Mode()))
}

// copyAttributes gives a copy the owner, the extended attributes, the mode and
// the time of its original, in this order: a change of owner takes away
// capabilities and the setuid bit.
func copyAttributes(from, to string, info fs.FileInfo) error {
	stat := info.Sys().(*syscall.Stat_t)
	if os.Geteuid() == 0 {
		if err := os.Lchown(to, int(stat.Uid), int(stat.Gid)); err != nil {
			return err
		}
	}
	if err := copyExtended(from, to); err != nil {
		return fmt.Errorf("extended attributes of %s: %w", from, err)
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		if err := os.Chmod(to, info.Mode()); err != nil {
			return err
		}
		if info.IsDir() && os.Geteuid() != 0 {
			if err := os.Chmod(from, info.Mode()); err != nil { // makeReadable
				return err
			}
		}
	}
	modified, err := unix.TimeToTimespec(info.ModTime())
	if err != nil {
		return err
	}
	return unix.UtimesNanoAt(unix.AT_FDCWD, to, []unix.Timespec{modified, modified}, unix.AT_SYMLINK_NOFOLLOW)
}
