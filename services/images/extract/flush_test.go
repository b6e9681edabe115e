//go:build unix

package extract

import (
	"errors"
	"syscall"
	"testing"
)

// The kernel tells a lost write to one call only, and it may be one of those on
// the way.
func TestWhatAFlushLostIsTold(t *testing.T) {
	closed := &flusher{fd: -1}
	closed.wrote(stretch - 1)
	if err := closed.wait(); err != nil {
		t.Errorf("before there was enough to write out: %v", err)
	}
	closed.wrote(1)
	if err := closed.wait(); !errors.Is(err, syscall.EBADF) {
		t.Errorf("error = %v", err)
	}
}
