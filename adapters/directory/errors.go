package directory

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

// Error is a failed operation. It wraps an error of package volume, if one applies, and its cause.
type Error struct {
	Op   string // what was attempted, like "snapshot"
	Name string // of the volume
	Kind error  // of volume.Err…; nil: none of them
	Err  error
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s volume %s: ", e.Op, e.Name)
	if e.Kind != nil {
		text += e.Kind.Error() + ": "
	}
	text += e.Err.Error()
	if errors.Is(e.Kind, volume.ErrFull) {
		text += " (destroy volumes that are not needed, or enlarge the disk)"
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

// explain makes an Error of a failure.
func explain(op, name string, err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	e := &Error{Op: op, Name: name, Err: err}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		e.Kind = volume.ErrFull
	// A rename onto a folder that isn't empty; every volume has something in it.
	case errors.Is(err, fs.ErrExist), errors.Is(err, syscall.ENOTEMPTY):
		e.Kind = volume.ErrExists
	}
	return e
}
