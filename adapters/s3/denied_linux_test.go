package s3_test

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fsmgen/fsmgen/adapters/object"
	"github.com/fsmgen/fsmgen/adapters/s3"
)

// Root may read everything, so as root the test reads as another user.
func TestDirectoryDenied(t *testing.T) {
	s := local(t)
	s.put("image.tar", "x")
	root := s.store.(s3.Directory).Root
	if err := os.Chmod(root, 0); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.Chmod(root, 0o755); err != nil {
			t.Error(err)
		}
	}()
	l := newLanding(t)
	if os.Geteuid() == 0 {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if err := unix.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := unix.Setfsuid(0); err != nil {
				t.Error(err)
			}
		}()
	}
	if _, err := s.store.Fetch(t.Context(), s.bucket, "image.tar", l.temp, l.path, nil); !errors.Is(err, object.ErrDenied) {
		t.Errorf("error = %v", err)
	}
}
