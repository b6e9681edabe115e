package extract_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fsmgen/fsmgen/internal/guest"
	"github.com/fsmgen/fsmgen/services/images/extract"
)

// Where mounting a small file system is refused, a guest does it.
func TestDiskFull(t *testing.T) {
	root := t.TempDir()
	err := unix.Mount("small", root, "tmpfs", 0, "size=1m")
	if errors.Is(err, unix.EPERM) && !guest.Enter(t) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Unmount(root, 0); err != nil {
			t.Error(err)
		}
	}()
	_, err = extract.Extract(t.Context(), source(archive(reg("fits", "x"), reg("big", strings.Repeat("x", 2<<20)))), root, extract.Options{})
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), `"big"`) {
		t.Errorf("error = %v", err)
	}
}
