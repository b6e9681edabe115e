//go:build linux || darwin

package directory

import (
	"bytes"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// copyExtended copies the extended attributes of a file, links not followed.
// Those that only root may set are left to root.
func copyExtended(from, to string) error {
	names, err := grown(func(buffer []byte) (int, error) { return unix.Llistxattr(from, buffer) })
	if errors.Is(err, unix.ENOTSUP) {
		return nil
	}
	if err != nil {
		return err
	}
	for name := range bytes.SplitSeq(names, []byte{0}) {
		if len(name) == 0 {
			continue
		}
		value, err := grown(func(buffer []byte) (int, error) { return unix.Lgetxattr(from, string(name), buffer) })
		if err == nil {
			err = unix.Lsetxattr(to, string(name), value, 0)
		}
		if errors.Is(err, unix.EPERM) && os.Geteuid() != 0 {
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// grown calls read with a buffer that is large enough.
func grown(read func([]byte) (int, error)) ([]byte, error) {
	for buffer := make([]byte, 256); ; buffer = make([]byte, 4*len(buffer)) {
		n, err := read(buffer)
		if !errors.Is(err, unix.ERANGE) {
			return buffer[:max(n, 0)], err
		}
	}
}
