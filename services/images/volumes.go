package images

import (
	"context"
	"errors"
)

// Volumes keeps the root file systems of the images: a volume for each image
// and a copy-on-write snapshot of it. adapters/devicemapper makes them thin
// devices, adapters/directory plain directories; both sit the exam of
// services/images/volumetest.
//
// Every method can be repeated after a crash at any point within it. Names are
// those of document 002, "thin-<id>" and "thin-<id>-snap"; a name holds
// [a-z0-9-] only.
type Volumes interface {
	// Look tells what there is under a name. Nothing is no error.
	Look(ctx context.Context, name string) (Volume, error)
	// Create makes an empty volume, formatted and mounted. Mounting is its last
	// step: a volume that Create began and did not finish is never mounted, and
	// is there until it is destroyed. ErrExists: the name is known, in whatever
	// condition. ErrFull.
	Create(ctx context.Context, name string) (Volume, error)
	// Snapshot makes a volume that shares the content of an origin, and
	// activates it. ErrBusy: the origin is mounted for writing. ErrExists: the
	// name is known. ErrNoOrigin, ErrFull.
	Snapshot(ctx context.Context, origin, name string) (Volume, error)
	// Activate makes usable what is known but not active, as after a reboot.
	// ErrNotExist.
	Activate(ctx context.Context, name string) (Volume, error)
	// Mount makes the content of an active volume visible and returns where; a
	// volume that is mounted already stays where it is.
	Mount(ctx context.Context, name string) (Volume, error)
	// Unmount returns once everything that was written is on the volume. A
	// volume that is not mounted is no error. ErrBusy.
	Unmount(ctx context.Context, name string) error
	// Destroy unmounts, deactivates and deletes. A name that is unknown is no
	// error. ErrBusy.
	Destroy(ctx context.Context, name string) error
	// List returns every volume that is known, by name.
	List(ctx context.Context) ([]Volume, error)
	// Usage says how full the place is that the volumes share.
	Usage(ctx context.Context) (Usage, error)
}

// Condition tells how much of a volume there is.
type Condition string

// The conditions of a volume.
const (
	Absent Condition = "absent"
	Known  Condition = "known"  // it exists and is not active
	Active Condition = "active" // it can be mounted
)

// Volume is what there is under a name.
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
