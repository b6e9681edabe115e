package volume

import (
	"context"
	"errors"
)

// Volumes creates, mounts and deletes volumes, and makes copy-on-write snapshots of them.
//
// Every method can be repeated after a crash at any point within it. A name holds [a-z0-9-] only.
type Volumes interface {
	// Look reports what exists under a name. Nothing is Absent and no error.
	Look(ctx context.Context, name string) (Volume, error)
	// Create makes an empty volume, formatted and mounted. Mounting is its last step: a volume
	// that Create did not finish is never mounted, and exists until it is destroyed. It returns
	// ErrExists if the name is known, in any condition, and ErrFull.
	Create(ctx context.Context, name string) (Volume, error)
	// Snapshot makes a volume that shares the content of origin, and activates it. It returns
	// ErrBusy if origin is mounted for writing, ErrExists if the name is known, ErrNoOrigin and
	// ErrFull.
	Snapshot(ctx context.Context, origin, name string) (Volume, error)
	// Activate makes a known volume active, as is necessary after a reboot. It returns
	// ErrNotExist.
	Activate(ctx context.Context, name string) (Volume, error)
	// Mount makes the content of an active volume visible and returns where. A mounted volume
	// stays where it is.
	Mount(ctx context.Context, name string) (Volume, error)
	// Unmount returns when everything that was written is on the volume. A volume that is not
	// mounted is no error. It returns ErrBusy.
	Unmount(ctx context.Context, name string) error
	// Destroy unmounts, deactivates and deletes a volume. An unknown name is no error. It returns
	// ErrBusy.
	Destroy(ctx context.Context, name string) error
	// List returns every known volume, by name.
	List(ctx context.Context) ([]Volume, error)
	// Usage reports how full the place is that the volumes share.
	Usage(ctx context.Context) (Usage, error)
}

// Condition is how much of a volume exists.
type Condition string

// The conditions of a volume.
const (
	Absent Condition = "absent"
	Known  Condition = "known"  // it exists and is not active
	Active Condition = "active" // it can be mounted
)

// Volume is what exists under a name.
type Volume struct {
	Name      string
	Condition Condition
	Path      string // of the block device or the directory; "" unless active
	Mounted   string // where its content is visible; "": nowhere
}

// Usage is in bytes.
type Usage struct {
	Used, Total         int64
	UsedMeta, TotalMeta int64 // of a pool's metadata; 0: there is none
}

// Errors of Volumes. They wrap their cause, with its errno, and say what to do.
var (
	ErrExists      = errors.New("the volume exists already")
	ErrNotExist    = errors.New("there is no such volume")
	ErrNoOrigin    = errors.New("there is no origin to make a snapshot of")
	ErrFull        = errors.New("there is no room left")
	ErrBusy        = errors.New("the volume is in use")
	ErrUnsupported = errors.New("this machine can't do that")
)
