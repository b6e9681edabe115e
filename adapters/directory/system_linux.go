package directory

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// clone gives an empty file the content of another: it shares its blocks where
// the file system can, else copies what isn't a hole.
func clone(to, from *os.File, size int64) error {
	err := unix.IoctlFileClone(int(to.Fd()), int(from.Fd()))
	for _, cannot := range []error{unix.EOPNOTSUPP, unix.ENOTTY, unix.EXDEV, unix.EINVAL, unix.ENOSYS} {
		if errors.Is(err, cannot) {
			return copySparse(to, from, size)
		}
	}
	return err
}

func copySparse(to, from *os.File, size int64) error {
	for end := int64(0); end < size; {
		start, err := from.Seek(end, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break // nothing but a hole is left
		}
		if err != nil {
			return err
		}
		if end, err = from.Seek(start, unix.SEEK_HOLE); err != nil {
			return err
		}
		if err := copyRange(to, from, start, end-start); err != nil {
			return err
		}
	}
	writeBack(to)
	return to.Truncate(size)
}

// writeBack has the kernel begin to write a file to the disk, so that little is
// left to write in the end. It is a hint: what fails here fails again then.
func writeBack(file *os.File) {
	const begin = 2 // SYNC_FILE_RANGE_WRITE
	_ = syscall.SyncFileRange(int(file.Fd()), 0, 0, begin)
}

func copyRange(to, from *os.File, at, length int64) error {
	if _, err := from.Seek(at, io.SeekStart); err != nil {
		return err
	}
	if _, err := to.Seek(at, io.SeekStart); err != nil {
		return err
	}
	_, err := io.CopyN(to, from, length)
	return err
}

// syncAll returns when everything on the file system of a folder is durable.
func syncAll(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	err = unix.Syncfs(int(dir.Fd()))
	return errors.Join(err, dir.Close())
}

func inodeOf(stat *syscall.Stat_t) inode { return inode{stat.Dev, stat.Ino} }

func blockSize(s *unix.Statfs_t) int64 { return s.Bsize }
