//go:build !linux && !darwin

package directory

import (
	"errors"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

// Volumes implements volume.Volumes. It is safe for concurrent use, also beside other processes.
type Volumes struct{ volume.Volumes }

// New opens the folder, makes it if it does not exist, and removes what dead processes have left
// in it.
func New(config Config) (*Volumes, error) {
	return nil, &Error{Op: "open", Name: config.Root, Kind: volume.ErrUnsupported, Err: errors.ErrUnsupported}
}
