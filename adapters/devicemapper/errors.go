package devicemapper

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"syscall"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

// Error is returned when an operation fails. It wraps its cause, which is a syscall.Errno if the
// kernel refused the operation, and the error of package volume that applies, if there is one.
type Error struct {
	Op     string // the operation, such as "remove device"
	Name   string // of the device or the path
	Kind   error  // volume.ErrExists, ErrNotExist, ErrNoOrigin, ErrFull, ErrBusy or ErrUnsupported; nil: none applies
	Advice string // what the operator can do; "": not known
	Err    error  // the cause
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

// Advice for the errors that an operator can do something about.
const (
	adviceFull         = "the pool is full: destroy volumes that are not needed, or enlarge the pool"
	adviceFullMetadata = "nothing can be created or deleted: enlarge the metadata device, deactivate the pool and call New again"
	adviceBusy         = "a process still has it open or mounted: close or unmount it first"
	advicePermission   = "device-mapper needs root (CAP_SYS_ADMIN)"
	adviceUnsupported  = "load the kernel modules dm_mod and dm_thin_pool, or use adapters/directory"
	adviceMkfs         = "install e2fsprogs, which has mkfs.ext4"
	adviceDamaged      = "run thin_check and thin_repair on the pool's metadata"
)

// explain returns an *Error with the kind and the advice for err. It returns nil for nil, and
// an *Error unchanged.
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
