//go:build unix && !linux

package extract

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// setXattr: the namespaces of an image's extended attributes are Linux's.
func setXattr(int, string, []byte) error { return unix.ENOTSUP }

func makeNode(int, string, uint32, uint64) error {
	return errors.Join(errors.New("device nodes and named pipes can be made on Linux only"), unix.ENOTSUP)
}

func syncFS(int) error {
	unix.Sync()
	return nil
}

// timesOf takes the time of access to be that of change: where stat has it
// differs from system to system.
func timesOf(fd int) ([2]unix.Timespec, error) {
	copied, err := syscall.Dup(fd)
	if err != nil {
		return [2]unix.Timespec{}, err
	}
	f := os.NewFile(uintptr(copied), "directory")
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return [2]unix.Timespec{}, err
	}
	return timesFrom(info.ModTime())
}

func timesFrom(t time.Time) ([2]unix.Timespec, error) {
	ts, err := unix.TimeToTimespec(t)
	return [2]unix.Timespec{ts, ts}, err
}
