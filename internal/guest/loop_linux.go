package guest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// LoopDevice attaches a new sparse file as a block device until the test ends.
func LoopDevice(t *testing.T, bytes int64) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "backing"))
	if err == nil {
		err = file.Truncate(bytes)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	device, err := attach(file)
	if err != nil {
		t.Fatal("loop device: ", err)
	}
	t.Cleanup(func() {
		if err := unix.IoctlSetInt(int(device.Fd()), unix.LOOP_CLR_FD, 0); err != nil {
			t.Errorf("detach %s: %v", device.Name(), err)
		}
		device.Close()
	})
	return device.Name()
}

// attach makes a file the content of a free loop device.
func attach(file *os.File) (*os.File, error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer control.Close()
	for {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, err
		}
		device, err := os.OpenFile(fmt.Sprintf("/dev/loop%d", n), os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		err = unix.IoctlLoopConfigure(int(device.Fd()), &unix.LoopConfig{Fd: uint32(file.Fd())})
		if err == nil {
			return device, nil
		}
		device.Close()
		if !errors.Is(err, unix.EBUSY) { // else another process was faster
			return nil, err
		}
	}
}
