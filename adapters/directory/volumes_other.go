//go:build !linux && !darwin

package directory

import (
	"errors"

	"github.com/fsmgen/fsmgen/services/images"
)

// Volumes are the directories of one place. There are none on this system.
type Volumes struct{ images.Volumes }

// New returns images.ErrUnsupported.
func New(config Config) (*Volumes, error) {
	return nil, &Error{Op: "open", Name: config.Root, Kind: images.ErrUnsupported, Err: errors.ErrUnsupported}
}
