//go:build !linux && !darwin

package directory

import (
	"errors"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

// Volumes are the directories of one place. There are none on this system.
type Volumes struct{ volume.Volumes }

// New returns volume.ErrUnsupported.
func New(config Config) (*Volumes, error) {
	return nil, &Error{Op: "open", Name: config.Root, Kind: volume.ErrUnsupported, Err: errors.ErrUnsupported}
}
