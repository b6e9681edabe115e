package devicemapper

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"syscall"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

// Error is a failed operation. It wraps an error of package volume, if one applies, and its cause,
// which is a syscall.Errno for everything that the kernel refused.
type Error struct {
	Op     string // what was attempted, like "remove device"
	Name   string // of the device or the place
	Kind   error  // of volume.Err…; nil: none of them
	Advice string // what to do, if that is known
	Err    error
}

func (e *Error) Error() string {
	text := fmt.Sprintf("device-mapper: %s %s: ", e.Op, e.Name)
	if e.Kind != nil {
		text += e.Kind.Error() + ": "
	}
	text += e.Err.Error()
	if e.Advice != "" {
		text += " (" + e.Advice + ")"
	}
	return text
}

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Kind == nil {
		return []error{e.Err}
	}
	return []error{e.Kind, e.Err}
}

// Advice for the errors that a person can do something about.
const (
	adviceFull         = "the pool is full: destroy volumes that are not needed, or enlarge the pool"
	adviceFullMetadata = "nothing can be made or deleted until the device of the pool's metadata is larger: enlarge it, and make the pool anew"
	adviceBusy         = "something still has it open or mounted: end that first"
	advicePermission   = "device-mapper needs root (CAP_SYS_ADMIN)"
	adviceUnsupported  = "load the kernel modules dm_mod and dm_thin_pool, or keep volumes in plain directories"
	adviceMkfs         = "install e2fsprogs, which has mkfs.ext4"
	adviceDamaged      = "the pool's metadata needs thin_check and thin_repair"
)

// explain makes an Error of a failure. What is an Error already stays as it is.
func explain(op, name string, err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	e := &Error{Op: op, Name: name, Err: err}
	switch {
	case errors.Is(err, syscall.ENOSPC):
		e.Kind, e.Advice = volume.ErrFull, adviceFull
	case errors.Is(err, syscall.EBUSY):
		e.Kind, e.Advice = volume.ErrBusy, adviceBusy
	case errors.Is(err, fs.ErrPermission):
		e.Kind, e.Advice = volume.ErrUnsupported, advicePermission
	case errors.Is(err, exec.ErrNotFound):
		e.Kind, e.Advice = volume.ErrUnsupported, adviceMkfs
	}
	return e
}
