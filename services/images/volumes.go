package images

import "github.com/fsmgen/fsmgen/adapters/volume"

// What the service needs of volumes is declared in package volume, so that adapters know no service.
type (
	// Volumes keeps the root file systems of the images.
	Volumes = volume.Volumes
	// Volume is what exists under a name.
	Volume = volume.Volume
	// Condition is how much of a volume exists.
	Condition = volume.Condition
	// Usage is how full the place of the volumes is, in bytes.
	Usage = volume.Usage
)

// The conditions of a volume.
const (
	Absent = volume.Absent
	Known  = volume.Known
	Active = volume.Active
)

// Errors of Volumes.
var (
	ErrExists      = volume.ErrExists
	ErrNotExist    = volume.ErrNotExist
	ErrNoOrigin    = volume.ErrNoOrigin
	ErrFull        = volume.ErrFull
	ErrBusy        = volume.ErrBusy
	ErrUnsupported = volume.ErrUnsupported
)
