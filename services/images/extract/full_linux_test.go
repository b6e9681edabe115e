package extract_test

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fsmgen/fsmgen/services/images/extract"
)

// Mounting a small file system takes root, as does much of what images hold.
func TestDiskFull(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a file system that is small enough to fill")
	}
	root := t.TempDir()
	if err := unix.Mount("small", root, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Unmount(root, 0); err != nil {
			t.Error(err)
		}
	}()
	_, err := extract.Extract(t.Context(), source(archive(reg("fits", "x"), reg("big", strings.Repeat("x", 2<<20)))), root, extract.Options{})
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), `"big"`) {
		t.Errorf("error = %v", err)
	}
}
